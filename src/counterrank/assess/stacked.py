"""All systems as one: the units of the first, then those of the second, and so on.

A measure is computed once for many systems instead of once for each, which matters where the data
are small and reduced thousands of times.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from counterrank.arrays import Floats, Ints
from counterrank.hits import Hits, Pool


@dataclass(frozen=True)
class RepeatedPool(Pool):
    """One pool as several systems meet it: what it says of its units, once for each system."""

    one: Pool = field(kw_only=True)
    times: int = field(kw_only=True)

    @classmethod
    def of(cls, pool: Pool, times: int) -> RepeatedPool:
        """The pool for so many systems; what it has counted already is not counted again."""
        return cls(pool.units, pool.items, pool.size, pool.rating, pool.top, one=pool, times=times)

    @property
    def n(self) -> int:
        """Number of units of all systems."""
        return self.times * self.one.n

    @cached_property
    def best(self) -> Floats:
        """The greatest rating of each unit."""
        return np.tile(self.one.best, self.times)

    def kept(self, name: Hashable, compute: Callable[[], Floats]) -> Floats:
        """Kept by the pool itself, as it says the same for each system; so parts share it."""
        first = self.one.kept(name, lambda: compute()[: self.one.n])
        return super().kept(name, lambda: np.tile(first, self.times))

    def _count(self, low: float, high: float) -> Floats:
        return super().kept((low, high), lambda: np.tile(self.one._count(low, high), self.times))

    def sum(self, worth: Callable[[Floats, Ints], npt.NDArray[Any]]) -> Floats:
        """Sum over each unit's judgments of ``worth(rating, rank)``."""
        return np.tile(self.one.sum(worth), self.times)


def stack(hits: Sequence[Hits]) -> Hits:
    """The hits of several systems; unit u of system s becomes u + s n."""
    n = hits[0].n
    rank = np.concatenate([h.rank for h in hits])
    tied = any(h.first is not h.rank for h in hits)
    return Hits(
        n=n * len(hits),
        unit=np.concatenate([h.unit + n * s for s, h in enumerate(hits)]),
        rank=rank,
        judgment=np.concatenate([h.judgment for h in hits]),
        rating=np.concatenate([h.rating for h in hits]),
        first=np.concatenate([h.first for h in hits]) if tied else rank,
        last=np.concatenate([h.last for h in hits]) if tied else rank,
        depth=np.concatenate([h.depth for h in hits]),
        present=np.concatenate([h.present for h in hits]),
        expected=hits[0].expected,
    )
