"""How sure is an estimate: intervals, tests of a difference, of many at once, and corrections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import UsageError
from counterrank.stats.units import Estimate

RESAMPLES = 10_000
LARGE = 10_000  # degrees of freedom from which Student's distribution needs no library


def interval(
    estimate: Estimate,
    *,
    level: float,
    method: str,
    resamples: Floats | None = None,
    span: float | None = None,
) -> tuple[float, float]:
    """Low and high end for one estimate; the bootstraps need its resampled values."""
    if resamples is not None and method in ("bootstrap", "bca"):
        return _percentiles(estimate, resamples, level, adjust=method == "bca")
    if method in ("normal", "t"):
        half = quantile(level, method, estimate.clusters) * estimate.se
    else:
        half = _bernstein(estimate, level, span)
    return estimate.value - half, estimate.value + half


def quantile(level: float, method: str, clusters: int) -> float:
    """Standard errors in half an interval: of the normal distribution, or of Student's.

    Beyond 10,000 degrees of freedom Student's is expanded (Abramowitz and Stegun 26.7.5), exact to
    the last digits.
    """
    z, freedom = normal_quantile(0.5 + level / 2), max(clusters - 1, 1)
    if method == "normal":
        return z
    if freedom > LARGE:
        return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))


def critical_value(largest: Floats, level: float, clusters: int) -> float:
    """Standard errors in half an interval that holds for a family: from draws of its ``largest`` t.

    Without draws, of one comparison, it is Student's; it is never less.
    """
    single = quantile(level, "t", clusters)
    return max(single, float(np.quantile(largest, level))) if len(largest) else single


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


SMALLEST = 1e-16  # no p is 0


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
    p = np.maximum(np.where(se == 0, alike, 2 * upper_tail(t, freedom)), SMALLEST)
    return np.where(difference == 0, 1.0, p)


def upper_tail(t: Floats, freedom: int) -> Floats:
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


ROUNDING = 1e-12  # differences this small against the values are none
CLOSE = 1e-3  # pairs whose variance is this small against their systems' are summed directly


@dataclass(frozen=True, eq=False)
class Differences:
    """For each pair its ``value`` with the standard error, over ``n`` clusters of units."""

    value: Floats
    se: Floats
    n: int

    @cached_property
    def p(self) -> Floats:
        """Two-sided p of each t test."""
        return t_tests(self.value, self.se, self.n - 1)

    def half(self, level: float, interval: str = "t") -> Floats:
        """Half the width of each interval, by the normal distribution or Student's."""
        return quantile(level, interval, self.n) * self.se

    def ends(self, width: float) -> tuple[Floats, Floats]:
        """Both ends of each interval, ``width`` standard errors to either side."""
        return self.value - width * self.se, self.value + width * self.se


def differences(estimates: Sequence[Estimate], a: Ints, b: Ints) -> Differences:
    r"""Estimate ``a`` minus estimate ``b``, for every pair of places.

    .. math:: se^2 = \frac{G}{G - 1} \frac1{n^2} \sum_g (\psi_{ag} - \psi_{bg})^2

    over :math:`n` units in :math:`G` clusters. Rounding makes neither a difference nor a very sure
    one.
    """
    value = np.array([e.value for e in estimates])
    psi = np.stack([e.influence for e in estimates])
    size = np.maximum(np.abs(value[a]), np.abs(value[b]))
    apart = value[a] - value[b]
    se = _error(estimates[0], _squares(psi - psi.mean(axis=0), a, b))
    return Differences(
        np.where(np.abs(apart) <= ROUNDING * size, 0.0, apart),
        np.where(se <= ROUNDING * size, 0.0, se),
        estimates[0].clusters,
    )


def fieller(
    estimates: Sequence[Estimate], a: Ints, b: Ints, d: Differences, width: float
) -> tuple[Floats, Floats, Floats]:
    r"""Difference over :math:`|v_b|` with the ends of Fieller's interval (1954), for every pair.

    A lift :math:`\theta` is in it if :math:`D - \theta B` is not clearly other than 0, where
    :math:`D` is the difference, :math:`B = |v_b|` and :math:`q` the ``width`` in standard errors:

    .. math:: (D - \theta B)^2 \le q^2 (V_{DD} - 2 \theta V_{DB} + \theta^2 V_{BB})

    That is an interval where the baseline's own, :math:`B \pm q \sqrt{V_{BB}}`, is clear of 0.
    Elsewhere there is no lift.
    """
    value = np.array([e.value for e in estimates])
    psi = np.stack([e.influence for e in estimates])
    scale = _error(estimates[0], np.ones(1))[0] ** 2
    products = scale * (psi @ psi.T)
    base, turn, square = np.abs(value[b]), np.sign(value[b]), width**2
    vbb, vdb = products[b, b], turn * (products[a, b] - products[b, b])
    bottom = base**2 - square * vbb
    clear = (bottom > 0) & (base > 0)
    centre = d.value * base - square * vdb
    inner = d.se**2 * (base**2 - square * vbb) - 2 * d.value * base * vdb + d.value**2 * vbb
    half = width * np.sqrt(np.maximum(inner + square * vdb**2, 0))
    bottom = np.where(clear, bottom, np.nan)
    return (
        d.value / np.where(clear, base, np.nan),
        (centre - half) / bottom,
        (centre + half) / bottom,
    )


def _error(e: Estimate, squares: Floats) -> Floats:
    if e.clusters < 2:
        return np.full(len(squares), np.nan)
    se: Floats = np.sqrt(e.clusters / (e.clusters - 1) * squares) / e.n
    return se


def _squares(psi: Floats, a: Ints, b: Ints) -> Floats:
    """Sum over clusters of the squares of rows ``a`` less rows ``b``."""
    product = psi @ psi.T
    own = np.diagonal(product)
    largest = own[a] + own[b]
    squares = np.maximum(largest - 2 * product[a, b], 0)
    for pair in np.flatnonzero(squares < CLOSE * largest):
        squares[pair] = np.sum((psi[a[pair]] - psi[b[pair]]) ** 2)
    return squares
