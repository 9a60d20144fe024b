"""By how much the second interval of what decides would narrow, had more been logged.

What a log does not tell is allowed for by a range. Were it told, and nothing found, the interval
would be the union over the corners without it: the most that can be gained by logging it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from counterrank.core.arrays import divide
from counterrank.results.result import Result
from counterrank.stats.corner_bounds import CornerBounds
from counterrank.stats.moments import Pair, keys_of
from counterrank.stats.plan import Plan
from counterrank.stats.units import Functions


@dataclass(frozen=True)
class NarrowingRow:
    """The second interval of a difference from the baseline, had ``log`` been logged as well."""

    system: str
    measure: str
    reward: str | None
    estimator: str
    baseline: str
    log: str
    low: float
    high: float
    lift_low: float
    lift_high: float


def with_narrowing(
    result: Result,
    groups: Sequence[Sequence[Pair]],
    functions: Functions,
    bounds: CornerBounds,
    plan: Plan,
) -> Result:
    """The result with a table of what decides, for each candidate and all that could be logged."""
    each = zip(groups, plan.levels(groups), strict=True)
    rows = [
        row
        for group, level in each
        for row in _narrowed(result, group, functions, bounds, plan, level)
    ]
    return replace(result, tables={**result.tables, "narrowing": rows})


def _narrowed(
    result: Result,
    group: Sequence[Pair],
    functions: Functions,
    bounds: CornerBounds,
    plan: Plan,
    level: float,
) -> Iterator[NarrowingRow]:
    lead, known = result.protocol["decides"], result.units
    compared = {(c.system, c.baseline, c.measure, c.estimator): c for c in result.comparisons}
    view = None
    for a, b in group:
        c = compared.get((a.system, b.system, a.measure, a.estimator))
        if c is None or (a.measure, a.estimator) != (lead["measure"], lead["estimator"]):
            continue
        assert known is not None
        view = view or known.over(*keys_of(group))
        one, other = (view.estimate(key, functions[key]) for key in (a, b))
        critical = float(divide(c.family_high - c.family_low, 2 * c.se, 0.0))
        width = plan.union_width(critical, level, len(group), one.freedom)
        of = c.system, c.measure, c.reward, c.estimator, c.baseline
        whole = c.family_low, c.family_high, c.lift_family_low, c.lift_family_high
        for name, shifts in bounds.remedies.items():
            ends = bounds.without(shifts).difference(a, b, one, other, width)
            wide = [f(x, y) for f, x, y in zip((min, max) * 2, ends, whole, strict=True)]
            yield NarrowingRow(*of, name, *wide)
