"""The table of estimates: a block per reward, a line per ranker and estimator.

Tables of a funnel share its blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from counterrank.core.format import decimals, interval_text, number, p_value, shorten, wrap_text
from counterrank.diagnostics.diagnostic import worst
from counterrank.report.terminal.bars import beside

if TYPE_CHECKING:
    from counterrank.diagnostics.diagnostic import Diagnostic
    from counterrank.results.result import Result, Row
    from counterrank.stats.compare import Comparison


SHORTEST_NAME = 8
P, INTERVAL = 4, 1  # columns left out where a line would be too long


def table(result: Result, wide: int) -> list[str]:
    """All blocks, how to read them, and the verdict on each ranker."""
    lines: list[str] = []
    scales = dict.fromkeys(_scale(result, row) for row in result.estimates)
    for reward in dict.fromkeys(row.measure for row in result.estimates):
        for scale in scales:
            lines += [*_block(result, reward, scale, wide), ""]
    return lines[:-1] + _sweep(result, wide) + _reading(result, wide)


def _scale(result: Result, row: Row | Comparison) -> str:
    """Nothing if an estimator's value is the reward's, otherwise its name, like nDCG."""
    return str(result.protocol["scales"].get(row.estimator, ""))


def _block(result: Result, reward: str, scale: str, wide: int) -> list[str]:
    """The estimators of one reward that share a scale."""

    def mine(row: Row | Comparison) -> bool:
        return row.measure == reward and _scale(result, row) == scale

    rows = [row for row in result.estimates if mine(row)]
    versus = {(c.system, c.estimator): c for c in result.comparisons if mine(c)}
    what = f"{scale} of {reward}" if scale else f"{reward} per {result.protocol['per']}"
    heading = f"{what}, {rows[0].units:,} sessions"
    if result.protocol["cluster"] == "user":
        heading += f" of {rows[0].clusters:,} users"
    if versus:
        heading += f"; lift over {shorten(result.plan.baseline or '', 20)}"
    return block(heading, rows, versus, level=result.plan.level, wide=wide)


def _sweep(result: Result, wide: int) -> list[str]:
    """Each clip's value, interval and effective sample size, then what the sweep speaks for."""
    lines: list[str] = []
    for best in result.tables["choices"]:
        both = (best.system, best.measure)
        rows = [r for r in result.tables["sweep"] if (r.system, r.measure) == both]
        places = decimals([r.se for r in rows])
        values = [number(r.value, places) for r in rows]
        ends = [interval_text(r.low, r.high, places) for r in rows]
        left, right = max(map(len, values)), max(map(len, ends))
        shown = [
            f"  {r.estimator:<4} {r.clip:>6g}  {x:>{left}}  {x_ends:>{right}}"
            f"  {r.effective:>11,.0f}"
            for r, x, x_ends in zip(rows, values, ends, strict=True)
        ]
        name = shorten(best.system, 30)
        lines += ["", f"{name}, {best.measure}: clip, value, interval, effective views"]
        lines += beside(shown, [(r.low, r.value, r.high) for r in rows], wide, zero="no")
        lines += wrap_text(f"  chosen: {best.estimator}. {best.reason}", wide, "  ")
    return lines


def _basis(result: Result) -> str:
    """What the weights were made of, and what was known of views."""
    side = {
        "rank": "target rank over logged rank, by the position model",
        "exposure": "target exposure over logged exposure",
        "propensity": "target over logged probability of an item at its rank",
    }[result.protocol["logged_exposure"]]
    views = {
        "observed": "as logged",
        "rows": "only viewed rows were logged",
        "latent": "not logged, as likely as the position model says",
    }[result.protocol["views"]]
    told = "" if result.protocol["logged_exposure"] == "propensity" else f" Views: {views}."
    return f"Weights: {side}.{told}"


def _reading(result: Result, wide: int) -> list[str]:
    """What the columns mean, and how far each ranker's numbers can be believed."""
    level = f"{result.plan.level:.0%}"
    unit = "user" if result.protocol["cluster"] == "user" else "session"
    text = f"[..]: {level} {result.plan.interval} interval, clustered by {unit}."
    text += p_value_sentence(result.comparisons, result.plan.level)
    out = ["", *wrap_text(text, wide), *wrap_text(_basis(result), wide)]
    for system in result.systems[1:]:
        about = (system, "log")
        verdict = worst(d for d in result.diagnostics if d.subject in about)
        out += trust_sentence(system, verdict, result.not_passing, about, wide)
    return out


# what tables of estimates share


def block(
    heading: str,
    rows: Sequence[Row],
    versus: Mapping[tuple[str, str], Comparison],
    *,
    level: float,
    wide: int,
    better: str = "higher",
) -> list[str]:
    """A heading and the lines under it; ``versus`` holds lifts by system and estimator.

    All lines have the same decimals and names are shortened. If lines would still be too long, each
    has its own decimals, then the p-values are left out, then the intervals of the values. Where
    there is room, the difference is drawn as a bar.
    """
    changes = [versus.get((r.system, r.estimator)) for r in rows]
    spreads = [[r.se] if c is None else [r.se, c.se] for r, c in zip(rows, changes, strict=True)]
    common = [decimals([s for own in spreads for s in own])] * len(rows)
    each = [decimals(own) for own in spreads]
    longest = max(len(shorten(r.system, 10**6)) for r in rows)
    kinds = max(len(r.estimator) for r in rows)
    for places, spared in ((common, ()), (each, ()), (each, (P,)), (each, (P, INTERVAL))):
        cells = [_cells(*row) for row in zip(rows, changes, places, strict=True)]
        kept = [[x for n, x in enumerate(row) if n not in spared] for row in cells]
        widths = [max(map(len, column)) for column in zip(*kept, strict=True)]
        room = wide - 4 - kinds - sum(w + 2 for w in widths if w)
        if room >= min(longest, SHORTEST_NAME):
            break
    name = max(min(max(longest, SHORTEST_NAME), room), min(longest, SHORTEST_NAME))
    out = wrap_text(heading, wide)
    for r, c, row in zip(rows, changes, kept, strict=True):
        shown = [x.rjust(w) for x, w in zip(row, widths, strict=True) if w]
        text = f"{shorten(r.system, name):<{name}}  {r.estimator:<{kinds}}"
        out.append(f"{_mark(c, level, better)} {text}  {'  '.join(shown)}".rstrip())
    if versus:
        ends = [(c.low, c.difference, c.high) if c else None for c in changes]
        return beside(out, ends, wide, zero="yes")
    return beside(out, [(r.low, r.value, r.high) for r in rows], wide, zero="no")


def _mark(c: Comparison | None, level: float, better: str) -> str:
    if c is None or not c.p_corrected <= 1 - level:
        return " "
    return "+" if (c.difference > 0) == (better == "higher") else "-"


def _cells(r: Row, c: Comparison | None, places: int) -> list[str]:
    """Value and lift with their intervals, and p; the difference where a lift makes no sense."""
    value = [number(r.value, places), interval_text(r.low, r.high, places)]
    if c is None:
        return [*value, "", "", ""]
    known = math.isfinite(c.lift_low) and math.isfinite(c.lift_high)
    if c.lift is not None and known and abs(c.lift) < 100 and c.difference * c.lift >= 0:
        change = [f"{c.lift:+.1%}", f"[{c.lift_low:+.1%}, {c.lift_high:+.1%}]"]
    else:
        change = [
            number(c.difference, places, sign=True), interval_text(c.low, c.high, places, sign=True)
        ]  # fmt: skip
    return [*value, *change, p_value(c.p_corrected)]


def p_value_sentence(comparisons: Sequence[Comparison], level: float) -> str:
    """How p was made, in a sentence; nothing if nothing was compared."""
    if not comparisons:
        return ""
    c = comparisons[0]
    fix = {"holm": "Holm", "bh": "Benjamini-Hochberg"}.get(c.correction, "")
    text = f" p: two-sided {c.test} test, "
    text += f"corrected by {fix} over {c.family}." if fix else "not corrected."
    return f"{text} + better, - worse than {c.baseline}, at {level:.0%}."


def trust_sentence(
    system: str, verdict: str, loud: Iterable[Diagnostic], about: Sequence[str], wide: int
) -> list[str]:
    """How far a ranker's numbers can be believed, and why not."""
    words = {"pass": "can be believed", "caution": "with care", "fail": "not to be relied on"}
    why = dict.fromkeys(d.name for d in loud if d.subject in about)
    tail = f": {', '.join(why)}" if why else ""
    return wrap_text(f"{shorten(system, 40)}: {verdict} ({words[verdict]}){tail}.", wide, "  ")
