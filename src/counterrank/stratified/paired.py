"""Differences of many pairs of systems at once, each with its paired t test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats, Ints
from counterrank.inference.tests import SMALLEST
from counterrank.stratified.face import Blend
from counterrank.stratified.summed import SummedBlend, Way

ROUNDING = 1e-12  # differences this small against the values are none
CLOSE = 1e-6  # pairs whose variance is this small against their systems' are summed directly


@dataclass(frozen=True, eq=False)
class Paired:
    """For each pair: ``difference``, its standard error, and the two-sided p of the t test."""

    method: str
    difference: Floats
    se: Floats
    p: Floats
    freedom: int

    def half(self, level: float) -> Floats:
        """Half the width of the interval of each difference."""
        from scipy.special import stdtrit

        width: Floats = float(stdtrit(max(self.freedom, 1), 0.5 + level / 2)) * self.se
        return width


def paired(face: Way, a: Ints, b: Ints) -> Paired:
    r"""System ``a`` minus system ``b``, for every pair, from the influence values.

    .. math:: se^2 = \frac{n_c}{n_c - 1} \frac1{n^2} \sum_u (\psi_{au} - \psi_{bu})^2

    of the :math:`n` users, of whom :math:`n_c` count. All sums of squares come from one product:
    :math:`\sum_u (\psi_{au} - \psi_{bu})^2 = C_{aa} + C_{bb} - 2 C_{ab}` with
    :math:`C = \psi \psi^T`. Where all users differ alike, which a t test takes for certain, p is
    the chance :math:`2^{1 - n_c}` that they all agree.
    """
    from scipy.special import stdtr

    empty = np.full(len(a), np.nan)
    counted = _counted(face)
    if counted < 1:
        return Paired(face.method, empty, empty, np.ones(len(a)), 0)
    value = face.value
    difference = value[a] - value[b]
    size = np.maximum(np.abs(value[a]), np.abs(value[b]))
    difference = np.where(np.abs(difference) <= ROUNDING * size, 0.0, difference)
    if counted < 2:
        return Paired(face.method, difference, empty, np.ones(len(a)), 0)
    psi = face.influence
    spread = _squares(psi - psi.mean(axis=0), a, b)
    se = np.sqrt(counted / (counted - 1) * spread) / face.n
    # Rounding of the influence values must not look like a very sure difference.
    se = np.where(se <= ROUNDING * size, 0.0, se)
    t = np.divide(np.abs(difference), se, out=np.full(len(a), np.inf), where=se > 0)
    p = np.where(se > 0, 2 * stdtr(counted - 1, -t), 2.0 ** (1 - min(counted, 1000)))
    p = np.maximum(p, SMALLEST)
    return Paired(face.method, difference, se, np.where(difference == 0, 1.0, p), counted - 1)


def _counted(face: Way) -> int:
    """Users who count under the method."""
    # A stratum nobody counts in has no value, and then the blend has none.
    return face.counted if has_value(face) else 0


def has_value(face: Way) -> bool:
    """Whether anybody counts, in every stratum of a blend."""
    parts = face.faces if isinstance(face, (Blend, SummedBlend)) else [face]
    return all(part.counted for part in parts)


def _squares(psi: Floats, a: Ints, b: Ints) -> Floats:
    """Sum over users of the squared differences of rows ``a`` and ``b``."""
    product = psi @ psi.T
    own = np.diagonal(product)
    squares = np.maximum(own[a] + own[b] - 2 * product[a, b], 0)
    for pair in np.flatnonzero(squares < CLOSE * (own[a] + own[b])):
        squares[pair] = np.sum((psi[a[pair]] - psi[b[pair]]) ** 2)
    return squares
