"""Do two measures say the same of systems? Pearson, Kendall's tau-b, the rate of inverted pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from counterrank.core.arrays import Floats
from counterrank.core.errors import UsageError
from counterrank.stats.inference import SMALLEST

ROUNDING = 1e-12  # values this close, against the largest, are ties


def pearson(x: Floats, y: Floats) -> float:
    """Pearson's correlation; not a number where one side does not vary or misses a value."""
    x, y = x - x.mean(), y - y.mean()
    size = np.sqrt(np.sum(x**2) * np.sum(y**2))
    return float(np.clip(np.sum(x * y) / size, -1, 1)) if size > 0 else float("nan")


def least_p(n: int) -> float:
    r"""The smallest two-sided p that ``n`` cases can give: :math:`2 / n!`.

    Among the n! orders of one side, the one that was seen and its reverse are always as extreme.
    """
    return min(2 / math.factorial(n), 1.0) if n < 18 else SMALLEST


def student(r: float, n: int) -> float:
    r"""Two-sided p of :math:`t = r \sqrt{(n - 2) / (1 - r^2)}` with :math:`n - 2` freedoms.

    It is at least :math:`2 / n!`, what the orders of n cases can say, whatever their distribution.
    """
    from scipy.special import stdtr

    if np.isnan(r) or n < 3:
        return float("nan")
    t = abs(r) * math.sqrt((n - 2) / (1 - r**2)) if abs(r) < 1 else math.inf
    return max(float(2 * stdtr(n - 2, -t)), least_p(n))


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
    sides = (np.asarray(side, float) for side in (x, y))
    return float(inversions(*(np.sign(np.subtract.outer(z, z)).ravel() for z in sides)))


def inversions(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> Floats:
    """The same from 1, 0 or -1 for each pair (last axis): which of the two is ahead."""
    counted = (first != 0) | (second != 0)
    differ = (first * second < 0) | ((first == 0) & (second != 0))
    share: Floats = differ.sum(axis=-1) / np.maximum(counted.sum(axis=-1), 1)
    return share


SLACK = 1e-9  # of correlations beyond what they can be


@dataclass(frozen=True)
class DependentCorrelations:
    """The difference of two correlations with the same variable, and its test.

    ``p_one_sided`` is the tail beyond ``t`` on the side it lies on, as published experiments give
    it; its level holds only if that side was named beforehand.
    """

    difference: float
    t: float
    freedom: int
    p_one_sided: float
    p_two_sided: float


def dependent_correlations(r_xy: float, r_xz: float, r_yz: float, n: int) -> DependentCorrelations:
    r"""Is :math:`r_{xy} = r_{xz}`, on the same ``n`` cases? Williams' test (Steiger 1980, Eq. 7).

    See ``williams`` for the formula. Equal correlations give t = 0; p is at least :math:`2 / n!`.
    Where y and z are each other's reverse the statistic is 0/0, and both p are missing (NaN), as
    they are if a correlation is.
    """
    if n < 4:
        raise UsageError("Two dependent correlations need four cases.", found=f"There are {n}.")
    from scipy.special import stdtr

    t = float(williams(r_xy, r_xz, r_yz, n))
    if np.isnan(t):
        return DependentCorrelations(r_xy - r_xz, t, n - 3, t, t)
    p = max(float(stdtr(n - 3, -abs(t))), least_p(n) / 2)
    return DependentCorrelations(r_xy - r_xz, t, n - 3, p, 2 * p)


def williams(r_xy: npt.ArrayLike, r_xz: npt.ArrayLike, r_yz: npt.ArrayLike, n: int) -> Floats:
    r"""Williams' statistic, with :math:`n - 3` degrees of freedom.

    .. math:: t = (r_{xy} - r_{xz}) \sqrt{\frac{(n-1)(1 + r_{yz})}
              {2 \frac{n-1}{n-3} D + \bar r^2 (1 - r_{yz})^3}}

    :math:`D = 1 - r_{xy}^2 - r_{xz}^2 - r_{yz}^2 + 2 r_{xy} r_{xz} r_{yz}` is the determinant of
    the three correlations and :math:`\bar r` the mean of the two compared.
    """
    xy, xz, yz = (np.asarray(r, float) for r in (r_xy, r_xz, r_yz))
    if any(np.any(np.abs(r) > 1 + SLACK) for r in (xy, xz, yz)):
        raise UsageError("Correlations must lie between -1 and 1.", found=f"{xy}, {xz}, {yz}.")
    determinant = 1 - xy**2 - xz**2 - yz**2 + 2 * xy * xz * yz
    if np.any(determinant < -SLACK):
        raise UsageError(
            "Three correlations contradict each other.",
            found=f"{xy}, {xz} and {yz} have the determinant {determinant}, below 0.",
            todo="Compute all three on the same cases.",
        )
    bottom = (
        2 * (n - 1) / (n - 3) * np.maximum(determinant, 0) + ((xy + xz) / 2) ** 2 * (1 - yz) ** 3
    )
    top = np.maximum(1 + yz, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        t: Floats = (xy - xz) * np.sqrt((n - 1) * top / bottom)
    return np.where(xy == xz, 0.0, t)


def relative_rmse(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    r""":math:`\sqrt{\frac1n \sum_i ((\hat v_i - v_i) / v_i)^2}` over systems :math:`i`."""
    v = np.asarray(truth, float)
    return float(np.sqrt(np.mean(((np.asarray(estimate, float) - v) / v) ** 2)))
