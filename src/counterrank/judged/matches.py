"""Judgments and what each system found of them, put together from those of partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.core.arrays import Ints, joined, ranges, sort_order
from counterrank.data.ids import argsort_ids
from counterrank.matching.hits import Hits, Pool

D = TypeVar("D", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Matches:
    """The judgments of some units, and the hits of each system, in the systems' order."""

    pool: Pool
    hits: tuple[Hits, ...]

    @classmethod
    def of(cls, pool: Pool, hits: Sequence[Hits | None]) -> Matches | None:
        """Those of one partition, where hits were asked for."""
        there = tuple(own for own in hits if own is not None)
        return cls(pool, there) if there else None

    @classmethod
    def merge(cls, parts: Sequence[Matches]) -> Matches:
        """Those of all partitions, in the order of the units' ids, as if there had been one."""
        pools = [part.pool for part in parts]
        units, place = place_units([pool.units for pool in pools])
        size = merge_columns([pool.size for pool in pools], place)
        start = np.cumsum(size) - size
        row = [ranges(start[where], pool.size) for pool, where in zip(pools, place, strict=True)]
        items = pl.concat([pool.items for pool in pools])
        pool = Pool(
            units=units,
            items=items.gather(np.argsort(joined(row), kind="stable")),
            size=size,
            rating=merge_columns([pool.rating for pool in pools], row),
            top=max(pool.top for pool in pools),
        )
        by_system = zip(*(part.hits for part in parts), strict=True)
        return cls(pool, tuple(_merge_hits(hits, place, row) for hits in by_system))


def _merge_hits(parts: Sequence[Hits], place: Sequence[Ints], row: Sequence[Ints]) -> Hits:
    """One system's hits in all partitions: units and judgments get the numbers of the whole."""
    numbered = list(zip(parts, place, row, strict=True))
    depth = merge_columns([h.depth for h in parts], place)
    rank = joined([h.rank for h in parts])
    first, last = joined([h.first for h in parts]), joined([h.last for h in parts])
    tied = not (np.array_equal(first, rank) and np.array_equal(last, rank))
    hits = replace(
        parts[0],
        n=len(depth),
        unit=joined([where[h.unit] for h, where, _ in numbered]),
        rank=rank,
        judgment=joined([rows[h.judgment] for h, _, rows in numbered]),
        rating=np.concatenate([h.rating for h in parts]),
        first=first if tied else rank,
        last=last if tied else rank,
        depth=depth,
        present=depth > 0,
    )
    return hits.take(sort_order(hits.unit, hits.rank))


def place_units(units: Sequence[pl.Series]) -> tuple[pl.Series, list[Ints]]:
    """All units by id, as in one table, and the places there of each part's."""
    every = pl.concat(list(units))
    by = argsort_ids(every)
    place = np.empty(len(by), np.int64)
    place[by] = np.arange(len(by))
    cuts = np.cumsum([len(part) for part in units])[:-1]
    return every.gather(by), np.split(place, cuts)


def merge_columns(parts: Sequence[npt.NDArray[D]], place: Sequence[Ints]) -> npt.NDArray[D]:
    """Columns of parts (last axis: units), each unit at its place."""
    out = np.empty((*parts[0].shape[:-1], sum(map(len, place))), parts[0].dtype)
    for part, where in zip(parts, place, strict=True):
        out[..., where] = part
    return out
