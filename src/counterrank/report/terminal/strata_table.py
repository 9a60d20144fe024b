"""The table of a stratified evaluation: its strata, a block per measure, the paradoxes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from counterrank.core.format import (
    decimals,
    display_width,
    interval_text,
    number,
    p_value,
    pad,
    shorten,
    wrap_text,
)
from counterrank.documents.decision import order_by_pairs
from counterrank.report.terminal.bars import tabulate
from counterrank.report.terminal.value_table import CORRECTIONS, MARKS, SHORTEST_NAME, seen_from

if TYPE_CHECKING:
    from counterrank.results.result import Result, Row


MOST_PARADOXES = 5
MOST_PLACES = 6
PUBLISHED_LEVEL = 0.05


def strata_lines(result: Result, wide: int) -> list[str]:
    """The strata, each measure under each method, the paradoxes, how to read it."""
    lines = [*_strata(result, wide), ""]
    for label in result.protocol["measures"]:
        better = "lower" if label in result.protocol["lower_is_better"] else "higher"
        lines += [*_block(result, label, better, wide), ""]
    lines = lines[:-1] + _reading(result, wide) + _paradoxes(result, wide)
    return lines + _agreement(result, wide) + _numbers(result, wide)


def _strata(result: Result, wide: int) -> list[str]:
    """One line each: what feedback a stratum holds."""
    by, source = result.protocol["cut"], result.protocol["propensity"]
    how = {"width": "equal width of propensity", "quantile": "quantiles of feedback"}
    how |= {"items": "numbers of items by propensity"}
    heading = f"Strata by {how.get(by, f'column {by}')}; propensity: {source}"
    alpha, rule = result.protocol["alpha"], result.protocol["rule"]
    if alpha is not None:
        heading += f" (alpha {alpha:.4f}, xmin {result.protocol['xmin']})"
    elif rule not in (None, source):
        heading += f" ({rule})"
    known = not all(math.isnan(s.low) for s in result.strata)
    ranges = "propensity" if known else ""
    rows: list[tuple[str, ...]] = [("", ranges, "share", "ratings", "users", "items")]
    for s in result.strata:
        ends = "" if math.isnan(s.low) else f"{s.low:.4g} to {s.high:.4g}"
        counts = (f"{n:,}" for n in (s.ratings, s.users, s.items))
        rows.append((s.name, ends, f"{s.share:.1%}", *counts))
    return [*wrap_text(heading, wide, "  "), *tabulate(rows, wide, "  ")]


def _block(result: Result, label: str, better: str, wide: int) -> list[str]:
    """Systems down, methods across; as many methods side by side as fit, then the next ones."""
    heading = label + ("" if better == "higher" else " (lower is better)")
    rows = {(r.system, r.method): r for r in result.estimates if r.measure == label}
    against, turn = result.plan.baseline, 1 if better == "higher" else -1
    mine = [c for c in result.comparisons if c.measure == label]
    if against is None:
        whole = [c for c in mine if c.estimator == "stratified"]
        order = order_by_pairs(((c.system, c.baseline, c.difference) for c in whole), turn)
        against = order[0] if order else result.systems[0]
    seen = [seen_from(c, against) for c in mine if against in (c.system, c.baseline)]
    versus = {(c.system, c.segment or c.estimator): MARKS[c.claim] for c in seen}
    if versus:
        heading += f"; + better, - worse than {shorten(against, 30)}"
    longest = max(display_width(shorten(s, 10**6)) for s in result.systems)
    columns = []
    for method in dict.fromkeys(method for _, method in rows):
        own = [rows[system, method] for system in result.systems]
        places = decimals([r.se for r in own])
        cells = [_cell(r, places) + versus.get((r.system, method), " ") for r in own]
        columns.append([shorten(method, max(wide // 3, SHORTEST_NAME)), *cells])
    widths = [max(map(display_width, column)) for column in columns]
    room = max(wide - 2 - max(widths), SHORTEST_NAME)
    name = max(min(longest, room, wide // 3), SHORTEST_NAME)
    lines, start = wrap_text(heading, wide, "  "), 0
    while start < len(columns):
        end, used = start, name + 2
        while end < len(columns) and (end == start or used + widths[end] + 2 <= wide):
            used += widths[end] + 2
            end += 1
        for place, system in enumerate(["", *result.systems]):
            cells = [columns[c][place].rjust(widths[c]) for c in range(start, end)]
            shown = pad(shorten(system, name), name)
            lines.append(f"  {shown}{''.join('  ' + c for c in cells)}".rstrip())
        start = end
    return lines


def _cell(r: Row, places: int) -> str:
    """The value and half the width of its interval."""
    half = (r.high - r.low) / 2
    if places > MOST_PLACES:  # IPS by popularity has a scale of its own, which may be tiny
        return f"{r.value:.3g} ±{half:.2g}"
    return f"{number(r.value, places)} ±{number(half, places)}"


def _reading(result: Result, wide: int) -> list[str]:
    """What the columns mean."""
    plan = result.plan
    text = f"±: half the {plan.level:.0%} {plan.interval} interval, each by itself."
    if result.comparisons:
        c = result.comparisons[0]
        fix = CORRECTIONS.get(c.correction, "")
        text += " Marks: two-sided t test paired by user, "
        text += f"corrected by {fix} over {c.family}." if fix else "not corrected."
    if result.protocol["policies"]["no_relevant"] == "skip":
        text += " Users with nothing to find are left out (evaluate counts them 0)."
    else:
        text += " A stratum is over users with something to find there."
    text += " stratified: strata weighted by their share of feedback."
    if "IPS" in result.protocol["methods"]:
        law = result.protocol["alpha"] is not None
        text += " IPS of a sum (DCG, P@k) is what feedback on every item would give"
        text += ", up to a factor that a power law does not know" if law else ""
        text += "; SNIPS is over the mean weight: compare systems by it."
    return ["", *wrap_text(text, wide)]


def _paradoxes(result: Result, wide: int) -> list[str]:
    """The worst ones in a sentence each, then what was not proven."""
    if len(result.systems) < 2:
        return []
    audit = result.audit
    lines = [""]
    count = len(audit.paradoxes)
    pairs = "pair" if audit.tested == 1 else "pairs and measures"
    lines.append(f"Paradoxes: {count:,} proven among {audit.tested:,} {pairs}.")
    for p in audit.paradoxes[:MOST_PARADOXES]:
        lines += wrap_text(f"- {p.sentence} p {p_value(p.p_corrected)}, corrected.", wide, "  ")
    if count > MOST_PARADOXES:
        lines.append(f"  and {count - MOST_PARADOXES:,} more: --format json lists them all.")
    if audit.unproven:
        pairs = "pair is" if audit.unproven == 1 else "pairs are"
        text = f"{audit.unproven:,} more {pairs} reversed in most of the feedback, but that may be"
        lines += wrap_text(f"{text} chance.", wide)
    return lines


def _agreement(result: Result, wide: int) -> list[str]:
    """Each method's tau with the open loop, and how much that differs from holdout's."""
    found = result.agreement
    if not found:
        opened = any(row.method == "open loop" for row in result.estimates)
        return ["", "Agreement with the open loop: needs 4 systems."] if opened else []
    text = (
        f"Agreement with the open loop: Kendall's tau of the order of {found[0].systems} systems,"
        f" {result.plan.level:.0%} interval over users; difference from {found[0].baseline}, p."
    )
    text += (
        " Numbers at the end: methods it differs from by Williams' test, one-sided at 5 % and not"
        " corrected, as published."
    )
    rows: list[tuple[str, ...]] = []
    places: dict[tuple[str, str], int] = {}
    for a in found:
        places[a.measure, a.estimator] = 1 + sum(measure == a.measure for measure, _ in places)
    apart_from = _apart_from(result)
    for a in found:
        own = (number(a.kendall, 3), interval_text(a.low, a.high, 3))
        apart = (
            (number(a.difference, 3, sign=True), p_value(a.p)) if a.estimator != a.baseline else ()
        )
        others = sorted(places[a.measure, other] for other in apart_from[a.measure, a.estimator])
        name = f"{a.measure} {places[a.measure, a.estimator]} {a.estimator}"
        rows.append((name, *own, *(apart or ("", "")), "/".join(map(str, others))))
    return ["", *wrap_text(text, wide), *tabulate(rows, wide, "  ")]


def _apart_from(result: Result) -> dict[tuple[str, str], list[str]]:
    """Of each measure and method, those that the published test tells from it."""
    found: dict[tuple[str, str], list[str]] = {
        (a.measure, a.estimator): [] for a in result.agreement
    }
    for pair in result.tables["agreement_pairs"]:
        if pair.t_one_sided < PUBLISHED_LEVEL:
            found[pair.measure, pair.estimator].append(pair.other)
            found[pair.measure, pair.other].append(pair.estimator)
    return found


def _numbers(result: Result, wide: int) -> list[str]:
    """Several numbers of strata side by side, and which to take."""
    numbers = result.tables.get("numbers", [])
    if not numbers:
        return []
    rows: list[tuple[str, ...]] = [("", "strata", "filled", "within", "users", "se", "tau", "p")]
    for n in numbers:
        tau = ("", "") if math.isnan(n.kendall) else (number(n.kendall, 3), p_value(n.p))
        counts = (f"{n.strata}", f"{n.filled}", f"{n.within:.0%}", f"{n.users:,}")
        rows.append((n.measure, *counts, f"{n.se:.2g}", *tau))
    text = (
        "within: variance of log propensities left; users: fewest in a stratum; p: against holdout."
    )
    return ["", "Numbers of strata", *tabulate(rows, wide, "  "), *wrap_text(text, wide)]
