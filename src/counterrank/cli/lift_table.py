"""What tables of estimates share: a line per ranker and estimator, and how to read it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from counterrank.cli.bars import beside
from counterrank.wording import decimals, interval, number, p_value, shortened, wrapped

if TYPE_CHECKING:
    from counterrank.diagnostics.diagnosis import Diagnosis
    from counterrank.estimation import EstimateRow, LiftRow
    from counterrank.lifts import Lift
    from counterrank.results.result import Row
    from counterrank.stats.compare import Comparison

SHORTEST_NAME = 8
P, INTERVAL = 4, 1  # columns left out where a line would be too long


def block(
    heading: str,
    rows: Sequence[EstimateRow | Row],
    versus: Mapping[tuple[str, str], Lift | Comparison],
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
    changes = [versus.get((r.system, estimator(r))) for r in rows]
    spreads = [[r.se] if c is None else [r.se, c.se] for r, c in zip(rows, changes, strict=True)]
    common = [decimals([s for own in spreads for s in own])] * len(rows)
    each = [decimals(own) for own in spreads]
    longest = max(len(shortened(r.system, 10**6)) for r in rows)
    kinds = max(len(estimator(r)) for r in rows)
    for places, spared in ((common, ()), (each, ()), (each, (P,)), (each, (P, INTERVAL))):
        cells = [_cells(*row) for row in zip(rows, changes, places, strict=True)]
        kept = [[x for n, x in enumerate(row) if n not in spared] for row in cells]
        widths = [max(map(len, column)) for column in zip(*kept, strict=True)]
        room = wide - 4 - kinds - sum(w + 2 for w in widths if w)
        if room >= min(longest, SHORTEST_NAME):
            break
    name = max(min(max(longest, SHORTEST_NAME), room), min(longest, SHORTEST_NAME))
    out = wrapped(heading, wide)
    for r, c, row in zip(rows, changes, kept, strict=True):
        shown = [x.rjust(w) for x, w in zip(row, widths, strict=True) if w]
        label = f"{shortened(r.system, name):<{name}}  {estimator(r):<{kinds}}"
        out.append(f"{_mark(c, level, better)} {label}  {'  '.join(shown)}".rstrip())
    if versus:
        ends = [(c.low, c.difference, c.high) if c else None for c in changes]
        return beside(out, ends, wide, zero="yes")
    return beside(out, [(r.low, r.value, r.high) for r in rows], wide, zero="no")


def estimator(row: EstimateRow | Row) -> str:
    """The estimator of a row."""
    return str(getattr(row, "estimator", row.measure))


def _mark(c: Lift | Comparison | None, level: float, better: str) -> str:
    if c is None or not c.p_corrected <= 1 - level:
        return " "
    return "+" if (c.difference > 0) == (better == "higher") else "-"


def _cells(r: EstimateRow | Row, c: Lift | Comparison | None, places: int) -> list[str]:
    """Value and lift with their intervals, and p; the difference where a lift makes no sense."""
    own = [number(r.value, places), interval(r.low, r.high, places)]
    if c is None:
        return [*own, "", "", ""]
    known = math.isfinite(c.lift_low) and math.isfinite(c.lift_high)
    if known and c.lift is not None and abs(c.lift) < 100 and c.difference * c.lift >= 0:
        change = [f"{c.lift:+.1%}", f"[{c.lift_low:+.1%}, {c.lift_high:+.1%}]"]
    else:
        change = [
            number(c.difference, places, sign=True), interval(c.low, c.high, places, sign=True)
        ]  # fmt: skip
    return [*own, *change, p_value(c.p_corrected)]


def tested(comparisons: Sequence[LiftRow | Comparison], level: float) -> str:
    """How p was made, in a sentence; nothing if nothing was compared."""
    if not comparisons:
        return ""
    c = comparisons[0]
    fix = {"holm": "Holm", "bh": "Benjamini-Hochberg"}.get(c.correction, "")
    text = f" p: two-sided {c.test} test, "
    text += f"corrected by {fix} over {c.family}." if fix else "not corrected."
    return f"{text} + better, - worse than {c.baseline}, at {level:.0%}."


def believed(
    system: str, verdict: str, loud: Iterable[Diagnosis], about: Sequence[str], wide: int
) -> list[str]:
    """How far a ranker's numbers can be believed, and why not."""
    words = {"pass": "can be believed", "caution": "with care", "fail": "not to be relied on"}
    why = dict.fromkeys(d.name for d in loud if d.subject in about)
    tail = f": {', '.join(why)}" if why else ""
    return wrapped(f"{shortened(system, 40)}: {verdict} ({words[verdict]}){tail}.", wide, "  ")
