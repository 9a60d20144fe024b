"""Comparisons of systems under every method, paired by user, corrected as one family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.arrays import Floats, Ints
from counterrank.compare import Plan
from counterrank.inference import benjamini_hochberg, detectable, holm, resampled
from counterrank.stratified.estimated import estimated
from counterrank.stratified.face import Blend, Face
from counterrank.stratified.paired import Paired, paired
from counterrank.stratified.rows import half_widths

TESTS = ("t", "none")
CORRECTIONS = ("holm", "bh", "none")
Ways = Mapping[str, Mapping[str, Face | Blend]]


@dataclass(frozen=True)
class MethodComparison:
    """``system`` minus ``baseline`` under one measure and method."""

    measure: str
    method: str
    system: str
    baseline: str
    difference: float
    se: float
    low: float
    high: float
    lift: float | None
    p: float
    p_corrected: float
    test: str
    correction: str
    family: str
    detectable: float
    units: int


def versus(
    systems: Sequence[str], ways: Ways, plan: Plan, units: pl.Series
) -> list[MethodComparison]:
    """All comparisons of the plan: measure by measure, method by method."""
    pairs = plan.pairs(systems)
    if plan.test == "none" or not pairs:
        return []
    a, b = np.array(pairs).T
    each = [
        (measure, way, paired(way, a, b)) for measure, own in ways.items() for way in own.values()
    ]
    p = np.array([one.p for _, _, one in each])
    corrected = _corrected(p, plan)
    size = p.size if plan.family == "all" else len(pairs)
    scope = "all measures and methods" if plan.family == "all" else "this measure and method"
    family = f"{size} comparison{'s' * (size > 1)}, {scope}"
    rows = []
    for (measure, way, one), fixed in zip(each, corrected, strict=True):
        low, high = _ends(way, one, a, b, plan, units)
        base = way.value[b]
        rows += [
            MethodComparison(
                measure=measure,
                method=way.method,
                system=systems[a[j]],
                baseline=systems[b[j]],
                difference=float(one.difference[j]),
                se=float(one.se[j]),
                low=float(low[j]),
                high=float(high[j]),
                lift=float(one.difference[j] / base[j]) if base[j] else None,
                p=float(one.p[j]),
                p_corrected=float(fixed[j]),
                test=plan.test,
                correction=plan.correction,
                family=family,
                detectable=detectable(float(one.se[j]), level=plan.level),
                units=one.freedom + 1,
            )
            for j in range(len(pairs))
        ]
    return rows


def _ends(
    way: Face | Blend, one: Paired, a: Ints, b: Ints, plan: Plan, units: pl.Series
) -> tuple[Floats, Floats]:
    """Both ends of each difference's interval; resamples of the systems serve all pairs."""
    if plan.interval == "bootstrap":
        own = [estimated(way, s, units) for s in range(len(way.value))]
        again = resampled(own, draws=plan.resamples, seed=plan.seed)
        tails = [0.5 - plan.level / 2, 0.5 + plan.level / 2]
        low, high = np.nanquantile(again[:, a] - again[:, b], tails, axis=0)
        return low, high
    half = half_widths(one.se, one.freedom, plan)
    return one.difference - half, one.difference + half


def _corrected(p: Floats, plan: Plan) -> Floats:
    """The whole family at once."""
    if plan.correction == "none":
        return p
    step = holm if plan.correction == "holm" else benjamini_hochberg
    if plan.family == "all":
        return step(p.ravel()).reshape(p.shape)
    return np.array([step(row) for row in p])
