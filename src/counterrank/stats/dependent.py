"""Do two methods agree with the truth equally well? Two correlations that share a variable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterrank.core.arrays import Floats
from counterrank.core.errors import UsageError
from counterrank.stats.tests import SMALLEST

ROUNDING = 1e-9


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

    See ``williams`` for the formula. Equal correlations give t = 0. Where y and z are each other's
    reverse the statistic is 0/0, and both p are missing (NaN), as they are if a correlation is.
    """
    if n < 4:
        raise UsageError("Two dependent correlations need four cases.", found=f"There are {n}.")
    from scipy.special import stdtr

    t = float(williams(r_xy, r_xz, r_yz, n))
    if np.isnan(t):
        return DependentCorrelations(r_xy - r_xz, t, n - 3, t, t)
    p = max(float(stdtr(n - 3, -abs(t))), SMALLEST / 2)
    return DependentCorrelations(r_xy - r_xz, t, n - 3, p, 2 * p)


def williams(r_xy: npt.ArrayLike, r_xz: npt.ArrayLike, r_yz: npt.ArrayLike, n: int) -> Floats:
    r"""Williams' statistic, with :math:`n - 3` degrees of freedom.

    .. math:: t = (r_{xy} - r_{xz}) \sqrt{\frac{(n-1)(1 + r_{yz})}
              {2 \frac{n-1}{n-3} D + \bar r^2 (1 - r_{yz})^3}}

    :math:`D = 1 - r_{xy}^2 - r_{xz}^2 - r_{yz}^2 + 2 r_{xy} r_{xz} r_{yz}` is the determinant of
    the three correlations and :math:`\bar r` the mean of the two compared.
    """
    xy, xz, yz = (np.asarray(r, float) for r in (r_xy, r_xz, r_yz))
    if any(np.any(np.abs(r) > 1 + ROUNDING) for r in (xy, xz, yz)):
        raise UsageError("Correlations must lie between -1 and 1.", found=f"{xy}, {xz}, {yz}.")
    determinant = 1 - xy**2 - xz**2 - yz**2 + 2 * xy * xz * yz
    if np.any(determinant < -ROUNDING):
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
