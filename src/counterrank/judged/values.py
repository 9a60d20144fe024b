"""Per-unit values of all systems and measures, put together from those of buckets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.aggregate import Aggregate
from counterrank.arrays import Bools, Floats, Ints
from counterrank.data.ids import argsort_ids
from counterrank.estimates import Estimate, Uncertain
from counterrank.ranking import Measure

D = TypeVar("D", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Shared:
    """Estimates of all systems over the same units; none where there are no such units.

    ``scores`` (units x systems, 0 where ``counted`` is not) are what is tested, where values per
    unit are kept.
    """

    estimates: Sequence[Uncertain]
    scores: Floats | None = None
    counted: Bools | None = None


@dataclass(frozen=True, eq=False)
class UnitValues:
    """``x`` is systems x measures x units; NaN marks a unit left out by a policy.

    ``beside`` (systems x measures x units) has more measures, which only the diagnoses look at.
    ``base`` is what a ratio of means divides by, for the places of the measures that are one.
    ``present`` (systems x units) says who has a list, ``blank`` (measures x units) who has nothing
    to find.
    """

    units: pl.Series
    x: Floats
    beside: Floats
    base: dict[int, Floats]
    present: Bools
    blank: Bools

    def estimate(self, s: int, m: int, measure: Measure) -> Estimate:
        """Of system ``s`` by measure ``m``, over its own units."""
        x = self.x[s, m]
        return self._estimate(x, m, measure, ~np.isnan(x))

    def shared(self, m: int, measure: Measure) -> Shared:
        """All systems by measure ``m``, over the units that all of them have."""
        x = self.x[:, m]
        kept: Bools = np.all(~np.isnan(x), axis=0)
        aggregate = self._aggregate(m, measure, kept)
        scores = np.zeros((x.shape[1], len(x)))
        scores[kept] = np.stack([aggregate.scores(row[kept]) for row in x], axis=1)
        estimates = [self._estimate(row, m, measure, kept) for row in x] if kept.any() else []
        return Shared(estimates, scores, kept)

    def left(self, s: int, m: int) -> int:
        """How many units system ``s`` has for measure ``m``."""
        return int(np.count_nonzero(~np.isnan(self.x[s, m])))

    def first_missing(self, s: int) -> object:
        """The first judged user without a list of system ``s``."""
        return self.units[int(np.argmin(self.present[s]))]

    def first_blank(self, m: int) -> object:
        """The first user with nothing to find for measure ``m``."""
        return self.units[int(np.argmax(self.blank[m]))]

    def _estimate(self, x: Floats, m: int, measure: Measure, kept: Bools) -> Estimate:
        units = self.units if kept.all() else self.units.filter(pl.Series(kept))
        return Estimate.of(x[kept], units, self._aggregate(m, measure, kept))

    def _aggregate(self, m: int, measure: Measure, kept: Bools) -> Aggregate:
        return measure.averaged(self.base.get(m)).kept(kept)

    def scaled(self, measures: Sequence[Measure]) -> UnitValues:
        """The same times what concerns all units of the data set, which must all be here."""
        for m, base in self.base.items():
            self.x[:, m] *= measures[m].factor(base)
        return self

    @classmethod
    def merged(cls, parts: Sequence[UnitValues]) -> UnitValues:
        """Those of all buckets, in the order of the units' ids."""
        if len(parts) == 1:
            return parts[0]
        units, place = placed([p.units for p in parts])
        return replace(
            parts[0],
            units=units,
            x=spread([p.x for p in parts], place),
            beside=spread([p.beside for p in parts], place),
            base={m: spread([p.base[m] for p in parts], place) for m in parts[0].base},
            present=spread([p.present for p in parts], place),
            blank=spread([p.blank for p in parts], place),
        )


def placed(units: Sequence[pl.Series]) -> tuple[pl.Series, list[Ints]]:
    """All units by id, as in one table, and the places there of each part's."""
    every = pl.concat(list(units))
    by = argsort_ids(every)
    place = np.empty(len(by), np.int64)
    place[by] = np.arange(len(by))
    cuts = np.cumsum([len(part) for part in units])[:-1]
    return every.gather(by), np.split(place, cuts)


def spread(parts: Sequence[npt.NDArray[D]], place: Sequence[Ints]) -> npt.NDArray[D]:
    """Columns of parts (last axis: units), each unit at its place."""
    out = np.empty((*parts[0].shape[:-1], sum(map(len, place))), parts[0].dtype)
    for part, where in zip(parts, place, strict=True):
        out[..., where] = part
    return out
