"""Judged systems of one bucket, or of all: the same thing, as parts merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.estimates import not_kept
from counterrank.judged.facts import Lists, Ratings
from counterrank.judged.found import Found
from counterrank.judged.measured import Asked, System, Truth
from counterrank.judged.sums import UnitSums
from counterrank.judged.values import UnitValues
from counterrank.moments import Draws
from counterrank.ranking import Measure

Apart = tuple[pl.Series, pl.Series] | None


@dataclass(frozen=True, eq=False)
class Measured:
    """Per-unit values of all systems, or sums of them, and facts for the diagnoses.

    ``tables`` is what messages call each system's run, ``orders`` what ranks it; ``apart`` are some
    listed and some judged users of a system that has no user with both. ``found`` holds
    judgments and hits where they are kept: in memory, or where they were asked for.
    """

    systems: tuple[str, ...]
    tables: tuple[str, ...]
    orders: tuple[str, ...]
    ratings: Ratings
    lists: tuple[Lists, ...]
    apart: tuple[Apart, ...]
    values: UnitValues | UnitSums
    found: Found | None

    @property
    def per_unit(self) -> UnitValues:
        """The values, where they are kept."""
        if isinstance(self.values, UnitSums):
            raise not_kept("values")
        return self.values

    def summed(self, asked: Asked, draws: Draws) -> Measured:
        """The same with sums in the place of values."""
        return replace(self, values=UnitSums.of(self.per_unit, asked, draws))

    @classmethod
    def of(cls, systems: Sequence[System], truth: Truth, *, keep: str) -> Measured:
        """Those of one bucket; ``keep`` is values, or hits as well."""
        pool, blank = truth.pool, truth.blank[: len(truth.asked.measures)]
        found = Found(pool, tuple(s.hits for s in systems)) if keep == "hits" else None
        values = UnitValues(
            units=pool.units,
            x=np.stack([s.values for s in systems]),
            beside=np.stack([s.beside for s in systems]),
            base=truth.base,
            present=np.stack([s.hits.present for s in systems]),
            blank=blank,
        )
        return cls(
            systems=tuple(s.name for s in systems),
            tables=tuple(s.table for s in systems),
            orders=tuple(s.order for s in systems),
            ratings=Ratings.counted(pool, truth.asked.measures, list(blank)),
            lists=tuple(s.lists for s in systems),
            apart=tuple(s.apart for s in systems),
            values=values,
            found=found,
        )

    @classmethod
    def merged(cls, parts: Sequence[Measured], measures: Sequence[Measure]) -> Measured:
        """Those of all buckets: only now is known what concerns all units of the data set."""
        found = cls._joined(parts)
        return replace(found, values=found.per_unit.scaled(measures))

    def __add__(self, other: Measured) -> Measured:
        """Of two parts together, where only sums are kept."""
        return Measured._joined([self, other])

    @classmethod
    def _joined(cls, parts: Sequence[Measured]) -> Measured:
        first = parts[0]
        found = [p.found for p in parts if p.found is not None]
        return cls(
            systems=first.systems,
            tables=first.tables,
            orders=first.orders,
            ratings=Ratings.merged([p.ratings for p in parts]),
            lists=tuple(map(Lists.merged, zip(*(p.lists for p in parts), strict=True))),
            apart=tuple(map(_apart, zip(*(p.apart for p in parts), strict=True))),
            values=_values([p.values for p in parts]),
            found=Found.merged(found) if found else None,
        )


def _values(parts: Sequence[UnitValues | UnitSums]) -> UnitValues | UnitSums:
    sums = [p for p in parts if isinstance(p, UnitSums)]
    if sums:
        return UnitSums.merged(sums)
    return UnitValues.merged([p for p in parts if isinstance(p, UnitValues)])


def _apart(parts: Sequence[Apart]) -> Apart:
    """None as soon as somebody in some bucket is both listed and judged."""
    known = [p for p in parts if p is not None]
    if len(known) < len(parts):
        return None
    listed, judged = (pl.concat(ids).unique().sort().head(3) for ids in zip(*known, strict=True))
    return listed, judged
