r"""From the means of a few columns to one number. A function of means is a plain function.

Its gradient, which gives influence values, is taken by a complex step: :math:`f(m + ih) = f(m) + ih
f'(m)` to the last digit, because nothing is subtracted. So a function of one's own needs no
derivative; it must be smooth, and written in operations that take complex numbers (no ``abs``,
``max`` or ``float``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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


ON_LOGS = (geometric, geometric_ratio)  # positive values, whose logarithms are means
Range = tuple[float, float]
NO_BIAS = (0.0, 0.0)


@dataclass(frozen=True)
class AfterClipping:
    r"""A value that clipping moved, and by how much it may have.

    The last two columns are the weight that was lost, :math:`\ell`, and what was predicted of it,
    :math:`p`. Lost rewards are between ``least`` and ``most`` of a view each, so the value lies
    between :math:`least\, \bar\ell - \bar p` and :math:`most\, \bar\ell - \bar p` above what
    ``inner`` gives, less :math:`\bar\ell \bar x / \bar w` where that is `self_normalised`.
    """

    inner: Function
    least: float
    most: float

    def __call__(self, m: Floats) -> Floats:
        """The value."""
        return self.inner(m[..., :-2])

    def bias(self, m: Floats) -> Range:
        """What may be missing."""
        lost, told = float(m[-2]), float(m[-1])
        if self.inner is self_normalised:
            told += lost * float(divide(m[2], m[3]))
        return self.least * lost - told, self.most * lost - told


@dataclass(frozen=True, eq=False)
class PlugIn:
    r"""A value that rests on parameters :math:`\hat\theta` which were estimated as well.

    .. math:: V = f(\bar m(\hat\theta)), \qquad
              \psi_V = \nabla f \cdot \Big(\psi_m + \frac{\partial \bar m}{\partial\theta}
              \psi_\theta\Big)

    (Newey and McFadden 1994, section 6; Murphy and Topel 1985.) ``slopes`` are
    :math:`\partial \bar m / \partial\theta`, columns x parameters. If the same units gave the
    parameters, the last columns are their :math:`\psi_\theta`, and ``root`` is None. Otherwise
    :math:`\theta` is independent of them with covariance :math:`R^\top R`, ``root``. ``at`` are the
    means about which influences are taken (`about`).
    """

    inner: Function
    slopes: Floats
    root: Floats | None = None
    at: Floats | None = None

    def about(self, means: Floats) -> PlugIn:
        """The same, with parameters that move the value only as they move away from here."""
        return replace(self, at=means)

    def __call__(self, m: Floats) -> Floats:
        """The value."""
        if self.root is not None:
            return self.inner(m)
        count = self.slopes.shape[1]
        own, theta = m[..., : m.shape[-1] - count], m[..., m.shape[-1] - count :]
        if self.at is None:
            return self.inner(own)
        return self.inner(own + (theta - self.at[len(self.at) - count :]) @ self.slopes.T)

    def apart(self, means: Floats) -> Floats:
        r""":math:`R\, (\partial \bar m/\partial\theta)^\top \nabla f`: what they add from apart."""
        if self.root is None:
            return np.zeros(0)
        return self.root @ (self.slopes.T @ gradient(self.inner, means))

    def drawn(self, m: Floats, seed: int) -> Floats:
        """Values of resampled means; parameters from elsewhere are drawn as well."""
        if self.root is None:
            return self(m)
        z = np.random.default_rng(seed).standard_normal((len(m), len(self.root)))
        return self.inner(m + z @ self.root @ self.slopes.T)


def about(function: Function, means: Floats) -> Function:
    """The function near these means."""
    return function.about(means) if isinstance(function, PlugIn) else function


def apart(function: Function, psi: Floats, means: Floats, scale: float) -> Floats:
    """Influences by cluster, and after them those of what is independent of all units.

    ``scale`` makes an error of it an influence (`ClusterSizes.outside`).
    """
    if not isinstance(function, PlugIn) or function.root is None:
        return psi
    return np.append(psi, function.apart(means) * scale)


def resampled_values(function: Function, m: Floats, seed: int) -> Floats:
    """The values of resampled means."""
    return function.drawn(m, seed) if isinstance(function, PlugIn) else function(m)


@dataclass(frozen=True)
class PerView:
    """A value per session divided by the mean of one more column, the views of a session."""

    inner: Function

    def __call__(self, m: Floats) -> Floats:
        """The value."""
        return divide(self.inner(m[..., :-1]), m[..., -1])

    def bias(self, m: Floats) -> Range:
        """What may be missing of the value."""
        low, high = bias_of(self.inner, m[:-1])
        return float(divide(low, m[-1])), float(divide(high, m[-1]))


def bias_of(function: Function, means: Floats) -> Range:
    """By how much the truth may lie above the value, at least and at most, whatever the sample."""
    if isinstance(function, PlugIn):
        own = len(means) - (function.slopes.shape[1] if function.root is None else 0)
        return bias_of(function.inner, means[:own])
    if isinstance(function, (AfterClipping, PerView)):
        return function.bias(means)
    return NO_BIAS
