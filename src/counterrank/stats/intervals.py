"""Intervals of an estimate: normal, Student's t, bootstrap (percentile, BCa), Bernstein."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.core.errors import UsageError
from counterrank.stats.units import Estimate

INTERVALS = ("normal", "t", "bootstrap", "bca", "bernstein")
RESAMPLES = 10_000


def interval(
    estimate: Estimate,
    *,
    level: float,
    method: str,
    resamples: Floats | None = None,
    span: float | None = None,
) -> tuple[float, float]:
    """Low and high end for one estimate; the bootstraps need its resampled values."""
    if method == "normal":
        return estimate.interval(level)
    if resamples is not None and method in ("bootstrap", "bca"):
        return _percentiles(estimate, resamples, level, adjust=method == "bca")
    half = _t(estimate, level) if method == "t" else _bernstein(estimate, level, span)
    return estimate.value - half, estimate.value + half


def _t(estimate: Estimate, level: float) -> float:
    """Half width by Student's distribution over the clusters."""
    from scipy.special import stdtrit

    return float(stdtrit(estimate.clusters - 1, 0.5 + level / 2)) * estimate.se


def _bernstein(estimate: Estimate, level: float, span: float | None) -> float:
    r"""Empirical Bernstein bound (Maurer and Pontil 2009), valid for any sample size.

    .. math:: \sqrt{2 V \ln(4/\delta) / n} + 7\, b \ln(4/\delta) / (3 (n - 1))

    :math:`V` is the sample variance of values in a range of width :math:`b`,
    :math:`\delta` one minus the level.
    """
    if span is None or estimate.dependent:
        raise UsageError(
            "A Bernstein interval needs the plain mean of independent, bounded values.",
            todo="Use it for measures between 0 and 1, or take another interval.",
        )
    n = estimate.n
    if n < 2:
        return float("nan")
    log = np.log(4 / (1 - level))
    return float(estimate.se * np.sqrt(2 * log) + 7 * span * log / (3 * (n - 1)))


def _percentiles(
    estimate: Estimate, values: Floats, level: float, *, adjust: bool
) -> tuple[float, float]:
    r"""Percentiles of the resampled values.

    BCa (Efron 1987) moves them by the median bias :math:`z_0` and the acceleration :math:`a`,
    which the influence values give: :math:`a = \sum \psi^3 / (6 (\sum \psi^2)^{3/2})`.
    """
    values = values[np.isfinite(values)]  # a resample may have nothing to divide by
    if estimate.clusters < 2 or len(values) == 0:
        return float("nan"), float("nan")
    ends = np.array([0.5 - level / 2, 0.5 + level / 2])
    if adjust and np.ptp(values) > 0:
        below = np.mean(values < estimate.value) + np.mean(values == estimate.value) / 2
        z0 = normal_quantile(float(np.clip(below, 1e-9, 1 - 1e-9)))
        psi = estimate.influence
        a = np.sum(psi**3) / (6 * np.sum(psi**2) ** 1.5)
        z = np.array([normal_quantile(end) for end in ends])
        moved = z0 + (z0 + z) / (1 - a * (z0 + z))
        ends = np.array([NormalDist().cdf(m) for m in moved])
    low, high = np.quantile(values, ends)
    return float(low), float(high)


def normal_quantile(p: float) -> float:
    """Quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(p)
