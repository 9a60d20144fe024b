r"""From sums per session to one number: functions of the means of a few columns.

Each has a gradient, so that influence values follow by the delta method (`counterrank.aggregate`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.aggregate import Function
from counterrank.arrays import Floats, over


@dataclass(frozen=True)
class First(Function):
    r""":math:`\bar x`: the mean of the only column."""

    def finish(self, means: Floats) -> Floats:
        return means[..., 0]

    def gradient(self, means: Floats) -> Floats:
        return np.ones(1)


@dataclass(frozen=True)
class Ratio(Function):
    r""":math:`\bar x / \bar w`."""

    def finish(self, means: Floats) -> Floats:
        return over(means[..., 0], means[..., 1])

    def gradient(self, means: Floats) -> Floats:
        x, w = means
        return np.array([over(np.ones(()), w), over(-x, w**2)])


@dataclass(frozen=True)
class SelfNormalised(Function):
    r""":math:`\bar d + \bar v \, \bar x / \bar w`: a ratio times a total, and what is added to it.

    :math:`d` is a direct part (0 without a model), :math:`v` the target's expected views,
    :math:`x` the weighted reward or residual, :math:`w` the weighted views.
    """

    def finish(self, means: Floats) -> Floats:
        d, v, x, w = np.moveaxis(means, -1, 0)
        return np.asarray(d + v * over(x, w))

    def gradient(self, means: Floats) -> Floats:
        _, v, x, w = means
        return np.array([np.ones(()), over(x, w), over(v, w), over(-v * x, w**2)])


@dataclass(frozen=True)
class SumOfRatios(Function):
    r""":math:`\sum_r \bar p_r \bar x_r / \bar w_r`: a ratio for each rank, and how often it occurs.

    The columns are all :math:`x_r`, then all :math:`w_r`, then all :math:`p_r`.
    """

    def finish(self, means: Floats) -> Floats:
        x, w, p = np.split(means, 3, axis=-1)
        return np.asarray(np.where(p > 0, p * over(x, w), 0).sum(axis=-1))

    def gradient(self, means: Floats) -> Floats:
        x, w, p = np.split(means, 3)
        by_column = np.stack([over(p, w), over(-p * x, w**2), over(x, w)])
        return np.where(p > 0, by_column, 0).ravel()


@dataclass(frozen=True)
class PerView(Function):
    """A value per session divided by the mean of one more column, the views of a session."""

    inner: Function

    def finish(self, means: Floats) -> Floats:
        return over(self.inner.finish(means[..., :-1]), means[..., -1])

    def gradient(self, means: Floats) -> Floats:
        views = means[-1]
        inner = over(self.inner.gradient(means[:-1]), views)
        return np.append(inner, over(-self.inner.finish(means[:-1]), views**2))
