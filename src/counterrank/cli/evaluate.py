"""The table of an evaluation: a block per measure, a line per system. Numbers are never cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from counterrank.cli import options
from counterrank.cli.engine import with_engine
from counterrank.cli.options import (
    ByUnit,
    Columns,
    Duplicates,
    Format,
    Level,
    Measures,
    Missing,
    NoRelevant,
    Out,
    Quiet,
    Seed,
    Strict,
    Ties,
    Unjudged,
)
from counterrank.cli.output import beside
from counterrank.core.format import (
    decimals,
    interval_text,
    list_names,
    number,
    p_value,
    shorten,
    wrap_text,
)

if TYPE_CHECKING:
    from counterrank.engine import Engine
    from counterrank.results.result import Result, Row
    from counterrank.stats.compare import Comparison


SHORTEST_NAME = 10


def table(result: Result, wide: int) -> list[str]:
    """All blocks, then how to read them."""
    blocks = [_Block.of(result, measure) for measure in result.protocol["measures"]]
    lines: list[str] = []
    for block in blocks:
        lines += [*block.lines(wide), ""]
    return lines[:-1] + _reading(result, blocks, wide)


@dataclass(frozen=True)
class _Block:
    """One measure. Systems are compared with the baseline or, without one, with the best.

    ``higher`` says whether higher values are better.
    """

    measure: str
    higher: bool
    rows: list[Row]
    against: str | None
    versus: dict[str, Comparison]
    level: float

    @classmethod
    def of(cls, result: Result, measure: str) -> _Block:
        rows = [r for r in result.estimates if r.measure == measure]
        mine = [c for c in result.comparisons if c.measure == measure]
        higher = measure not in result.protocol["lower_is_better"]
        against = result.plan.baseline
        if against is None and mine:
            turn = 1 if higher else -1
            against = max(rows, key=lambda r: turn * r.value).system
            mine = [_from(c, against) for c in mine if against in (c.system, c.baseline)]
        return cls(measure, higher, rows, against, {c.system: c for c in mine}, result.plan.level)

    def mark(self, system: str) -> str:
        """``+`` better than what it is compared with, ``-`` worse, neither if not separated."""
        c = self.versus.get(system)
        if c is None or not c.p_corrected <= 1 - self.level:
            return " "
        return "+" if (c.difference > 0) == self.higher else "-"

    def lines(self, wide: int) -> list[str]:
        """A heading and one line per system; the lift is left out where names need the room."""
        spreads = [r.se for r in self.rows] + [c.se for c in self.versus.values()]
        places = decimals(spreads)
        units = {r.units for r in self.rows}
        users = f"{min(units):,}" + (f" to {max(units):,}" if len(units) > 1 else "")
        heading = f"{self.measure}, {users} users"
        heading += "" if self.higher else " (lower is better)"
        if self.versus:
            heading += f"; difference from {shorten(self.against or '', 30)}, p corrected"
        for lift in (True, False):
            cells = [self._cells(r, places, lift=lift) for r in self.rows]
            widths = [max(len(c[n]) for c in cells) for n in range(len(cells[0]))]
            room = wide - 2 - sum(w + 2 for w in widths if w)
            longest = max(len(shorten(r.system, 10**6)) for r in self.rows)
            if longest <= room or not lift:
                break
        name = max(min(longest, room), SHORTEST_NAME)
        out = wrap_text(heading, wide)
        for r, c in zip(self.rows, cells, strict=True):
            shown = [x.rjust(w) for x, w in zip(c, widths, strict=True) if w]
            line = f"{self.mark(r.system)} {shorten(r.system, name):<{name}}  " + "  ".join(shown)
            out.append(line.rstrip())
        if self.versus:
            lifts = [self.versus.get(r.system) for r in self.rows]
            ends = [(c.low, c.difference, c.high) if c else None for c in lifts]
            return beside(out, ends, wide, zero="yes")
        return beside(out, [(r.low, r.value, r.high) for r in self.rows], wide, zero="no")

    def _cells(self, r: Row, places: int, *, lift: bool) -> list[str]:
        own = [number(r.value, places), interval_text(r.low, r.high, places)]
        c = self.versus.get(r.system)
        if c is None:
            return [*own, "", "", "", ""]
        share = "" if c.lift is None or not lift else f"{c.lift:+.1%}"
        return [
            *own,
            number(c.difference, places, sign=True),
            interval_text(c.low, c.high, places, sign=True),
            share,
            p_value(c.p_corrected),
        ]


def _from(c: Comparison, best: str) -> Comparison:
    """The comparison seen from the other side, if need be: the best is what is subtracted."""
    if c.baseline == best:
        return c
    base = c.baseline
    lift = None if c.lift is None or c.lift == -1 else 1 / (1 + c.lift) - 1
    return replace(
        c, system=base, baseline=best, difference=-c.difference, low=-c.high, high=-c.low, lift=lift
    )


def _reading(result: Result, blocks: list[_Block], wide: int) -> list[str]:
    """What the columns mean, what the sample could have missed, and who is ahead."""
    level = f"{result.plan.level:.0%}"
    method = {"normal": "", "bca": "BCa "}.get(result.plan.interval, f"{result.plan.interval} ")
    text = f"[..]: {level} {method}interval, each by itself."
    if not result.comparisons:
        return ["", *wrap_text(text, wide)]
    c = result.comparisons[0]
    draws = ""
    if c.test == "permutation":
        few = c.draws < result.plan.draws
        draws = f" (all {c.draws:,} sign patterns)" if few else f" ({c.draws:,} draws)"
    how = {"maxt": "max-T", "holm": "Holm", "bh": "Benjamini-Hochberg"}
    fix = how.get(c.correction, "")
    text += f" p: two-sided {c.test} test{draws}, "
    text += f"corrected by {fix} over {c.family}." if fix else "not corrected."
    text += f" + better, - worse than what it is compared with, at {level}."
    out = ["", *wrap_text(text, wide)]
    found = []
    for block in blocks:
        sizes = [c.detectable for c in block.versus.values()]
        places = decimals(sizes)
        ends = sorted({number(min(sizes), places), number(max(sizes), places)}, key=float)
        found.append(f"{block.measure} {' to '.join(ends)}")
    text = "Differences found with 80% power, before correction: " + ", ".join(found) + "."
    out += wrap_text(text, wide)
    for block in blocks:
        out += wrap_text(_verdict(block), wide, "  ")
    return out


def _verdict(block: _Block) -> str:
    """Who is better, who is worse, who is not told apart."""
    by = {mark: [s for s in block.versus if block.mark(s) == mark] for mark in "+- "}
    words = {"+": "better", "-": "worse", " ": "not separated"}
    parts = [f"{words[mark]}: {list_names(names)}" for mark, names in by.items() if names]
    assert block.against is not None
    return f"{block.measure} against {shorten(block.against, 30)}: {'; '.join(parts)}."


Judgments = Annotated[
    str,
    typer.Argument(metavar="JUDGMENTS", help="user, item, rating: Parquet, CSV, TSV or qrels."),
]
RunPaths = Annotated[
    list[str],
    typer.Argument(metavar="RUN", help="path or name=path: user, item, rank or score."),
]
Baseline = Annotated[str | None, typer.Option(help="Compare every system with this one.")]
Interval = Annotated[str, typer.Option(help="normal, t, bootstrap, bca or bernstein.")]
Test = Annotated[str, typer.Option(help="permutation, t, bootstrap, wilcoxon or none.")]
Correct = Annotated[
    str | None, typer.Option(help="none, holm, bh or maxt. [default: maxt, or holm]")
]
Family = Annotated[
    str, typer.Option(help="What a correction spans: all, or measure (each by itself).")
]
Draws = Annotated[int, typer.Option(help="Random sign flips of the permutation test.")]
Resamples = Annotated[int, typer.Option(help="Resamples of a bootstrap.")]


@with_engine
def evaluate(
    judgments: Judgments,
    runs: RunPaths,
    measure: Measures = None,
    baseline: Baseline = None,
    level: Level = 0.95,
    interval: Interval = "normal",
    test: Test = "permutation",
    correct: Correct = None,
    family: Family = "all",
    draws: Draws = 100_000,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "zero",
    unjudged: Unjudged = "ignore",
    duplicates: Duplicates = "error",
    ties: Ties = "id",
    columns: Columns = None,
    out: Out = None,
    by_unit: ByUnit = None,
    format: Format = "table",
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    engine: Engine,
) -> None:
    """Measure ranked lists against judgments, with intervals, comparisons and grounds."""
    from counterrank.core import provenance

    named = options.named_runs(runs)
    provenance.hash_ahead([judgments, *(path for _, path in named)])  # imports take their time
    from counterrank.api import evaluate as verb
    from counterrank.cli import evaluate as table
    from counterrank.cli import output, writing
    from counterrank.core import parallel
    from counterrank.metrics import DEFAULTS

    options.formatted(format)
    writing.refuse_early(by_unit, out, [judgments, *(path for _, path in named)])
    result = verb.evaluate(
        judgments,
        named,
        measures=options.labels(measure) or DEFAULTS,
        baseline=baseline,
        level=level,
        interval=interval,
        test=test,
        correct=correct,
        family=family,
        draws=draws,
        resamples=resamples,
        seed=seed,
        missing=missing,
        no_relevant=no_relevant,
        unjudged=unjudged,
        duplicates=duplicates,
        ties=ties,
        engine=engine,
        columns=options.column_names(columns),
        progress=parallel.quiet if quiet else parallel.bar,
    )
    output.show(result, format, table.table)
    written = writing.by_unit(result, by_unit) + writing.folder(result, out)
    if written and not quiet:
        typer.echo(f"Wrote {', '.join(written)}.", err=True)
    if strict and result.verdict == "fail":
        raise typer.Exit(3)
