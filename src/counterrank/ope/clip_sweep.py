r"""How much to clip: the same estimator over a range of clips, and a choice with its reason.

Clipping at :math:`m` lowers the variance and loses part of the value, by how much nobody can see.
SLOPE (Su, Srinath and Krishnamurthy 2020, after Lepski) goes from no clipping down, with values
:math:`\hat v_1, \hat v_2, \dots` and widths :math:`h_1 \ge h_2 \ge \dots`, as long as all ranges
so far have a point in common:

.. math:: \hat\jmath = \max \{ j : \textstyle\bigcap_{i \le j} [\hat v_i - h_i, \hat v_i + h_i]
          \ne \emptyset \}

So the value chosen is not further from the truth than the best on the way but for a constant. Of
widths of 2, 1 and 1/2 standard errors the last lost least against not clipping at all (at most a
fifth of the error in six small worlds, and up to a quarter was won), so it is taken. The choice's
own interval knows nothing of the bias or of the choice, and none that is always shorter than the
one without clipping can be right whatever the bias (Low 1997): the interval of the choice reaches
over both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from counterrank.diagnostics.weights import WeightStatistics
from counterrank.ope.estimators.clipped_weight import CLIPS
from counterrank.ope.estimators.doubly_robust import DR
from counterrank.ope.estimators.ips import IPS, Clipped, Estimator
from counterrank.stats.estimates import Estimate, quantile

SWEPT: tuple[type[Clipped], ...] = (IPS, DR)
SWEEP: tuple[Estimator, ...] = tuple(kind(clip=m) for m in CLIPS for kind in SWEPT)
WIDTH = 0.5  # standard errors by which clipped values may differ
Estimates = Callable[[Estimator], tuple[Estimate, Estimate]]  # value, and ratio to the baseline


@dataclass(frozen=True)
class SweepRow:
    """One clip: value, interval, how far clipping moved the value, effective sample size."""

    system: str
    measure: str
    estimator: str
    clip: float
    value: float
    se: float
    low: float
    high: float
    moved: float
    effective: float


@dataclass(frozen=True)
class Choice:
    """The estimator and clip that SLOPE takes, why, and intervals that cover after choosing."""

    system: str
    measure: str
    estimator: str
    value: float
    low: float
    high: float
    lift: float
    lift_low: float
    lift_high: float
    reason: str


def sweep_clips(
    system: str, reward: str, estimates: Estimates, weights: WeightStatistics, level: float
) -> list[SweepRow]:
    """The sweep of one target and reward."""
    rows = []
    for kind in SWEPT:
        whole = estimates(kind())[0].value
        for m in CLIPS:
            e, size = estimates(kind(clip=m))[0], weights.effective(m)
            numbers = e.value, e.se, *e.interval(level), e.value - whole, size
            rows.append(SweepRow(system, reward, kind.name, m, *numbers))
    return rows


def choose_clip(system: str, reward: str, estimates: Estimates, level: float) -> Choice:
    """The clip by SLOPE for each kind of estimator, and of these the one that is surest."""
    ladders = [[kind(clip=m) for m in reversed(CLIPS)] for kind in SWEPT]
    chosen = [ladder[slope([estimates(e)[0] for e in ladder])] for ladder in ladders]
    best = min(chosen, key=lambda e: estimates(e)[0].se)
    (value, share), plain = estimates(best), estimates(type(best)())
    low, high = both_ends(value, plain[0], level)
    lift_low, lift_high = (end - 1 for end in both_ends(share, plain[1], level))
    reason = "SLOPE: the most clipping that agrees with all less clipped values"
    reason += f" (se {value.se:.2g}, without clipping {plain[0].se:.2g})."
    if best == type(best)():
        reason = "SLOPE: any clipping moves the value by more than chance does."
    reason += " The interval reaches over its own and that without clipping."
    return Choice(
        system, reward, str(best), value.value, low, high, share.value - 1, lift_low, lift_high,
        reason,
    )  # fmt: skip


def slope(ladder: list[Estimate]) -> int:
    """The place of SLOPE's choice among estimates from the least to the most clipped."""
    low, high = -float("inf"), float("inf")
    for place, e in enumerate(ladder):
        low, high = max(low, e.value - WIDTH * e.se), min(high, e.value + WIDTH * e.se)
        if not low <= high:
            return max(place - 1, 0)
    return len(ladder) - 1


def both_ends(chosen: Estimate, plain: Estimate, level: float) -> tuple[float, float]:
    """From the lowest end to the highest of two intervals, by chance alone."""
    each = [(e.value, quantile(level, "t", e.freedom) * e.se) for e in (chosen, plain)]
    return min(value - half for value, half in each), max(value + half for value, half in each)
