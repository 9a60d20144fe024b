"""What diagnoses ask of judgments and of lists: counts and sums, which add up over buckets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from counterrank.arrays import Bools, Floats
from counterrank.core.merge import first
from counterrank.coverage import Coverage
from counterrank.hits import Hits, Pool
from counterrank.ranking import Binary, Measure


@dataclass(frozen=True)
class Ratings:
    """Of the judgments of ``users``.

    ``judged`` are rated 0 or more, ``relevant`` at least as high as the mildest threshold ``rel``
    of the binary measures (None: there are none). ``blank`` counts, for each measure, users with
    nothing to find.
    """

    users: int
    judged: int
    relevant: int
    rel: Annotated[float | None, first]
    low: Annotated[float, min]
    top: Annotated[float, max]
    blank: tuple[int, ...]

    @classmethod
    def of(cls, pool: Pool, measures: Sequence[Measure]) -> Ratings:
        """Those of a pool."""
        return cls.counted(pool, measures, [~m.defined(pool) for m in measures])

    @classmethod
    def counted(cls, pool: Pool, measures: Sequence[Measure], blank: Sequence[Bools]) -> Ratings:
        """Those of a pool of which it is known for whom there is nothing to find."""
        rel = min((m.rel for m in measures if isinstance(m, Binary)), default=None)
        return cls(
            users=pool.n,
            judged=int(np.count_nonzero(pool.rating >= 0)),
            relevant=0 if rel is None else int(np.count_nonzero(pool.rating >= rel)),
            rel=rel,
            low=float(pool.rating.min(initial=np.inf)),
            top=pool.top,
            blank=tuple(int(np.count_nonzero(x)) for x in blank),
        )

    @classmethod
    def merged(cls, parts: Sequence[Ratings]) -> Ratings:
        """Those of all buckets."""
        return cls(
            users=sum(p.users for p in parts),
            judged=sum(p.judged for p in parts),
            relevant=sum(p.relevant for p in parts),
            rel=parts[0].rel,
            low=min(p.low for p in parts),
            top=max(p.top for p in parts),
            blank=tuple(sum(x) for x in zip(*(p.blank for p in parts), strict=True)),
        )


@dataclass(frozen=True)
class Lists:
    """Of one system's lists.

    ``short`` are those of judged users with fewer items than the largest cut-off, ``hits`` the
    judged items listed, ``tied`` those whose score ties. ``brackets`` are sums of each measure's
    columns with ties broken for the worst and for the best (measures x 2 x columns, and the
    number of units at last), where hits are not kept.
    """

    coverage: Coverage
    short: int
    hits: int
    tied: int
    brackets: Floats | None = None

    @classmethod
    def of(cls, hits: Hits, seen: Coverage, k: int | None) -> Lists:
        """Those of one run; ``k`` is the largest cut-off."""
        apart = hits.first is not hits.rank
        return cls(
            coverage=seen,
            short=0 if k is None else int(np.count_nonzero(hits.depth[hits.present] < k)),
            hits=len(hits.rank),
            tied=int(np.count_nonzero(hits.last > hits.first)) if apart else 0,
        )

    @property
    def tied_share(self) -> float:
        """Share of the hits whose score ties with another item's."""
        return self.tied / self.hits if self.hits else 0.0

    @classmethod
    def merged(cls, parts: Sequence[Lists]) -> Lists:
        """Those of all buckets."""
        sums = [p.brackets for p in parts if p.brackets is not None]
        return cls(
            coverage=Coverage.merged(p.coverage for p in parts),
            short=sum(p.short for p in parts),
            hits=sum(p.hits for p in parts),
            tied=sum(p.tied for p in parts),
            brackets=np.sum(sums, axis=0) if sums else None,
        )
