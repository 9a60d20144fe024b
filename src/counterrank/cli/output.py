"""A result on standard output: a table, one JSON document, or CSV."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from counterrank.compare import Comparison
    from counterrank.evaluation import Evaluation, Row
    from counterrank.trust import Diagnosis

MOST_ROWS = 60
CSV = (
    "kind",
    "measure",
    "system",
    "baseline",
    "value",
    "se",
    "low",
    "high",
    "p",
    "p_corrected",
    "units",
)


def show(result: Evaluation, format: str) -> None:
    """Print the whole result."""
    if format == "json":
        print(result.to_json())
    elif format == "csv":
        _csv(result)
    else:
        from rich.console import Console

        console = Console(highlight=False, soft_wrap=False)
        _estimates(console, result)
        _pairs(console, result)
        diagnoses(console, result.diagnoses)


def _csv(result: Evaluation) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(CSV)
    for e in result.estimates:
        writer.writerow(
            ("estimate", e.measure, e.system, "", e.value, e.se, e.low, e.high, "", "", e.units)
        )
    for c in result.comparisons:
        writer.writerow(
            ("comparison", c.measure, c.system, c.baseline, c.difference, "", c.low, c.high, c.p,
             c.p_corrected, c.units)
        )  # fmt: skip


def _estimates(console: Console, result: Evaluation) -> None:
    """One row per measure and system; beside it the comparison with the baseline."""
    from rich.table import Table

    base = result.plan.baseline
    against = {(c.measure, c.system): c for c in result.comparisons} if base else {}
    table = Table(box=None, pad_edge=False, header_style="bold")
    heads = ["measure", "system", "value", f"{result.plan.level:.0%} interval"]
    heads += [f"minus {printable(base)}", "p corrected"] if base else ["users"]
    for place, head in enumerate(heads):
        table.add_column(
            head, justify="left" if place < 2 else "right", no_wrap=True, overflow="ellipsis",
            min_width=8 if place == 1 else None,
        )  # fmt: skip
    rows = sorted(
        result.estimates, key=lambda e: [str(m) for m in result.measures].index(e.measure)
    )
    last = ""
    for e in rows[:MOST_ROWS]:
        label = e.measure if e.measure != last else ""
        if label and last:
            table.add_section()
        last = e.measure
        table.add_row(*_estimate_row(e, label, against.get((e.measure, e.system)), base))
    console.print(table)
    _more(console, len(rows))
    if base:
        _footnotes(console, result)


def _estimate_row(e: Row, label: str, c: Comparison | None, base: str | None) -> list[str]:
    cells = [
        printable(label),
        printable(e.system),
        f"{e.value:.4f}",
        f"{e.low:.4f} .. {e.high:.4f}",
    ]
    if not base:
        return [*cells, f"{e.units:,}"]
    if c is None:
        return [*cells, "baseline", ""]
    lift = "" if c.lift is None else f" ({c.lift:+.1%})"
    return [*cells, f"{c.difference:+.4f}{lift}", p_value(c.p_corrected)]


def _pairs(console: Console, result: Evaluation) -> None:
    """Every pair, where no baseline was named."""
    if result.plan.baseline or not result.comparisons:
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, head in enumerate(
        (
            "measure",
            "system",
            "minus",
            "difference",
            f"{result.plan.level:.0%} interval",
            "p corrected",
        )
    ):
        table.add_column(
            head, justify="left" if place < 3 else "right", no_wrap=True, overflow="ellipsis"
        )
    for c in result.comparisons[:MOST_ROWS]:
        table.add_row(
            printable(c.measure), printable(c.system), printable(c.baseline),
            f"{c.difference:+.4f}", f"{c.low:+.4f} .. {c.high:+.4f}", p_value(c.p_corrected),
        )  # fmt: skip
    console.print()
    console.print(table)
    _more(console, len(result.comparisons))
    _footnotes(console, result)


def diagnoses(console: Console, found: list[Diagnosis]) -> None:
    """What the numbers rest on: everything that is not a pass, then what passed, in short."""
    from rich.table import Table

    order = {"fail": 0, "caution": 1}
    loud = sorted((d for d in found if d.verdict in order), key=lambda d: order[d.verdict])
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for d in loud[:MOST_ROWS]:
        table.add_row(d.verdict, printable(f"{d.name}, {d.subject}: {d.meaning}"))
    quiet = [d for d in found if d.verdict == "pass"]
    for name in dict.fromkeys(d.name for d in quiet):
        same = [d for d in quiet if d.name == name]
        table.add_row("pass", printable(f"{name}: {_together(same)}"))
    console.print()
    _say(console, "What this rests on")
    console.print(table)


def _together(same: list[Diagnosis]) -> str:
    """One line for a diagnosis that several systems passed."""
    if len(same) == 1:
        return same[0].meaning
    if len({d.meaning for d in same}) == 1:
        return f"{same[0].meaning} (all {len(same)} systems)"
    return f"{same[0].subject}: {same[0].meaning} ({len(same)} systems pass)"


def _footnotes(console: Console, result: Evaluation) -> None:
    """How p came about, and what difference this sample could have missed."""
    if not result.comparisons:
        return
    c = result.comparisons[0]
    draws = f", {result.plan.draws:,} draws" if c.test == "permutation" else ""
    _say(
        console,
        f"p: two-sided {c.test} test{draws}, corrected by {c.correction} over {c.family}.",
    )
    most: dict[str, float] = {}
    for c in result.comparisons:
        most[c.measure] = max(most.get(c.measure, 0.0), c.detectable)
    sizes = ", ".join(f"{measure} {size:.4f}" for measure, size in most.items())
    _say(console, f"Detectable difference (80% power): {sizes}.")


def _more(console: Console, rows: int) -> None:
    if rows > MOST_ROWS:
        _say(console, f"... {rows - MOST_ROWS:,} more rows: --format csv or json prints them all.")


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False)


def p_value(p: float) -> str:
    """Four decimals, or what it is below; never zero."""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def printable(text: str | None) -> str:
    """Text from data with control and direction characters made visible, and no markup."""
    seen = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text or "")
    return seen.replace("[", r"\[")
