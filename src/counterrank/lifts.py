"""Differences and lifts of pairs of estimates, tested and corrected as one family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterrank.compare import Plan
from counterrank.errors import one_of
from counterrank.estimates import Uncertain
from counterrank.inference import (
    INTERVALS,
    benjamini_hochberg,
    bootstrap_test,
    detectable,
    holm,
    interval,
    resampled,
    t_test,
)

TESTS = ("t", "bootstrap", "none")
CORRECTIONS = ("none", "holm", "bh")


@dataclass(frozen=True)
class Lift:
    """One estimate against another: ``difference``, and ``lift``, the difference over the other.

    ``detectable`` is the smallest difference found with power 0.8, before correction.
    """

    difference: float
    se: float
    low: float
    high: float
    lift: float
    lift_low: float
    lift_high: float
    p: float
    p_corrected: float
    test: str
    correction: str
    family: str
    detectable: float
    units: int


def refuse_plan(test: str, correct: str, interval: str) -> None:
    """Tests, corrections and intervals that suit estimates without judged values per unit."""
    one_of("test", test, TESTS)
    one_of("correct", correct, CORRECTIONS)
    one_of("interval", interval, [kind for kind in INTERVALS if kind != "bernstein"])


def lifts(pairs: Sequence[tuple[Uncertain, Uncertain]], plan: Plan) -> list[Lift]:
    """The first of each pair against the second, p corrected over all pairs."""
    found = [_tested(a, b, plan, len(pairs)) for a, b in pairs]
    p = np.array([lift.p for lift in found])
    fix = {"holm": holm, "bh": benjamini_hochberg}.get(plan.correction, lambda x: x)
    corrected = fix(p) if len(p) else p
    return [replace(lift, p_corrected=float(x)) for lift, x in zip(found, corrected, strict=True)]


def _tested(a: Uncertain, b: Uncertain, plan: Plan, family: int) -> Lift:
    """The difference and the lift, their intervals, and the p of the difference."""
    d, ratio = a - b, a / b
    again: list[Any] = [None, None]
    if plan.resampling:
        again = list(resampled([d, ratio], draws=plan.resamples, seed=plan.seed).T)
    (low, high), (lift_low, lift_high) = (
        interval(e, level=plan.level, method=plan.interval, resamples=values)
        for e, values in zip((d, ratio), again, strict=True)
    )
    p = t_test(d) if plan.test == "t" else bootstrap_test(d, again[0])
    return Lift(
        difference=d.value,
        se=d.se,
        low=low,
        high=high,
        lift=ratio.value - 1,
        lift_low=lift_low - 1,
        lift_high=lift_high - 1,
        p=p,
        p_corrected=p,
        test=plan.test,
        correction=plan.correction,
        family=f"{family} comparison{'s' * (family != 1)}",
        detectable=detectable(d.se, level=plan.level),
        units=a.n,
    )
