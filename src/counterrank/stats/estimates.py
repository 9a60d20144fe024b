r"""An estimate: a value, its influence by cluster, and how sure it is.

Units come in clusters of :math:`n_g`, :math:`n` together: sessions of users. With
:math:`N_k = \sum_g n_g^k` there are as good as :math:`n^2 / N_2` equal ones (Kish). A value is a
mean over units, and its variance is estimated by :math:`\sum_g \psi_g^2 / n^2`. If clusters differ
by effects :math:`a_g` of their own, :math:`\psi_g = n_g (a_g - \sum_h n_h a_h / n)` and

.. math:: E \sum_g \psi_g^2 = \sigma_a^2 N_2 \left(1 - \frac{2 N_3}{n N_2} + \frac{N_2}{n^2}\right)

where :math:`\sigma_a^2 N_2` is right: a large cluster pulls the mean towards itself and so hides
part of its own error. The variance is divided by that bracket, which is :math:`1 - 1/G` where
clusters are of one size. The estimate of it varies as one of few clusters; Student's distribution
with :math:`n^2 / N_2 - 1` degrees of freedom accounts for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from counterrank.core.arrays import Floats, divide
from counterrank.core.errors import UsageError
from counterrank.stats.functions_of_means import NO_BIAS, Range

ROUNDING = 1e-14  # a spread below this share of its terms is 0
LARGE = 10_000  # degrees of freedom beyond which series do, which load faster than SciPy


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """A value and its influence by cluster; two over the same units subtract and divide.

    ``sizes`` are those of the clusters (of units, if they form none), and ``dependent`` is whether
    they do. ``table`` holds the units it is over. ``resamples`` are its values under the
    bootstrap's weights, where these were drawn. ``powers`` are the sums of the third and fourth
    powers of influence values, where these themselves are not held. The truth may lie above the
    value by ``bias``, from its first number to its second, whatever the sample. ``scale`` is
    ``log`` for geometric means and their ratios; a difference of two remembers their ``ratio``.
    """

    value: float
    influence: Floats
    sizes: ClusterSizes
    table: object
    dependent: bool = False
    resamples: Floats | None = None
    powers: tuple[float, float] | None = None
    bias: Range = NO_BIAS
    scale: str = "plain"
    ratio: tuple[float, Estimate] | None = None

    def __repr__(self) -> str:
        return f"{self.value:.6g} (se {self.se:.2g}, {self.n:,} units)"

    @property
    def n(self) -> int:
        """How many units there are."""
        return self.sizes.n

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return self.sizes.clusters

    @property
    def freedom(self) -> float:
        """Degrees of freedom of its interval and tests."""
        return self.sizes.freedom

    @cached_property
    def se(self) -> float:
        r"""Standard error: :math:`\frac1n \sqrt{f \sum_g \psi_g^2}`.

        :math:`f` is the ``factor`` of `ClusterSizes`: :math:`G / (G - 1)` for :math:`G` clusters of
        one size, or for :math:`G` units.
        """
        if self.clusters < 2 or not np.isfinite(self.value):
            return float("nan")
        return float(np.sqrt(self.sizes.factor * np.sum(self.influence**2)) / self.n)

    @cached_property
    def carriers(self) -> float:
        r"""How many clusters the standard error rests on.

        .. math:: (\sum_g \psi_g^2)^2 / \sum_g \psi_g^4

        Of :math:`G` normal influence values :math:`G / 3`; of a heavy tail a few, however many
        there are.
        """
        squares, _, fourth = self._sums
        return float(squares**2 / fourth) if fourth > 0 else float("nan")

    @cached_property
    def skewness(self) -> float:
        r"""How far one side's large influence values outweigh the other's.

        .. math:: (\sum_g \psi_g^3)^2 / (\sum_g \psi_g^2)^3

        The squared skewness of the mean; Student's interval of independent units misses
        :math:`0.25` times this more often than it says, to first order (Hall 1992).
        """
        squares, third, _ = self._sums
        return float(third**2 / squares**3) if squares > 0 else float("nan")

    @cached_property
    def _sums(self) -> Floats:
        """Sums of squares, third and fourth powers; of values of at most 1, where they are held."""
        if self.powers is not None:
            return np.array([np.sum(self.influence**2), *self.powers])
        psi = self.influence / (np.abs(self.influence).max(initial=0.0) or 1.0)
        square = psi * psi  # powers as such take ten times as long
        return np.array([np.sum(square), np.sum(square * psi), np.sum(square * square)])

    def interval(self, level: float = 0.95, method: str = "t") -> Range:
        r"""By Student's distribution, or the normal one; `stats.inference` has the other kinds.

        On a log scale :math:`v e^{\pm q\, se / v}`. The difference of two geometric means
        :math:`a, b` is :math:`\sqrt{ab}\,(\sqrt r - 1 / \sqrt r)` with the ends of their ratio
        :math:`r`.
        """
        if self.ratio is not None:
            middle, share = self.ratio
            low, high = (middle * (r**0.5 - r**-0.5) for r in share.interval(level, method))
            return low, high
        half = quantile(level, method, self.freedom) * self.se
        if self.scale == "log" and self.value > 0:
            far = math.exp(half / self.value)
            return self.value / far, self.value * far
        return self.value - half + self.bias[0], self.value + half + self.bias[1]

    def __sub__(self, other: Estimate) -> Estimate:
        """The difference, paired by unit."""
        found = self._with(other, self.value - other.value, 1.0, 1.0, np.subtract)
        if self.scale == "log" == other.scale and min(self.value, other.value) > 0:
            middle = math.sqrt(self.value * other.value)
            return replace(found, scale="plain", ratio=(middle, self / other))
        return replace(found, scale="plain")

    def __truediv__(self, other: Estimate) -> Estimate:
        """The ratio, paired by unit; the lift is this minus one."""
        bottom = other.value or float("nan")
        share = self.value / bottom
        found = self._with(other, share, share, 1 / bottom, divide)
        return replace(found, scale=self.scale if self.scale == other.scale else "plain")

    def _with(
        self,
        other: Estimate,
        value: float,
        times: float,
        scale: float,
        join: Callable[[Floats, Floats], Floats],
    ) -> Estimate:
        if self.table is not other.table:
            raise UsageError(
                "Two estimates can be compared only over the same units.",
                found=f"One has {other.n:,}, the other {self.n:,}.",
                todo="Compute both systems in one call, or keep the units they share:"
                " result.difference(a, b) does.",
            )
        a, b = self.influence, times * other.influence
        psi = a - b
        if np.linalg.norm(psi) <= ROUNDING * (np.linalg.norm(a) + np.linalg.norm(b)):
            psi = np.zeros_like(psi)
        again = None
        if self.resamples is not None and other.resamples is not None:
            again = join(self.resamples, other.resamples)
        powers = None if self.powers is None else (float("nan"), float("nan"))
        moved = [scale * (x - times * y) for x in self.bias for y in other.bias]
        return replace(
            self, value=value, influence=psi * scale, resamples=again, powers=powers,
            bias=(min(moved), max(moved)),
        )  # fmt: skip


# clusters and distributions


@dataclass(frozen=True)
class ClusterSizes:
    """``n`` units in ``clusters``; sums of the ``squares`` and ``cubes`` of these' sizes.

    Those of parts that share no cluster merge by addition.
    """

    n: int
    clusters: int
    squares: float
    cubes: float

    @classmethod
    def of(cls, size: Floats) -> ClusterSizes:
        """Of clusters of these sizes."""
        return cls(int(size.sum()), len(size), float(np.sum(size**2)), float(np.sum(size**3)))

    @classmethod
    def ones(cls, n: int) -> ClusterSizes:
        """Of units that form no clusters: each is its own."""
        return cls(n, n, float(n), float(n))

    @property
    def effective(self) -> float:
        r""":math:`n^2 / N_2`: so many clusters of one size would say as much."""
        return self.n**2 / self.squares if self.n else 0.0

    @property
    def freedom(self) -> float:
        """Degrees of freedom: effective clusters less one."""
        return max(self.effective - 1, 0.0)

    @property
    def outside(self) -> float:
        r""":math:`n / \sqrt f`: makes an error that is apart from all units an influence."""
        return self.n / math.sqrt(self.factor) if self.clusters > 1 else 0.0

    @property
    def factor(self) -> float:
        r""":math:`1 / (1 - 2 N_3 / (n N_2) + N_2 / n^2)`; no number for one cluster."""
        if self.clusters < 2:
            return float("nan")
        hidden = 2 * self.cubes / (self.n * self.squares) - self.squares / self.n**2
        return 1 / (1 - hidden)


def normal_quantile(p: float) -> float:
    """Quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(p)


def quantile(level: float, method: str, freedom: float) -> float:
    r"""Standard errors in half an interval: of the ``normal`` distribution, or of Student's ``t``.

    That is :math:`z + (z^3 + z) / (4 \nu)` for many degrees of freedom :math:`\nu` (Abramowitz and
    Stegun 26.7.5).
    """
    z = normal_quantile(0.5 + level / 2)
    if method == "normal" or not freedom > 0:
        return z
    if freedom > LARGE:
        return z + (z**3 + z) / (4 * freedom)
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))


def student_tail(t: Floats, freedom: float) -> Floats:
    r"""P(T > t); for many degrees of freedom by the normal distribution.

    :math:`z = t\,(1 - 1/(4\nu)) / \sqrt{1 + t^2/(2\nu)}` (Abramowitz and Stegun 26.7.8).
    """
    if freedom > LARGE:
        z = t * (1 - 1 / (4 * freedom)) / np.sqrt(1 + t * t / (2 * freedom))
        return np.array([math.erfc(x / math.sqrt(2)) / 2 for x in z.tolist()])
    from scipy.special import stdtr

    return np.asarray(stdtr(freedom, -t), float)
