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
from counterrank.blocks import as_numbers
from counterrank.ranking import Measure

D = TypeVar("D", bound=np.generic)


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

    def aggregate(self, m: int, measure: Measure) -> Aggregate:
        """How the values of measure ``m`` become one number."""
        return measure.averaged(self.base.get(m))

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
    by = as_numbers(every).arg_sort().to_numpy()
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
