"""Paired tests of one difference: Student's t, Wilcoxon's signed ranks, the bootstrap."""

from __future__ import annotations

import math

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.stats.intervals import normal_quantile
from counterrank.stats.units import Estimate

LARGE = 10_000
SMALLEST = 1e-16  # no p is 0
TESTS = ("permutation", "t", "bootstrap", "wilcoxon", "none")


def t_test(difference: Estimate) -> float:
    r"""Two-sided p of :math:`t = \bar d / se` with :math:`G - 1` degrees of freedom."""
    value, se = np.array([difference.value]), np.array([difference.se])
    return float(t_tests(value, se, difference.clusters - 1)[0])


def t_tests(difference: Floats, se: Floats, freedom: int) -> Floats:
    """The same of many differences.

    Where all units differ alike, which a t test takes for certain, p is the chance
    :math:`2^{1 - n}` that they all agree.
    """
    if freedom < 1:
        return np.ones(len(difference))  # one unit shows no difference
    t = np.divide(np.abs(difference), se, out=np.zeros(len(se)), where=se != 0)
    alike = 2.0 ** (1 - min(freedom + 1, 1000))
    p = np.maximum(np.where(se == 0, alike, 2 * _tail(t, freedom)), SMALLEST)
    return np.where(difference == 0, 1.0, p)


def _tail(t: Floats, freedom: int) -> Floats:
    r"""P(T > t). Beyond 10,000 degrees of freedom by the normal distribution, which loads faster.

    :math:`z = t\,(1 - 1/(4\nu)) / \sqrt{1 + t^2/(2\nu)}` (Abramowitz and Stegun 26.7.8).
    """
    if freedom > LARGE:
        z = t * (1 - 1 / (4 * freedom)) / np.sqrt(1 + t * t / (2 * freedom))
        return np.array([math.erfc(x / math.sqrt(2)) / 2 for x in z.tolist()])
    from scipy.special import stdtr

    tail: Floats = stdtr(freedom, -t)
    return tail


def wilcoxon(d: Floats) -> float:
    """Two-sided p of the signed ranks of per-unit differences; zeros take half of each sign.

    It asks whether differences are symmetric about zero, not whether their mean is zero.
    """
    from scipy.stats import wilcoxon as scipy_wilcoxon

    if not np.any(d):
        return 1.0
    d = np.round(d / np.abs(d).max(), 12)  # differences equal but for rounding tie
    plain = len(d) <= 50 and len(np.unique(np.abs(d))) == len(d) and bool(np.all(d))
    tested = scipy_wilcoxon(d, zero_method="zsplit", method="exact" if plain else "approx")
    return float(tested.pvalue)


def bootstrap_test(difference: Estimate, resamples: Floats) -> float:
    """Two-sided p: how often a resampled difference strays as far from the estimate as zero is."""
    if difference.clusters < 2:
        return 1.0
    far = np.abs(resamples - difference.value) >= abs(difference.value) * (1 - 1e-12)
    return float((1 + far.sum()) / (1 + len(resamples)))


CORRECTIONS = ("none", "holm", "bh", "maxt")


def holm(p: Floats) -> Floats:
    r"""Holm's step-down: :math:`\tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})`.

    Missing p-values stay missing and do not count towards :math:`m`.
    """
    return _stepwise(p, lambda ordered, m: np.maximum.accumulate(ordered * (m - np.arange(m))))


def benjamini_hochberg(p: Floats) -> Floats:
    r"""False discovery rate: :math:`\tilde p_{(i)} = \min_{j \ge i} \min(1, m\, p_{(j)} / j)`."""
    return _stepwise(
        p,
        lambda ordered, m: np.minimum.accumulate((ordered * m / (1 + np.arange(m)))[::-1])[::-1],
    )


def _stepwise(p: Floats, step) -> Floats:  # type: ignore[no-untyped-def]
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    out = np.full(len(p), np.nan)
    out[order] = np.minimum(1, step(p[order], len(order)))
    return out


def detectable(se: float, *, level: float = 0.95, power: float = 0.8) -> float:
    r"""Smallest true difference found with the given power.

    .. math:: (z_{(1 + level)/2} + z_{power})\, se

    ``se`` is the standard error of the paired difference.
    """
    return (normal_quantile(0.5 + level / 2) + normal_quantile(power)) * se
