"""Comparisons of systems under every method, paired by user, corrected as one family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np
import polars as pl

from counterrank.arrays import Floats, Ints
from counterrank.compare import Plan
from counterrank.inference import benjamini_hochberg, detectable, holm, resampled
from counterrank.stratified.estimated import estimated
from counterrank.stratified.paired import Paired, paired
from counterrank.stratified.rows import half_widths
from counterrank.stratified.summed import Way

TESTS = ("t", "none")
CORRECTIONS = ("holm", "bh", "none")
Ways = Mapping[str, Mapping[str, Way]]


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
    systems: Sequence[str], ways: Ways, plan: Plan, units: pl.Series | None
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
    names = [(systems[x], systems[y]) for x, y in pairs]
    fixed = (plan.test, plan.correction, family)
    rows = []
    for (measure, way, one), p_corrected in zip(each, corrected, strict=True):
        low, high = _ends(way, one, a, b, plan, units)
        base = way.value[b]
        lift = np.divide(one.difference, base, out=np.full(len(a), np.nan), where=base != 0)
        power = detectable(1.0, level=plan.level) * one.se
        numbers = (one.difference, one.se, low, high, lift, one.p, p_corrected, power)
        for pair, (d, se, start, end, share, p_one, p_all, least) in zip(
            names, np.stack(numbers, axis=1).tolist(), strict=True
        ):
            known = None if isnan(share) else share
            rows.append(
                MethodComparison(
                    measure, way.method, *pair, d, se, start, end, known, p_one, p_all, *fixed,
                    least, one.freedom + 1,
                )
            )  # fmt: skip
    return rows


def _ends(
    way: Way, one: Paired, a: Ints, b: Ints, plan: Plan, units: pl.Series | None
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
