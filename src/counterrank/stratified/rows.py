"""The values of all systems under one method, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.arrays import Floats
from counterrank.compare import Plan
from counterrank.inference import intervals
from counterrank.inference.intervals import normal_quantile
from counterrank.stratified.estimated import estimated
from counterrank.stratified.face import Blend
from counterrank.stratified.summed import SummedBlend, Way


@dataclass(frozen=True)
class MethodRow:
    """One system's value of one measure under one method."""

    system: str
    measure: str
    method: str
    value: float
    se: float
    low: float
    high: float
    level: float
    units: int


def method_rows(
    systems: Sequence[str],
    measure: str,
    method: str,
    way: Way | None,
    plan: Plan,
    units: pl.Series | None,
) -> list[MethodRow]:
    """A row for each system; a stratum in which nobody has anything to find has no value."""
    if way is None:
        none = np.full(len(systems), np.nan)
        value, se, low, high, count = none, none, none, none, 0
    else:
        value, se, count = way.value, standard_errors(way), with_something(way)
        low, high = _ends(way, se, plan, units)
    numbers = np.stack([value, se, low, high], axis=1).tolist()
    return [
        MethodRow(system, measure, method, v, error, start, end, plan.level, count)
        for system, (v, error, start, end) in zip(systems, numbers, strict=True)
    ]


def standard_errors(way: Way) -> Floats:
    r"""Of each system: :math:`\frac1n \sqrt{\frac{n_c}{n_c - 1} \sum_u \psi_u^2}`.

    :math:`n_c` of the :math:`n` users count.
    """
    if way.counted < 2:
        return np.full(len(way.value), np.nan)
    squares = np.einsum("su,su->s", way.influence, way.influence)
    se: Floats = np.sqrt(way.counted / (way.counted - 1) * squares) / way.n
    return se


def with_something(way: Way) -> int:
    """Users with something to find, in any stratum for the stratified value."""
    return way.something if isinstance(way, (Blend, SummedBlend)) else way.counted


def _ends(way: Way, se: Floats, plan: Plan, units: pl.Series | None) -> tuple[Floats, Floats]:
    """Both ends of each system's interval; a bootstrap draws once for all."""
    if plan.interval == "bootstrap":
        own = [estimated(way, s, units) for s in range(len(way.value))]
        ends = intervals(
            own, level=plan.level, method="bootstrap", seed=plan.seed, draws=plan.resamples
        )
        return ends[:, 0], ends[:, 1]
    half = half_widths(se, way.counted - 1, plan)
    return way.value - half, way.value + half


def half_widths(se: Floats, freedom: int, plan: Plan) -> Floats:
    """Half of each interval, by the normal distribution or Student's."""
    if plan.interval == "normal":
        return normal_quantile(0.5 + plan.level / 2) * se
    from scipy.special import stdtrit

    half: Floats = float(stdtrit(max(freedom, 1), 0.5 + plan.level / 2)) * se
    return half
