r"""From per-unit values to one number: the mean, the geometric mean, the ratio of means.

Each is a smooth function :math:`g` of the means of a few columns, so one rule gives all influence
values: :math:`\psi_u = \nabla g(\bar c) \cdot (c_u - \bar c)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Bools, Floats


class Function(ABC):
    """A smooth function of the means of a few columns."""

    @abstractmethod
    def finish(self, means: Floats) -> Floats:
        """The value from the means (last axis: columns)."""

    @abstractmethod
    def gradient(self, means: Floats) -> Floats:
        """Derivative of the value by each mean."""


class Aggregate(Function):
    """``columns`` of per-unit values, and the function of their means."""

    @abstractmethod
    def columns(self, x: Floats) -> Floats:
        """The columns whose means matter, one row per unit."""

    def kept(self, units: Bools) -> Aggregate:
        """The same aggregate over some of the units."""
        return self

    def scores(self, x: Floats) -> Floats:
        """Per-unit values whose mean orders systems as the aggregate does: what is tested."""
        return self.columns(x)[:, 0]


@dataclass(frozen=True)
class Mean(Aggregate):
    r""":math:`\frac1n \sum_u x_u`."""

    def columns(self, x: Floats) -> Floats:
        return x[:, None]

    def finish(self, means: Floats) -> Floats:
        return means[..., 0]

    def gradient(self, means: Floats) -> Floats:
        return np.ones(1)


@dataclass(frozen=True)
class GeometricMean(Aggregate):
    r""":math:`\exp \frac1n \sum_u \log \max(x_u, \varepsilon)`.

    The floor :math:`\varepsilon` is that of trec_eval's gm_map.
    """

    floor: float = 1e-5

    def columns(self, x: Floats) -> Floats:
        return np.log(np.maximum(x, self.floor))[:, None]

    def finish(self, means: Floats) -> Floats:
        return np.exp(means[..., 0])

    def gradient(self, means: Floats) -> Floats:
        return np.exp(means)


@dataclass(frozen=True)
class RatioOfMeans(Aggregate):
    r""":math:`\sum_u x_u / \sum_u w_u`: normalise after averaging, not before."""

    weight: Floats

    def kept(self, units: Bools) -> Aggregate:
        return RatioOfMeans(self.weight[units])

    def columns(self, x: Floats) -> Floats:
        return np.stack([x, self.weight], axis=1)

    def finish(self, means: Floats) -> Floats:
        top, bottom = means[..., 0], means[..., 1]
        return np.divide(top, bottom, out=np.zeros_like(top), where=bottom != 0)

    def gradient(self, means: Floats) -> Floats:
        if means[1] == 0:
            return np.zeros(2)
        return np.array([1 / means[1], -means[0] / means[1] ** 2])
