r"""How much clicks and conversions scatter an estimate: closed forms, and which estimator wins.

Users and lists are given; each pair is clicked with probability :math:`p` (ctr) and, once clicked,
brings :math:`y` with mean :math:`q` (cvr); pairs are independent. ``c`` is the weight of its rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from counterrank.arrays import Floats
from counterrank.ope.estimators.base import Estimator
from counterrank.ope.weighted import Weighted
from counterrank.stats.functions import Function, divide


def ips_variance(
    ctr: npt.ArrayLike,
    cvr: npt.ArrayLike,
    c: npt.ArrayLike,
    *,
    users: int,
    square: npt.ArrayLike | None = None,
) -> float:
    r"""Variance of IPS with the true ctr (Saito 2020, Theorem 3.3).

    .. math:: \frac1{|U|^2} \sum \left(\frac{E[y^2]}{p} - q^2\right) c^2

    ``square`` is :math:`E[y^2]`; of conversions that are 0 or 1 it is :math:`q`, as in the theorem.
    """
    return dr_variance(ctr, cvr, 0.0, c, users=users, square=square)


def dr_variance(
    ctr: npt.ArrayLike,
    cvr: npt.ArrayLike,
    h: npt.ArrayLike,
    c: npt.ArrayLike,
    *,
    users: int,
    square: npt.ArrayLike | None = None,
) -> float:
    r"""Variance of DR with the true ctr and predictions :math:`h`.

    .. math:: \frac1{|U|^2} \sum \left(\frac{E[y^2] - 2 q h + h^2}{p} - (q - h)^2\right) c^2
    """
    p, q, h, c = (np.asarray(x, float) for x in (ctr, cvr, h, c))
    second = q if square is None else np.asarray(square, float)
    return float(np.sum(((second - 2 * q * h + h**2) / p - (q - h) ** 2) * c**2)) / users**2


def variance_gain(
    ctr: npt.ArrayLike, cvr: npt.ArrayLike, h: npt.ArrayLike, c: npt.ArrayLike, *, users: int
) -> float:
    r"""What DR takes off the variance of IPS; negative where it adds to it.

    .. math:: \frac1{|U|^2} \sum h (2 q - h) \left(\frac1p - 1\right) c^2

    So a pair gains exactly if :math:`0 < h < 2 q`, whatever values :math:`y` takes.
    """
    p, q, h, c = (np.asarray(x, float) for x in (ctr, cvr, h, c))
    return float(np.sum(h * (2 * q - h) * (1 / p - 1) * c**2)) / users**2


@dataclass(frozen=True)
class VarianceRatio(Estimator):
    r"""Variance of DR over that of IPS, estimated from the clicks: below 1, DR is the steadier.

    .. math:: 1 - \bar g / (\overline{x^2} - \bar x^2), \quad
        g_u = \sum_i \frac zp\, h (2 y - h) \left(\frac1p - 1\right) c^2

    :math:`x_u` is what IPS sums for the user. :math:`g` is unbiased for the gain of the user's
    pairs (`variance_gain`), as that is linear in the cvr.
    """

    name: ClassVar[str] = "VarianceRatio"
    formula: ClassVar[str] = "variance of DR over that of IPS"
    needs: ClassVar[frozenset[str]] = frozenset({"model"})

    def columns(self, rows: Weighted) -> list[Floats]:
        w = rows.inverse(float("inf"))
        x = rows.total(rows.reward * rows.e * w)
        gain = w * rows.q * (2 * rows.reward - rows.q) * (w - 1) * rows.e**2
        return [x, x**2, rows.total(gain)]

    def function(self) -> Function:
        return left_over


def left_over(m: Floats) -> Floats:
    r""":math:`1 - \bar g / (\overline{x^2} - \bar x^2)`."""
    x, square, gain = np.moveaxis(m, -1, 0)
    value: Floats = 1 - divide(gain, square - x**2)
    return value
