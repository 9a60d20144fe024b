r"""Estimators against a truth that is known, over many systems and repetitions.

Let :math:`\hat v_{sr}` be the estimate of system :math:`s` in repetition :math:`r`, :math:`v_s` its
true value, and :math:`\delta_{sr} = (\hat v_{sr} - v_s) / v_s`.

* relative RMSE :math:`\sqrt{\overline{\delta^2}}`, bias :math:`\bar\delta`, and variance: that of
  :math:`\delta_{sr}` over repetitions, mean over systems;
* coverage: share of intervals that hold the truth;
* Kendall's :math:`\tau` of the systems' order by estimate with the true one, mean over repetitions;
* regret :math:`1 - v_{\hat s} / v_{best}` of picking the system :math:`\hat s` with the highest
  estimate, mean over repetitions (of tied picks, their mean).

Systems of one repetition share their data, so spreads are over repetitions; of a single one, over
systems, as if these were independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats
from counterrank.inference import relative_rmse
from counterrank.stats.correlation import kendall_tau


@dataclass(frozen=True, eq=False)
class Trials:
    """One estimator: systems x repetitions; ``low`` and ``high`` are NaN where not given."""

    estimator: str
    estimate: Floats
    truth: Floats
    low: Floats
    high: Floats

    @property
    def delta(self) -> Floats:
        r""":math:`\delta`."""
        return (self.estimate - self.truth) / self.truth

    @property
    def squares(self) -> Floats:
        r"""Mean :math:`\delta^2` of each repetition; of a single one, of each system."""
        squares: Floats = self.delta**2
        return squares.mean(axis=0) if squares.shape[1] > 1 else squares[:, 0]


@dataclass(frozen=True)
class Accuracy:
    """What an estimator was worth; NaN where the trials cannot say."""

    relative_rmse: float
    se: float
    bias: float
    variance: float
    coverage: float
    kendall: float
    regret: float


def accuracy(trials: Trials) -> Accuracy:
    """All figures of one estimator."""
    delta, squares = trials.delta, trials.squares
    rmse = relative_rmse(trials.truth.ravel(), trials.estimate.ravel())
    systems, repetitions = delta.shape
    known = ~np.isnan(trials.low) & ~np.isnan(trials.high)
    inside = (trials.low <= trials.truth) & (trials.truth <= trials.high)
    nan = float("nan")
    return Accuracy(
        relative_rmse=rmse,
        se=_se(squares) / (2 * rmse) if rmse > 0 else 0.0,
        bias=float(delta.mean()),
        variance=float(delta.var(axis=1, ddof=1).mean()) if repetitions > 1 else nan,
        coverage=float(inside[known].mean()) if known.any() else nan,
        kendall=_mean_tau(trials) if systems > 1 else nan,
        regret=float(np.mean([_regret(*pair) for pair in _each(trials)])),
    )


def apart(a: Trials, b: Trials) -> float:
    """Two-sided p that two estimators err alike: paired t-test of their squared errors."""
    from scipy.special import stdtr

    d = a.squares - b.squares
    spread = _se(d)
    if not spread > 0:
        return 1.0 if not d.any() or len(d) < 2 else 0.0
    return float(2 * stdtr(len(d) - 1, -abs(d.mean()) / spread))


def _se(x: Floats) -> float:
    return float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else float("nan")


def _each(trials: Trials) -> list[tuple[Floats, Floats]]:
    """Estimates and truth, repetition by repetition."""
    return list(zip(trials.estimate.T, trials.truth.T, strict=True))


def _mean_tau(trials: Trials) -> float:
    found = kendall_tau(trials.estimate.T, trials.truth.T)
    return float(np.nanmean(found)) if np.isfinite(found).any() else float("nan")


def _regret(estimate: Floats, truth: Floats) -> float:
    """What the pick loses, as a share of the best; tied picks by their mean."""
    picked = truth[estimate == estimate.max()].mean()
    return float((truth.max() - picked) / abs(truth.max()))
