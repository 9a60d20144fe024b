"""Do two measures say the same of systems? Pearson, Kendall's tau-b, the rate of inverted pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from counterrank.arrays import Floats

ROUNDING = 1e-12  # values this close, against the largest, are ties


def pearson(x: Floats, y: Floats) -> float:
    """Pearson's correlation; not a number where one side does not vary or misses a value."""
    x, y = x - x.mean(), y - y.mean()
    size = np.sqrt(np.sum(x**2) * np.sum(y**2))
    return float(np.clip(np.sum(x * y) / size, -1, 1)) if size > 0 else float("nan")


def kendall_tau(x: npt.ArrayLike, y: npt.ArrayLike, *, missing: str = "none") -> Floats:
    r"""Kendall's :math:`\tau_b` of ``x`` with ``y``, over the last axis (the systems).

    .. math:: \tau_b = \sum_{i<j} s_{ij} t_{ij} \Big/ \sqrt{\sum s_{ij}^2 \sum t_{ij}^2}

    :math:`s_{ij}` and :math:`t_{ij}` are the signs of the differences of systems i and j in ``x``
    and ``y``, 0 where the values differ by rounding only. Where one side sees no difference at all,
    there is no tau (NaN). Nor is there where a system has no value; with ``missing="skip"`` such a
    system is neither before nor behind any other.
    """
    both = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    shape = both[0].shape[:-1]
    sides = [z.reshape(-1, z.shape[-1]) for z in both]
    rows, systems = sides[0].shape
    known = [np.isfinite(z) for z in sides]
    whole = known[0].all(axis=1) & known[1].all(axis=1)
    places = [_places(np.where(k, z, 0.0)) for z, k in zip(sides, known, strict=True)]
    there = [np.ascontiguousarray(k.T, np.float32) for k in known]
    agree, untied = np.zeros(rows), np.zeros((2, rows))
    for i in range(systems - 1):
        s, t = (np.clip(z[i + 1 :] - z[i], -1, 1) for z in places)
        if not whole.all():
            s, t = (x * k[i + 1 :] * k[i] for x, k in zip((s, t), there, strict=True))
        agree += np.einsum("ir,ir->r", s, t)
        untied += np.einsum("ir,ir->r", s, s), np.einsum("ir,ir->r", t, t)
    defined = (untied > 0).all(axis=0)
    if missing == "none":
        defined &= whole
    tau = np.full(rows, np.nan)
    np.divide(agree, np.sqrt(untied.prod(axis=0)), out=tau, where=defined)
    return tau.reshape(shape)


def _places(x: Floats) -> npt.NDArray[np.float32]:
    """The place of each value in its row, ties sharing one; rows become columns.

    Places are whole numbers, so a difference clipped to -1 and 1 is its sign, in single precision.
    """
    order = np.argsort(x, axis=1)
    step = np.diff(np.take_along_axis(x, order, axis=1), axis=1)
    rounding = ROUNDING * np.abs(x).max(axis=1, keepdims=True, initial=0)
    above = np.cumsum(step > rounding, axis=1)
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
