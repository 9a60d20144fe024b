"""Paired tests of one difference: Student's t, Wilcoxon's signed ranks, the bootstrap."""

from __future__ import annotations

import math

import numpy as np

from counterrank.core.arrays import Floats
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
