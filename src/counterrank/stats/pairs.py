r"""Differences of many pairs at once, from the influence values of all systems.

All sums of squares come from one product: :math:`\sum_u (\psi_{au} - t \psi_{bu})^2 = C_{aa} + t^2
C_{bb} - 2 t C_{ab}` with :math:`C = \psi \psi^T`. Pairs that are nearly alike, for which that would
lose digits, are summed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterrank.core.arrays import Floats, Ints, over
from counterrank.stats.intervals import normal_quantile
from counterrank.stats.tests import t_tests
from counterrank.stats.units import Estimate

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
        if interval == "normal":
            return normal_quantile(0.5 + level / 2) * self.se
        from scipy.special import stdtrit

        width: Floats = float(stdtrit(max(self.n - 1, 1), 0.5 + level / 2)) * self.se
        return width


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
    se = _error(estimates[0], _squares(psi - psi.mean(axis=0), a, b, np.ones(len(a))))
    return Differences(
        np.where(np.abs(apart) <= ROUNDING * size, 0.0, apart),
        np.where(se <= ROUNDING * size, 0.0, se),
        estimates[0].clusters,
    )


def ratios(estimates: Sequence[Estimate], a: Ints, b: Ints) -> Differences:
    r"""Estimate ``a`` over estimate ``b``: :math:`\psi = (\psi_a - r \psi_b) / v_b`."""
    value = np.array([e.value for e in estimates])
    psi = np.stack([e.influence for e in estimates])
    share = over(value[a], value[b])
    se = _error(estimates[0], _squares(psi, a, b, np.nan_to_num(share)))
    return Differences(share, over(se, np.abs(value[b])), estimates[0].clusters)


def _error(e: Estimate, squares: Floats) -> Floats:
    if e.clusters < 2:
        return np.full(len(squares), np.nan)
    se: Floats = np.sqrt(e.clusters / (e.clusters - 1) * squares) / e.n
    return se


def _squares(psi: Floats, a: Ints, b: Ints, times: Floats) -> Floats:
    """Sum over clusters of the squares of rows ``a`` less ``times`` rows ``b``."""
    product = psi @ psi.T
    own = np.diagonal(product)
    largest = own[a] + times**2 * own[b]
    squares = np.maximum(largest - 2 * times * product[a, b], 0)
    for pair in np.flatnonzero(squares < CLOSE * largest):
        squares[pair] = np.sum((psi[a[pair]] - times[pair] * psi[b[pair]]) ** 2)
    return squares
