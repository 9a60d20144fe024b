"""Judgments and what each system found of them, put together from those of buckets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.arrays import Floats, Ints, joined, ranges, sort_order
from counterrank.hits import Hits, Pool
from counterrank.judged.measured import leave_out
from counterrank.judged.values import placed, spread
from counterrank.policies import Policies
from counterrank.ranking import Measure, values


@dataclass(frozen=True, eq=False)
class Found:
    """The judgments of some units, and the hits of each system."""

    pool: Pool
    hits: tuple[Hits, ...]

    @classmethod
    def merged(cls, parts: Sequence[Found]) -> Found:
        """Those of all buckets, in the order of the units' ids, as if there had been one."""
        if len(parts) == 1:
            return parts[0]
        pools = [p.pool for p in parts]
        units, place = placed([pool.units for pool in pools])
        size = spread([pool.size for pool in pools], place)
        start = np.cumsum(size) - size
        row = [ranges(start[where], pool.size) for pool, where in zip(pools, place, strict=True)]
        items = pl.concat([pool.items for pool in pools])
        pool = Pool(
            units=units,
            items=items.gather(np.argsort(joined(row), kind="stable")),
            size=size,
            rating=spread([pool.rating for pool in pools], row),
            top=max(pool.top for pool in pools),
        )
        own = zip(*(p.hits for p in parts), strict=True)
        return cls(pool, tuple(_hits(hits, place, row) for hits in own))


def again(found: Found, measure: Measure, policies: Policies) -> Floats:
    """One more measure (units x systems), which was not asked for before."""
    rows = []
    for hits in found.hits:
        x = values([measure], hits, found.pool)
        leave_out(x, hits.present, ~measure.defined(found.pool)[None], policies)
        rows.append(x[0])
    return np.stack(rows, axis=1)


def _hits(parts: Sequence[Hits], place: Sequence[Ints], row: Sequence[Ints]) -> Hits:
    """One system's hits in all buckets: units and judgments get the numbers of the whole."""
    both = list(zip(parts, place, row, strict=True))
    depth = spread([h.depth for h in parts], place)
    rank = joined([h.rank for h in parts])
    first, last = joined([h.first for h in parts]), joined([h.last for h in parts])
    tied = not (np.array_equal(first, rank) and np.array_equal(last, rank))
    hits = replace(
        parts[0],
        n=len(depth),
        unit=joined([where[h.unit] for h, where, _ in both]),
        rank=rank,
        judgment=joined([rows[h.judgment] for h, _, rows in both]),
        rating=np.concatenate([h.rating for h in parts]),
        first=first if tied else rank,
        last=last if tied else rank,
        depth=depth,
        present=depth > 0,
    )
    return hits.take(sort_order(hits.unit, hits.rank))
