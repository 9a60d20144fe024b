r"""How much clicks and conversions scatter an estimate: closed forms, and which estimator wins.

Users and lists are given; each pair is clicked with probability :math:`p` (ctr) and, once clicked,
brings :math:`y` with mean :math:`q` (cvr); pairs are independent. ``c`` is the weight of its rank,
``h`` the predicted cvr.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from counterrank.core.arrays import Floats, divide


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
    r"""What DR takes off the variance of IPS, :math:`\frac1{|U|^2} \sum` of `pair_gain`.

    Negative where it adds to it. A pair gains exactly if :math:`0 < h < 2 q`, whatever values
    :math:`y` takes.
    """
    p, q, h, c = (np.asarray(x, float) for x in (ctr, cvr, h, c))
    return float(np.sum(pair_gain(1 / p, q, h, c))) / users**2


def pair_gain(w: Floats, q: Floats, h: Floats, c: Floats) -> Floats:
    r""":math:`h (2 q - h) (w - 1) c^2`, :math:`w = 1 / p`: linear in :math:`q`.

    So with :math:`y` in the place of :math:`q` it is unbiased.
    """
    return h * (2 * q - h) * (w - 1) * c**2


def variance_ratio(m: Floats) -> Floats:
    r"""Variance of DR over that of IPS: :math:`1 - \bar g / (\overline{x^2} - \bar x^2)`.

    :math:`x` is what IPS sums for a user, :math:`g` the gain of the user's pairs; the columns are
    :math:`x`, :math:`x^2`, :math:`g`.
    """
    x, square, gain = np.moveaxis(m, -1, 0)
    ratio: Floats = 1 - divide(gain, square - x**2)
    return ratio
