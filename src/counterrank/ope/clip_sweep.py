r"""How much to clip: the same estimator over a range of clips, and a choice with its reason.

Clipping at :math:`m` lowers the variance and loses part of the value. What it loses is predicted by
the reward model, with weights :math:`w` unclipped and :math:`w^m` clipped:

.. math:: \hat b_m = \frac1n \sum_\tau \sum_i v_i\, (w_i^m - w_i)\, \hat q_i, \qquad
          \widehat{MSE}_m = \hat b_m^2 + se_m^2

The clip with the smallest estimated error is chosen. An estimator that subtracts the model's
prediction (DR) keeps only what the model misses, so its bias is the shift of its own value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from counterrank.core.arrays import Floats
from counterrank.diagnostics.weights import WeightStatistics
from counterrank.ope.estimators.clipped_weight import CLIPS, Rows
from counterrank.ope.estimators.doubly_robust import DR, MODEL
from counterrank.ope.estimators.ips import IPS, Clipped, Estimator
from counterrank.stats.estimates import Estimate


@dataclass(frozen=True)
class ClipBias(Clipped):
    r""":math:`\frac1n \sum_\tau \sum_i v_i (w_i^m - w_i) \hat q_i`: what clipping loses."""

    name: ClassVar[str] = "ClipBias"
    formula: ClassVar[str] = "mean over sessions of sum_i v_i (w_i clipped - w_i) q_i"
    needs: ClassVar[frozenset[str]] = MODEL

    def columns(self, rows: Rows) -> list[Floats]:
        """See `Estimator`."""
        less = rows.weight(self.clip) - rows.weight(float("inf"))
        return [rows.total(rows.seen * less * rows.q)]


SWEPT: tuple[type[Clipped], ...] = (IPS, DR)
KINDS: tuple[type[Clipped], ...] = (*SWEPT, ClipBias)
SWEEP: tuple[Estimator, ...] = tuple(kind(clip=m) for m in CLIPS for kind in KINDS)


@dataclass(frozen=True)
class SweepRow:
    """One clip: value, interval, what clipping is thought to lose, effective sample size."""

    system: str
    measure: str
    estimator: str
    clip: float
    value: float
    se: float
    low: float
    high: float
    bias: float
    error: float
    effective: float


@dataclass(frozen=True)
class Choice:
    """The estimator and clip with the smallest estimated error, and why."""

    system: str
    measure: str
    estimator: str
    value: float
    error: float
    reason: str


def sweep_clips(
    system: str,
    reward: str,
    estimate: Callable[[Estimator], Estimate],
    weights: WeightStatistics,
    level: float,
) -> list[SweepRow]:
    """The sweep of one target and reward."""
    rows = []
    for kind in SWEPT:
        whole = estimate(kind())
        for m in CLIPS:
            e = estimate(kind(clip=m))
            low, high = e.interval(level)
            # how far clipping moves DR is an upper guess of its bias, since noise moves it too
            bias = estimate(ClipBias(clip=m)).value if kind is IPS else e.value - whole.value
            error = (bias**2 + e.se**2) ** 0.5
            size = weights.effective(m)
            rows.append(
                SweepRow(system, reward, kind.name, m, e.value, e.se, low, high, bias, error, size)
            )
    return rows


def choose_clip(rows: list[SweepRow]) -> Choice:
    """The row with the smallest estimated error; of equals, the least clipped."""
    best = min(rows, key=lambda row: (round(row.error, 12), -row.clip))
    plain = next(r for r in rows if r.estimator == best.estimator and r.clip == float("inf"))
    label = str(next(kind for kind in SWEPT if kind.name == best.estimator)(clip=best.clip))
    reason = f"Smallest estimated error, {best.error:.3g} (bias {best.bias:.2g}, se {best.se:.2g})"
    if best.clip == float("inf"):
        reason += ": clipping would lose more than it steadies."
    else:
        reason += f"; without clipping {plain.error:.3g}."
    return Choice(best.system, best.measure, label, best.value, best.error, reason)
