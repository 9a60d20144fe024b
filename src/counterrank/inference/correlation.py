"""Do two measures order systems alike? Kendall's tau-b and the rate of inverted pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from counterrank.arrays import Floats

ROUNDING = 1e-12  # values this close, against the largest, are ties


def kendall(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    r"""Kendall's :math:`\tau_b`: concordant minus discordant pairs, corrected for ties."""
    from scipy.stats import kendalltau

    return float(kendalltau(np.asarray(x, float), np.asarray(y, float)).statistic)


def kendalls(x: Floats, y: Floats) -> Floats:
    r"""Kendall's :math:`\tau_b` of each row of ``x`` with the same row of ``y``.

    .. math:: \tau_b = \sum_{i<j} s_{ij} t_{ij} \Big/ \sqrt{\sum s_{ij}^2 \sum t_{ij}^2}

    :math:`s_{ij}` and :math:`t_{ij}` are the signs of the differences of systems i and j in ``x``
    and ``y``. Rows in which all systems tie, or one has no value, have none.
    """
    left, right = _places(x), _places(y)
    agree, untied = np.zeros(len(x)), np.zeros((2, len(x)))
    for i in range(len(left) - 1):
        s, t = (np.clip(z[i + 1 :] - z[i], -1, 1) for z in (left, right))
        agree += np.einsum("ir,ir->r", s, t)
        untied += np.einsum("ir,ir->r", s, s), np.einsum("ir,ir->r", t, t)
    known = (untied > 0).all(axis=0) & np.isfinite(x).all(axis=1) & np.isfinite(y).all(axis=1)
    tau = np.full(len(x), np.nan)
    np.divide(agree, np.sqrt(untied.prod(axis=0)), out=tau, where=known)
    return tau


def _places(x: Floats) -> npt.NDArray[np.float32]:
    """The place of each value in its row, ties sharing one; rows become columns.

    Places are whole numbers, so a difference clipped to -1 and 1 is its sign, in single precision.
    """
    order = np.argsort(x, axis=1)
    step = np.diff(np.take_along_axis(x, order, axis=1), axis=1)
    above = np.cumsum(step > ROUNDING * np.abs(x).max(axis=1, keepdims=True), axis=1)
    place = np.zeros(x.shape, np.float32)
    np.put_along_axis(place, order[:, 1:], above.astype(np.float32), axis=1)
    return np.ascontiguousarray(place.T)


def inversion_rate(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    r"""Share of pairs that ``x`` and ``y`` order differently.

    Pairs equal in both are left out; equal in ``x`` only counts as a disagreement; equal in ``y``
    only as an agreement. Without ties it is :math:`(1 - \tau) / 2`.
    """
    dx = np.sign(np.subtract.outer(np.asarray(x, float), np.asarray(x, float)))
    dy = np.sign(np.subtract.outer(np.asarray(y, float), np.asarray(y, float)))
    counted = (dx != 0) | (dy != 0)
    agree = (dx != 0) & ((dx == dy) | (dy == 0))
    return float(1 - agree.sum() / counted.sum()) if counted.any() else 0.0
