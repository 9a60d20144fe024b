"""The arrays every judged measure is computed from: the pool and the hits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.arrays import Bools, Floats, Ints, summed

BLOCK = 1 << 16


@dataclass(frozen=True)
class Pool:
    """All judgments, sorted by unit and, within a unit, best rating first.

    ``units`` and ``items`` are the ids as given; ``unit`` is the position of a judgment's
    user in ``units``. ``top`` is the greatest rating of the whole data set.
    """

    units: pl.Series
    items: pl.Series
    unit: Ints
    rating: Floats
    top: float

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.units)

    @cached_property
    def _counts(self) -> dict[tuple[float, float], Floats]:
        return {}

    @cached_property
    def size(self) -> Ints:
        """Number of judgments of each unit."""
        return np.bincount(self.unit, minlength=self.n)

    @cached_property
    def start(self) -> Ints:
        """Where each unit's judgments begin."""
        return np.cumsum(self.size) - self.size

    def relevant(self, rel: float) -> Floats:
        r"""R_u: number of items rated ``rel`` or better."""
        return self._count(rel, np.inf)

    def nonrelevant(self, rel: float) -> Floats:
        r"""N_u: number of items judged and below ``rel``; negative means not judged."""
        return self._count(0, rel)

    def _count(self, low: float, high: float) -> Floats:
        """Number of ratings from ``low`` to below ``high``; kept, as many measures ask."""
        if (low, high) not in self._counts:
            self._counts[low, high] = self.sum(lambda rating, _: (rating >= low) & (rating < high))
        return self._counts[low, high]

    def sum(self, worth: Callable[[Floats, Ints], npt.NDArray[Any]]) -> Floats:
        """Sum over each unit's judgments of ``worth(rating, rank)``.

        The rank is that in the unit's ideal list, from 1. Blocks of units keep it in the cache.
        """
        out = np.empty(self.n)
        ends = self.start + self.size
        cuts = np.searchsorted(ends, np.arange(BLOCK, len(self.unit), BLOCK))
        for begin, end in pairwise(np.unique([0, *cuts, self.n]).tolist()):
            rows = slice(self.start[begin], ends[end - 1])
            unit = self.unit[rows] - begin
            rank = np.arange(rows.start + 1, rows.stop + 1) - self.start[begin:end][unit]
            x = worth(self.rating[rows], rank).astype(float, copy=False)
            out[begin:end] = summed(unit, x, end - begin)
        return out


@dataclass(frozen=True)
class Hits:
    """Items of one run that its users have judged, sorted by unit and rank.

    ``first`` and ``last`` are the ranks a hit could have had among items of the same score;
    without ties both equal ``rank``. ``depth`` is the length of each unit's list (its largest
    rank), ``present`` whether the unit has a list at all. ``expected`` says that measures take
    the mean over all orders of tied items instead of one of them.
    """

    n: int
    unit: Ints
    rank: Ints
    rating: Floats
    first: Ints
    last: Ints
    depth: Ints
    present: Bools
    expected: bool = False

    def sum(self, x: npt.ArrayLike) -> Floats:
        """Sum over each unit's hits."""
        return summed(self.unit, np.asarray(x, float), self.n)

    def above(self, flag: Bools) -> Ints:
        """For each hit, how many flagged hits of its unit stand above it."""
        upto = np.cumsum(flag)
        begins = np.flatnonzero(np.diff(self.unit, prepend=-1))
        length = np.diff(begins, append=len(self.unit))
        before: Ints = upto[begins] - flag[begins]
        return upto - flag - np.repeat(before, length)

    def take(self, order: npt.NDArray[np.int64] | Bools) -> Hits:
        """The hits selected or reordered; lists stay as they are."""
        return replace(
            self,
            unit=self.unit[order],
            rank=self.rank[order],
            rating=self.rating[order],
            first=self.first[order],
            last=self.last[order],
        )
