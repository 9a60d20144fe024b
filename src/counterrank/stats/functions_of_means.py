r"""From the means of a few columns to one number. A function of means is a plain function.

Its gradient, which gives influence values, is taken by a complex step: :math:`f(m + ih) = f(m) + ih
f'(m)` to the last digit, because nothing is subtracted. So a function of one's own needs no
derivative; it must be smooth, and written in operations that take complex numbers (no ``abs``,
``max`` or ``float``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from counterrank.core.arrays import Floats, divide

Function = Callable[[Floats], Floats]  # means (..., columns) -> value (...)
STEP = 1e-200


def gradient(function: Function, means: Floats) -> Floats:
    """The derivative of the value by each mean; there is none where there is no value."""
    if not np.isfinite(function(means)):
        return np.full(len(means), np.nan)
    with np.errstate(invalid="ignore", over="ignore"):
        steps: Any = means + _steps(len(means))
        slope: Floats = np.imag(function(steps)) / STEP
    return slope


@cache
def _steps(columns: int) -> Any:
    return 1j * STEP * np.eye(columns)


def mean(m: Floats) -> Floats:
    r""":math:`\bar x`."""
    return m[..., 0]


def geometric(m: Floats) -> Floats:
    r""":math:`\exp \overline{\log x}`: the column holds logarithms."""
    return np.exp(m[..., 0])


def ratio(m: Floats) -> Floats:
    r""":math:`\bar x / \bar w`."""
    return divide(m[..., 0], m[..., 1])


def ratio_or_zero(m: Floats) -> Floats:
    r""":math:`\bar x / \bar w`, 0 where there is nothing to divide by."""
    return divide(m[..., 0], m[..., 1], 0.0)


def geometric_ratio(m: Floats) -> Floats:
    r""":math:`\exp(\bar x / \bar w)`: a geometric mean over those who count."""
    return np.exp(ratio(m))


def self_normalised(m: Floats) -> Floats:
    r""":math:`\bar d + \bar v \, \bar x / \bar w`: a ratio times a total, and what is added to it.

    :math:`d` is a direct part (0 without a model), :math:`v` the target's expected views,
    :math:`x` the weighted reward or residual, :math:`w` the weighted views.
    """
    d, v, x, w = np.moveaxis(m, -1, 0)
    value: Floats = d + v * divide(x, w)
    return value


def sum_of_ratios(m: Floats) -> Floats:
    r""":math:`\sum_r \bar p_r \bar x_r / \bar w_r`: a ratio for each rank, and how often it occurs.

    The columns are all :math:`x_r`, then all :math:`w_r`, then all :math:`p_r`.
    """
    x, w, p = np.split(m, 3, axis=-1)
    value: Floats = np.where(np.real(p) > 0, p * divide(x, w), 0).sum(axis=-1)
    return value


@dataclass(frozen=True)
class PerView:
    """A value per session divided by the mean of one more column, the views of a session."""

    inner: Function

    def __call__(self, m: Floats) -> Floats:
        """The value."""
        return divide(self.inner(m[..., :-1]), m[..., -1])
