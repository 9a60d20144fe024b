"""How sure is an estimate: intervals, tests of a difference, of many at once, and corrections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from counterrank.core.arrays import Floats, Ints, PairSweep, divide
from counterrank.core.errors import UsageError
from counterrank.stats.estimates import Estimate, normal_quantile, quantile, student_tail

RESAMPLES = 10_000
FEWEST = 75  # units of a BCa interval: with 50 it covers differences in 93 %, with 20 in 88 %


def interval(
    estimate: Estimate,
    *,
    level: float,
    method: str,
    resamples: Floats | None = None,
    span: float | None = None,
) -> tuple[float, float]:
    """Low and high end for one estimate; the bootstraps need its resampled values."""
    if method in ("normal", "t"):
        return estimate.interval(level, method)
    if resamples is not None and method in ("bootstrap", "bca"):
        low, high = _percentiles(estimate, resamples, level, adjust=method == "bca")
        return low + estimate.bias[0], high + estimate.bias[1]
    half = _bernstein(estimate, level, span)
    return estimate.value - half, estimate.value + half


def critical_value(largest: Floats, level: float, freedom: float) -> float:
    """Standard errors in half an interval that holds for a family: from draws of its ``largest`` t.

    Without draws, of one comparison, it is Student's; it is never less.
    """
    single = quantile(level, "t", freedom)
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
    if adjust and 2 <= estimate.clusters < FEWEST:
        raise UsageError(
            f"A BCa interval needs {FEWEST} units or more.",
            found=f"There are {estimate.clusters}; with so few it covers less than it says.",
            todo="Take --interval t.",
        )
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


SMALLEST = 1e-16  # no p is 0


def t_test(difference: Estimate) -> float:
    r"""Two-sided p of :math:`t = \bar d / se`, with the degrees of freedom of its interval.

    Geometric means are compared by the logarithm of their ratio.
    """
    e, far = difference, nearest_to_zero(difference.value, *difference.bias)
    if difference.ratio is not None:
        e, far = difference.ratio[1], np.log(difference.ratio[1].value)
        return float(t_tests(np.array([far]), np.array([e.se / e.value]), e.freedom)[0])
    return float(t_tests(np.array([far]), np.array([e.se]), e.freedom)[0])


def nearest_to_zero(value: Any, low: Any, high: Any) -> Any:
    """The least that a difference can be, where the truth is between ``low`` and ``high`` above."""
    return np.clip(0.0, value + low, value + high)


def t_tests(difference: Floats, se: Floats, freedom: float) -> Floats:
    """The same of many differences.

    Where all units differ alike, which a t test takes for certain, p is the chance
    :math:`2^{1 - n}` that they all agree.
    """
    if not freedom > 0:
        return np.ones(len(difference))  # one unit shows no difference
    t = np.divide(np.abs(difference), se, out=np.zeros(len(se)), where=se != 0)
    alike = 2.0 ** (1 - min(freedom + 1, 1000))
    p = np.maximum(np.where(se == 0, alike, 2 * student_tail(t, freedom)), SMALLEST)
    return np.where(difference == 0, 1.0, p)


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


def detectable(freedom: float, *, level: float = 0.95, power: float = 0.8) -> float:
    r"""Smallest true difference found with the given power, in standard errors of the difference.

    .. math:: t_{\nu, (1 + level)/2} + t_{\nu, power}

    by Student's quantiles with the ``freedom`` :math:`\nu` of the test (normal ones for many).
    """
    return quantile(level, "t", freedom) + quantile(2 * power - 1, "t", freedom)


ROUNDING = 1e-12  # differences this small against the values are none
CLOSE = 1e-3  # pairs whose variance is this small against their systems' are summed directly


@dataclass(frozen=True, eq=False)
class Differences:
    """For each pair its ``value`` with the standard error, of so many degrees of ``freedom``.

    ``bias`` is how far the truth may lie above each, at least and at most (2 x pairs).
    """

    value: Floats
    se: Floats
    freedom: float
    bias: Floats = field(default_factory=lambda: np.zeros((2, 1)))

    @cached_property
    def p(self) -> Floats:
        """Two-sided p of each t test."""
        return t_tests(nearest_to_zero(self.value, *self.bias), self.se, self.freedom)

    def half(self, level: float, interval: str = "t") -> Floats:
        """Half the width of each interval, by the normal distribution or Student's."""
        return quantile(level, interval, self.freedom) * self.se

    def ends(self, width: float) -> tuple[Floats, Floats]:
        """Both ends, ``width`` standard errors to either side, with what bias there may be."""
        half = width * self.se
        return self.value - half + self.bias[0], self.value + half + self.bias[1]


def differences(estimates: Sequence[Estimate], a: Ints, b: Ints) -> Differences:
    r"""Estimate ``a`` minus estimate ``b``, for every pair of places.

    .. math:: se^2 = \frac{f}{n^2} \sum_g (\psi_{ag} - \psi_{bg})^2

    over :math:`n` units, with the factor :math:`f` of their `ClusterSizes`. Rounding makes neither
    a difference nor a very sure one.
    """
    value = np.array([e.value for e in estimates])
    psi = np.stack([e.influence for e in estimates])
    size = np.maximum(np.abs(value[a]), np.abs(value[b]))
    apart = value[a] - value[b]
    se = _error(estimates[0], _squares(psi - psi.mean(axis=0), a, b))
    return Differences(
        np.where(np.abs(apart) <= ROUNDING * size, 0.0, apart),
        np.where(se <= ROUNDING * size, 0.0, se),
        estimates[0].freedom,
        _bias(estimates, a, b, np.ones(len(a)), np.ones(len(a))),
    )


def fieller(
    estimates: Sequence[Estimate], a: Ints, b: Ints, d: Differences, width: float
) -> tuple[Floats, Floats, Floats]:
    r"""Difference over :math:`|v_b|` with the ends of Fieller's interval (1954), for every pair.

    A lift :math:`\theta` is in it if :math:`D - \theta B` is not clearly other than 0, where
    :math:`D` is the difference, :math:`B = |v_b|` and :math:`q` the ``width`` in standard errors:

    .. math:: (D - \theta B)^2 \le q^2 (V_{DD} - 2 \theta V_{DB} + \theta^2 V_{BB})

    That is an interval where the baseline's own, :math:`B \pm q \sqrt{V_{BB}}`, is clear of 0.
    Elsewhere there is no lift. What bias there may be is added to the ends. Products of products
    are formed in a unit near the largest value, a power of 2, so that they are floats.
    """
    value = np.array([e.value for e in estimates])
    unit = np.exp2(np.frexp(np.abs(value).max())[1])
    psi = np.stack([e.influence for e in estimates]) / unit
    products = _error(estimates[0], np.ones(1))[0] ** 2 * (psi @ psi.T)
    base, turn, square = np.abs(value[b]) / unit, np.sign(value[b]), width**2
    vbb, vdb = products[b, b], turn * (products[a, b] - products[b, b])
    bottom = base**2 - square * vbb
    apart, se = d.value / unit, d.se / unit
    centre = apart * base - square * vdb
    inner = se**2 * bottom - 2 * apart * base * vdb + apart**2 * vbb
    half = width * np.sqrt(np.maximum(inner + square * vdb**2, 0))
    near = np.min(turn * np.array([e.bias for e in estimates])[b].T, axis=0, initial=0.0) / unit
    clear = base + near > width * np.sqrt(vbb)
    clear &= value[b] ** 2 > 0  # of values as small as 1e-300 errors are not known
    base, bottom = (np.where(clear, x, np.nan) for x in (base, bottom))
    low, high = _bias(estimates, a, b, divide(value[a], value[b]), divide(1.0, base)) / unit
    return apart / base, (centre - half) / bottom + low, (centre + half) / bottom + high


def _bias(estimates: Sequence[Estimate], a: Ints, b: Ints, times: Floats, scale: Floats) -> Floats:
    """The range of ``scale (bias of a - times bias of b)``."""
    own = np.array([e.bias for e in estimates])
    if not own.any():
        return np.zeros((2, len(a)))
    moved = [scale * (own[a, i] - times * own[b, j]) for i in (0, 1) for j in (0, 1)]
    return np.stack([np.min(moved, axis=0), np.max(moved, axis=0)])


def _error(e: Estimate, squares: Floats) -> Floats:
    if e.clusters < 2:
        return np.full(len(squares), np.nan)
    se: Floats = np.sqrt(e.sizes.factor * squares) / e.n
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


LARGEST, CELLS = 20_000, 1 << 19  # draws of max |t|; fewer where there are very many pairs
BLOCK = 1 << 20  # cells drawn at a time
DIGITS = 6  # of correlations: those of units and of their moments are the same to the last bit
NEAR = 1e-2  # a pair this close, against its distance from the rest, says nothing of the others


def largest_t(
    estimates: Sequence[Estimate], a: Ints, b: Ints, se: Floats, *, seed: int = 0
) -> Floats:
    r"""Draws of the largest :math:`|t|` of estimates ``a`` less estimates ``b``, in order.

    .. math:: P(\max_j |\hat d_j - d_j| / se_j \le c) = level

    With this :math:`c` all :math:`\hat d_j \pm c\, se_j` hold together (single-step max-T: Hothorn,
    Bretz and Westfall 2008; Montiel Olea and Plagborg-Moller 2019). Candidates share a baseline and
    the units, so their t are much alike: drawn are those of Student's distribution with the
    correlation of their influence values. Pairs without a standard error have no t, one pair needs
    no draws.
    """
    some = np.flatnonzero(se > 0)
    a, b, freedom = a[some], b[some], estimates[0].freedom
    if len(some) < 2 or not freedom > 0:
        return np.empty(0)
    psi = np.stack([e.influence for e in estimates])
    apart = psi - psi[b[0]]
    size = np.linalg.norm(apart, axis=1)
    alike = np.round(divide(apart @ apart.T, np.outer(size, size), 0.0), DIGITS)
    values, vectors = np.linalg.eigh(alike)
    root = size[:, None] * vectors * np.sqrt(np.maximum(values, 0))
    norm, rng = np.linalg.norm(root[a] - root[b], axis=1), np.random.default_rng(seed)
    near = norm <= NEAR * (size[a] + size[b])  # rounding: taken as independent, which is safe
    draws = int(np.clip(CELLS // len(some), LARGEST // 5, LARGEST))
    found, normal = np.zeros(draws), np.empty((draws, len(psi)))
    for start in range(0, draws, step := max(1, BLOCK // len(some))):
        rows = slice(start, start + min(step, draws - start))
        normal[rows] = rng.standard_normal(normal[rows].shape)
        if near.any():
            t = rng.standard_normal((len(normal[rows]), np.count_nonzero(near)))
            found[rows] = np.abs(t).max(axis=1)
    PairSweep.of(a[~near], b[~near]).raise_top(root @ normal.T, 1 / norm[~near], found)
    return np.sort(found / np.sqrt(rng.chisquare(freedom, draws) / freedom))
