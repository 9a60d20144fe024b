"""The demonstration on a terminal: what the log tells, then the truth beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterrank.cli.bars import TRUTH, bars
from counterrank.cli.grounds import verdict
from counterrank.decision import grounds as rests_on
from counterrank.verbs.demo import LEADING, USUAL, picked
from counterrank.wording import decimals, interval, number, wrapped

if TYPE_CHECKING:
    from counterrank.results.result import Result, Row
    from counterrank.verbs.demo import Revealed

BAR = 36


def told(found: Result, wide: int) -> list[str]:
    """The estimates: nDCG, watch time by DR and its lift, and what should be done."""
    seconds, places = _leading(found)
    usual = {r.system: r for r in found.estimates if r.estimator == USUAL}
    share = decimals(r.se for r in usual.values())
    lifts = {c.system: c for c in found.comparisons if c.estimator == LEADING}
    first = {label: picked(found, label) for label in (USUAL, LEADING)}
    lines = []
    for name, r in seconds.items():
        c = lifts.get(name)
        clear = c is not None and c.p_corrected <= 1 - found.plan.level
        mark = " " if c is None or not clear else "+" if c.difference > 0 else "-"
        lines.append(
            f"{mark} {name:<10}  "
            + (number(usual[name].value, share) if name in usual else "").rjust(share + 2)
            + ("*" if first[USUAL] == name else " ")
            + number(r.value, places).rjust(9)
            + ("*" if first[LEADING] == name else " ")
            + interval(r.low, r.high, places).rjust(17)
            + (f"{c.lift:+8.1%}  [{c.lift_low:+.1%}, {c.lift_high:+.1%}]" if c else "")
        )
    head = f"{'':<12}  {USUAL:>{share + 2}} {'by ' + LEADING:>9} {'95% interval':>17}    lift"
    document = found.to_dict()
    return [
        *wrapped(
            "Seconds watched per session, estimated from the log alone; lift over logged", wide
        ),
        head,
        *(line.rstrip() for line in lines),
        *wrapped(f"* the first by {USUAL}, by {LEADING}; + better, - worse than logged.", wide),
        *verdict(document, wide),
        *wrapped(rests_on(document), wide),
    ]


def revealed(result: Revealed, wide: int) -> list[str]:
    """The truth on the same scale, how often intervals hold it, and what nDCG would have cost."""
    seconds, places = _leading(result.estimation)
    rows = {r.system: r for r in result.rows if r.measure in (LEADING, "OnPolicy")}
    drawn = bars(
        [(r.low, r.value, r.high) for r in seconds.values()],
        BAR,
        marks=[rows[name].truth for name in seconds],
        sign=TRUTH,
    )
    lines = [
        f"  {name:<10}  {bar:<{BAR}}  {number(r.value, places):>8}"
        f"  {number(rows[name].truth, places):>8}  {rows[name].inside:>6}"
        for (name, r), bar in zip(seconds.items(), drawn, strict=True)
    ]
    held = [
        f"{label} {sum(r.inside == 'yes' for r in own)} of {len(own)}"
        for label in dict.fromkeys(r.measure for r in result.rows)
        if (own := [r for r in result.rows if r.measure == label])
    ]
    key = f"{TRUTH} the truth"
    return [
        "Now the truth, which no estimate has seen",
        f"  {'':<10}  {key:<{BAR}}  {'by ' + LEADING:>8}  {'truth':>8}  {'inside':>6}",
        *lines,
        *wrapped(f"Intervals that hold the truth: {', '.join(held)}.", wide),
        "",
        *wrapped(result.sentence(), wide),
    ]


def _leading(found: Result) -> tuple[dict[str, Row], int]:
    """The rows a decision reads, by system, and how many decimals they need."""
    rows = {r.system: r for r in found.estimates if r.estimator in (LEADING, "OnPolicy")}
    return rows, decimals(r.se for r in rows.values())
