r"""Degrees of freedom: how unequal clusters are, what that costs, and the distributions they enter.

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
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from counterrank.core.arrays import Floats

LARGE = 10_000  # degrees of freedom beyond which series do, which load faster than SciPy


@dataclass(frozen=True)
class ClusterSizes:
    """``n`` units in ``clusters``; sums of the ``squares`` and ``cubes`` of these' sizes."""

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

    def __add__(self, other: ClusterSizes) -> ClusterSizes:
        """Of both parts together, which share no cluster."""
        return ClusterSizes(
            self.n + other.n,
            self.clusters + other.clusters,
            self.squares + other.squares,
            self.cubes + other.cubes,
        )

    @property
    def effective(self) -> float:
        r""":math:`n^2 / N_2`: so many clusters of one size would say as much."""
        return self.n**2 / self.squares if self.n else 0.0

    @property
    def freedom(self) -> float:
        """Degrees of freedom: effective clusters less one."""
        return max(self.effective - 1, 0.0)

    @property
    def factor(self) -> float:
        r""":math:`1 / (1 - 2 N_3 / (n N_2) + N_2 / n^2)`; no number for one cluster."""
        if self.clusters < 2:
            return float("nan")
        hidden = 2 * self.cubes / (self.n * self.squares) - self.squares / self.n**2
        return 1 / (1 - hidden)


# distributions


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
