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
            e = estimates(kind(clip=m))[0]
            ends, size = e.interval(level), weights.effective(m)
            row = SweepRow(
                system, reward, kind.name, m, e.value, e.se, *ends, e.value - whole, size
            )
            rows.append(row)
    return rows


def choose_clip(system: str, reward: str, estimates: Estimates, level: float) -> Choice:
    """The clip by SLOPE for each kind of estimator, and of these the one that is surest."""
    clips = {kind: slope([estimates(e)[0] for e in _ladder(kind)]) for kind in SWEPT}
    kind = min(SWEPT, key=lambda kind: estimates(_ladder(kind)[clips[kind]])[0].se)
    chosen, plain = estimates(_ladder(kind)[clips[kind]]), estimates(kind())
    ends = [both_ends(a, b, level) for a, b in zip(chosen, plain, strict=True)]
    (low, high), (lift_low, lift_high) = ends
    value, share = chosen
    label = str(_ladder(kind)[clips[kind]])
    reason = "SLOPE: the most clipping that agrees with all less clipped values"
    reason += f" (se {value.se:.2g}, without clipping {plain[0].se:.2g})."
    if clips[kind] == 0:
        reason = "SLOPE: any clipping moves the value by more than chance does."
    reason += " The interval reaches over its own and that without clipping."
    return Choice(
        system, reward, label, value.value, low, high, share.value - 1, lift_low - 1,
        lift_high - 1, reason,
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
    halves = [quantile(level, "t", e.freedom) * e.se for e in (chosen, plain)]
    values = [chosen.value, plain.value]
    return (
        min(v - h for v, h in zip(values, halves, strict=True)),
        max(v + h for v, h in zip(values, halves, strict=True)),
    )


def _ladder(kind: type[Clipped]) -> list[Clipped]:
    return [kind(clip=m) for m in reversed(CLIPS)]
