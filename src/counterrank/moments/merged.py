r"""An estimate made of merged moments: the same numbers as from influence values, without them.

The value is a smooth function of the means of :math:`K` columns; with its gradient the influence of
a cluster is :math:`\nabla \cdot d_g`, so all variances are quadratic forms of the moments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterrank.aggregate import Function
from counterrank.core.arrays import Floats, Ints, over
from counterrank.core.cached import once
from counterrank.core.errors import UsageError
from counterrank.estimates import Uncertain, not_kept
from counterrank.moments.sums import Sums

PER_UNIT = ("influence", "units", "parts", "cluster", "only", "clustered")


@dataclass(frozen=True, eq=False, repr=False)
class Merged(Uncertain):
    """``value`` and its ``gradient`` by the means of all columns of ``sums``.

    ``finish`` makes the value from these means, so that it can be resampled.
    """

    value: float
    gradient: Floats
    sums: Sums
    finish: Callable[[Floats], Floats]
    function: Function | None = None

    @classmethod
    def of(cls, sums: Sums, places: slice | Ints, function: Function) -> Merged:
        """A smooth function of the means of the columns at ``places``."""
        means = sums.moments.mean
        gradient = np.zeros(len(means))
        gradient[places] = function.gradient(means[places])

        def finish(means: Floats) -> Floats:
            return function.finish(means[..., places])

        return cls(float(finish(means)), gradient, sums, finish, function)

    @property
    def n(self) -> int:
        """Number of units."""
        return self.sums.moments.n

    @property
    def clusters(self) -> int:
        """Number of clusters; without clusters, of units."""
        return self.sums.moments.clusters

    @property
    def dependent(self) -> bool:
        """Whether units form clusters."""
        return self.sums.moments.grouped

    @once
    def se(self) -> float:
        """Standard error, by the quadratic form of the gradient."""
        return self.sums.moments.se(self.gradient) if np.isfinite(self.value) else float("nan")

    def resampled(self, draws: int) -> Floats:
        """The value in each of the resamples that were drawn inside the engine."""
        return self.finish(self.sums.drawn(draws))

    def __sub__(self, other: Merged) -> Merged:
        """The difference, paired by unit."""
        self._refuse_others(other)
        gradient = self.gradient - other.gradient
        return self._with(other, self.value - other.value, gradient, np.subtract)

    def __truediv__(self, other: Merged) -> Merged:
        """The ratio, paired by unit; the lift is this minus one."""
        self._refuse_others(other)
        bottom = other.value if other.value else float("nan")
        ratio = self.value / bottom
        gradient = (self.gradient - ratio * other.gradient) / bottom
        return self._with(other, ratio, gradient, over)

    def _with(
        self,
        other: Merged,
        value: float,
        gradient: Floats,
        join: Callable[[Floats, Floats], Floats],
    ) -> Merged:
        def finish(means: Floats) -> Floats:
            return join(self.finish(means), other.finish(means))

        return Merged(value, gradient, self.sums, finish)

    def _refuse_others(self, other: Merged) -> None:
        """Products of columns are known only of those that were summed together."""
        if self.sums is not other.sums:
            raise UsageError(
                "Without values per unit, only estimates summed together can be compared.",
                todo='Compare systems in one call, or ask for inference="units".',
            )

    def __getattr__(self, name: str) -> Any:
        """What only values per unit can tell is refused with a reason."""
        if name in PER_UNIT:
            raise not_kept(name)
        raise AttributeError(name)
