r"""An estimate: a value and what each unit contributes to its uncertainty.

The influence :math:`\psi_u` of unit :math:`u` says how the value moves when that unit weighs a
little more. Standard errors, intervals, clustering, differences and ratios all follow from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.aggregate import Aggregate, Function
from counterrank.core.arrays import Floats, over, summed
from counterrank.core.cached import once
from counterrank.core.errors import UsageError


def not_kept(what: str) -> UsageError:
    """What only values per unit can tell."""
    return UsageError(
        f"There are no {what} of an estimate whose values per unit were not kept.",
        todo='Ask for inference="units" to keep them, or do without.',
    )


class Uncertain(ABC):
    """A value and how sure it is, however that is known: from influence values, or from moments.

    Two of them subtract and divide, paired by unit. ``finish`` makes the value from means of
    columns. Those with values per unit have ``units``, ``influence``, its sums ``grouped`` by
    cluster, and ``columns``; others refuse to tell them.
    """

    value: float
    finish: Callable[[Floats], Floats]
    units: pl.Series
    influence: Floats

    def __repr__(self) -> str:
        return f"{self.value:.6g} (se {self.se:.2g}, {self.n:,} units)"

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of units."""

    @property
    @abstractmethod
    def clusters(self) -> int:
        """Number of clusters; without clusters, of units."""

    @property
    @abstractmethod
    def dependent(self) -> bool:
        """Whether units form clusters."""

    @property
    @abstractmethod
    def se(self) -> float:
        """Standard error."""

    @property
    def grouped(self) -> Floats:
        """Influence summed within clusters."""
        raise not_kept("influence")

    @property
    def columns(self) -> Floats:
        """All columns side by side, one row per unit."""
        raise not_kept("columns")

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Normal interval; `counterrank.stats.intervals` has the other kinds."""
        half = NormalDist().inv_cdf(0.5 + level / 2) * self.se
        return self.value - half, self.value + half

    @abstractmethod
    def __sub__(self, other: Self) -> Self:
        """The difference, paired by unit."""

    @abstractmethod
    def __truediv__(self, other: Self) -> Self:
        """The ratio, paired by unit; the lift is this minus one."""


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Uncertain):
    """``value`` with per-unit ``influence``; ``units`` are the ids, ``cluster`` their groups.

    ``parts`` hold the columns from whose means ``finish`` makes the value. They recompute it under
    other weights of the units, which is what a bootstrap needs: ratios are resampled as ratios.
    """

    value: float
    influence: Floats
    units: pl.Series
    parts: tuple[Floats, ...]
    finish: Callable[[Floats], Floats]
    cluster: npt.NDArray[np.int64] | None = None
    function: Function | None = None

    @classmethod
    def of(cls, x: Floats, units: pl.Series, aggregate: Aggregate) -> Estimate:
        """The aggregate of per-unit values ``x``."""
        return cls.of_columns(aggregate.columns(x), units, aggregate)

    @classmethod
    def of_columns(
        cls,
        columns: Floats,
        units: pl.Series,
        function: Function,
        cluster: npt.NDArray[np.int64] | None = None,
    ) -> Estimate:
        """A smooth function of the means of per-unit ``columns``."""
        means = np.array([np.mean(x) for x in columns.T])  # by pairs: no digits are lost
        influence = (columns - means) @ function.gradient(means)
        value = float(function.finish(means))
        return cls(value, influence, units, (columns,), function.finish, cluster, function)

    def only(self, places: npt.NDArray[np.int64]) -> Estimate:
        """The same estimate from some of its units."""
        assert self.function is not None
        cluster = None
        if self.cluster is not None:
            cluster = np.unique(self.cluster[places], return_inverse=True)[1]
        units = self.units.gather(places)
        return Estimate.of_columns(self.columns[places], units, self.function, cluster)

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.influence)

    @property
    def clusters(self) -> int:
        """Number of clusters; without clusters, of units."""
        return len(self.grouped)

    @property
    def dependent(self) -> bool:
        """Whether units form clusters."""
        return self.cluster is not None

    @property
    def columns(self) -> Floats:
        """All columns side by side, one row per unit."""
        return self.parts[0] if len(self.parts) == 1 else np.hstack(self.parts)

    @once
    def grouped(self) -> Floats:
        """Influence summed within clusters; without clusters, the influence itself."""
        if self.cluster is None:
            return self.influence
        return summed(self.cluster, self.influence, int(self.cluster.max()) + 1)

    @once
    def se(self) -> float:
        r"""Standard error: :math:`\frac1n \sqrt{\frac{G}{G-1} \sum_g (\sum_{u \in g} \psi_u)^2}`.

        :math:`G` is the number of clusters; without clusters, of units.
        """
        clusters = self.clusters
        if clusters < 2:
            return float("nan")
        return float(np.sqrt(clusters / (clusters - 1) * np.sum(self.grouped**2)) / self.n)

    def clustered(self, by: npt.ArrayLike) -> Estimate:
        """The same estimate, with units of one group counted as dependent."""
        _, code = np.unique(np.asarray(by), return_inverse=True)
        if len(code) != self.n:
            raise UsageError("One cluster per unit is needed.", found=f"{len(code)} for {self.n}.")
        return replace(self, cluster=code)

    def __sub__(self, other: Estimate) -> Estimate:
        """The difference, paired by unit."""
        other = other._ordered_as(self)
        influence = self.influence - other.influence
        return self._with(other, self.value - other.value, influence, np.subtract)

    def __truediv__(self, other: Estimate) -> Estimate:
        """The ratio, paired by unit; the lift is this minus one."""
        other = other._ordered_as(self)
        bottom = other.value if other.value else float("nan")
        ratio = self.value / bottom
        influence = (self.influence - ratio * other.influence) / bottom
        return self._with(other, ratio, influence, over)

    def _with(
        self,
        other: Estimate,
        value: float,
        influence: Floats,
        join: Callable[[Floats, Floats], Floats],
    ) -> Estimate:
        cut = sum(part.shape[1] for part in self.parts)
        return Estimate(
            value,
            influence,
            self.units,
            (*self.parts, *other.parts),
            lambda means: join(self.finish(means[..., :cut]), other.finish(means[..., cut:])),
            _common(self.cluster, other.cluster),
        )

    def _ordered_as(self, other: Estimate) -> Estimate:
        """This estimate with its units in the other's order; refused if they are not the same."""
        if self.units is other.units or self.units.equals(other.units):
            return self
        if self.units.dtype != other.units.dtype:
            raise UsageError(
                "Two estimates can be compared only over the same units.",
                found=f"Their ids are {other.units.dtype} and {self.units.dtype}.",
            )
        place = self.units.alias("id").to_frame().with_row_index("place")
        found = (
            other.units.alias("id")
            .to_frame()
            .join(place, on="id", how="left", maintain_order="left")["place"]
        )
        if self.n != other.n or found.null_count():
            alone = self.n - other.n + 2 * found.null_count()
            raise UsageError(
                "Two estimates can be compared only over the same units.",
                found=f"One has {other.n:,}, the other {self.n:,}; {alone:,} are not in both.",
                todo="Evaluate both systems in one call, or keep the units they share.",
            )
        by = found.to_numpy()
        cluster = None if self.cluster is None else self.cluster[by]
        return replace(
            self,
            influence=self.influence[by],
            units=other.units,
            parts=tuple(part[by] for part in self.parts),
            cluster=cluster,
        )


def _common(
    a: npt.NDArray[np.int64] | None, b: npt.NDArray[np.int64] | None
) -> npt.NDArray[np.int64] | None:
    """The clusters of two estimates, which must not contradict each other."""
    if a is not None and b is not None and not np.array_equal(a, b):
        raise UsageError("Two estimates with different clusters cannot be compared.")
    return b if a is None else a
