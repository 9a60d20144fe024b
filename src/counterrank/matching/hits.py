"""The arrays every judged measure is computed from: the pool and the hits."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import astuple, dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.core.arrays import Bools, Floats, Ints, summed
from counterrank.core.cached import once

A = TypeVar("A")

BLOCK = 1 << 16


@dataclass(frozen=True)
class Pool:
    """All judgments, sorted by unit and, within a unit, best rating first.

    ``units`` and ``items`` are the ids as given; ``size`` is the number of judgments of each
    unit. ``top`` is the greatest rating of the whole data set. ``more`` holds further columns of
    the judgments, where they were asked for.
    """

    units: pl.Series
    items: pl.Series
    size: Ints
    rating: Floats
    top: float
    more: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.units)

    @once
    def _kept(self) -> dict[Hashable, Floats]:
        return {}

    @once
    def unit(self) -> Ints:
        """The unit of each judgment."""
        return np.repeat(np.arange(self.n), self.size)

    @once
    def start(self) -> Ints:
        """Where each unit's judgments begin."""
        return np.cumsum(self.size) - self.size

    @once
    def best(self) -> Floats:
        """The greatest rating of each unit; below every rating where nothing is judged."""
        best = np.full(self.n, -np.inf)
        some = self.size > 0
        best[some] = self.rating[self.start[some]]
        return best

    def relevant(self, rel: float) -> Floats:
        r"""R_u: number of items rated ``rel`` or better."""
        return self._count(rel, np.inf)

    def nonrelevant(self, rel: float) -> Floats:
        r"""N_u: number of items judged and below ``rel``; negative means not judged."""
        return self._count(0, rel)

    def _count(self, low: float, high: float) -> Floats:
        """Number of ratings from ``low`` to below ``high``."""
        if len(self.parts) > 1:
            return np.concatenate([part._count(low, high) for _, _, part in self.parts])
        inside = lambda rating, _: (rating >= low) & (rating < high)  # noqa: E731
        return self.kept((low, high), lambda: self.sum(inside))

    def kept(self, name: Hashable, compute: Callable[[], Floats]) -> Floats:
        """What many measures of many systems ask for, computed once."""
        if name not in self._kept:
            self._kept.setdefault(name, compute())
        return self._kept[name]

    def sum(self, worth: Callable[[Floats, Ints], npt.NDArray[Any]]) -> Floats:
        """Sum over each unit's judgments of ``worth(rating, rank)``.

        The rank is that in the unit's ideal list, from 1.
        """
        if len(self.rating) > 2 * BLOCK and len(self.parts) > 1:
            return np.concatenate([part.sum(worth) for _, _, part in self.parts])
        rank = np.arange(1, len(self.unit) + 1) - self.start[self.unit]
        return summed(self.unit, worth(self.rating, rank).astype(float, copy=False), self.n)

    @once
    def parts(self) -> list[tuple[int, int, Pool]]:
        """The pool in parts of whole units that fit a cache: first unit, last unit, part."""
        ends = self.start + self.size
        cuts = np.searchsorted(ends, np.arange(BLOCK, len(self.rating), BLOCK))
        bounds = sorted({0, *cuts.tolist(), self.n})
        return [(begin, end, self._part(begin, end)) for begin, end in pairwise(bounds)]

    def only(self, kept: Bools) -> Pool:
        """Some of the judgments: what a stratum or a sample holds. Units stay as they are."""
        return replace(
            self,
            items=self.items.filter(pl.Series(kept)),
            size=np.bincount(self.unit[kept], minlength=self.n),
            rating=self.rating[kept],
            more=self.more.filter(pl.Series(kept)) if self.more.width else self.more,
        )

    def _part(self, begin: int, end: int) -> Pool:
        rows = slice(int(self.start[begin]), int(self.start[end - 1] + self.size[end - 1]))
        return Pool(
            units=self.units[begin:end],
            items=self.items[rows.start : rows.stop],
            size=self.size[begin:end],
            rating=self.rating[rows],
            top=self.top,
            more=self.more[rows],
        )


@dataclass(frozen=True)
class Hits:
    """Items of one run that its users have judged, sorted by unit and rank.

    ``judgment`` is the row of the whole pool a hit belongs to, ``rating`` what stands there.
    ``first`` and ``last`` are the ranks a hit could have had among items of the same score;
    without ties both equal ``rank``. ``depth`` is the length of each unit's list (its largest
    rank), ``present`` whether the unit has a list at all. ``expected`` says that measures take
    the mean over all orders of tied items instead of one of them.
    """

    n: int
    unit: Ints
    rank: Ints
    judgment: Ints
    rating: Floats
    first: Ints
    last: Ints
    depth: Ints
    present: Bools
    expected: bool = False

    def sum(self, x: npt.ArrayLike) -> Floats:
        """Sum over each unit's hits."""
        return summed(self.unit, np.asarray(x, float), self.n)

    def part(self, begin: int, end: int) -> Hits:
        """The lists of some units, numbered from 0."""
        low, high = np.searchsorted(self.unit, (begin, end))
        return replace(
            self.take(slice(low, high)),
            n=end - begin,
            unit=self.unit[low:high] - begin,
            depth=self.depth[begin:end],
            present=self.present[begin:end],
        )

    def only(self, kept: Bools) -> Hits:
        """The hits among some of the judgments; what else is listed keeps its place."""
        own = self.take(np.flatnonzero(kept[self.judgment]))
        return replace(own, judgment=(np.cumsum(kept) - 1)[own.judgment])

    @once
    def _kept(self) -> dict[Hashable, Any]:
        return {}

    def kept(self, name: Hashable, compute: Callable[[], A]) -> A:
        """What several measures ask for, computed once."""
        if name not in self._kept:
            self._kept.setdefault(name, compute())
        found: A = self._kept[name]
        return found

    def within(self, k: int | None) -> Hits:
        """The hits among the first ``k`` items."""
        if k is None or self.deepest <= k:
            return self
        return self.kept(("within", k), lambda: self.take(self.rank <= k))

    @once
    def deepest(self) -> int:
        """The largest rank of all hits."""
        return int(self.rank.max(initial=0))

    @once
    def size(self) -> Ints:
        """Number of hits of each unit."""
        return np.bincount(self.unit, minlength=self.n)

    @once
    def begin(self) -> Ints:
        """For each hit, where those of its unit begin."""
        start: Ints = np.cumsum(self.size) - self.size
        return start[self.unit]

    @once
    def turn(self) -> Ints:
        """For each hit, how many hits of its unit stand above it."""
        return np.arange(len(self.unit)) - self.begin

    def above(self, flag: Bools) -> Ints:
        """For each hit, how many flagged hits of its unit stand above it."""
        before: Ints = np.cumsum(flag) - flag
        return before - before[self.begin]

    def take(self, order: Ints | Bools | slice) -> Hits:
        """The hits selected or reordered; lists stay as they are."""
        rank = self.rank[order]
        tied = self.first is not self.rank
        return replace(
            self,
            unit=self.unit[order],
            rank=rank,
            judgment=self.judgment[order],
            rating=self.rating[order],
            first=self.first[order] if tied else rank,
            last=self.last[order] if tied else rank,
        )


@dataclass(frozen=True)
class Coverage:
    """Counts of one run against the judgments.

    ``covered_users`` have judgments and a list; ``unjudged_users`` have a list only.
    """

    judged_users: int
    covered_users: int
    unjudged_users: int
    rows: int
    duplicates: int

    @property
    def missing_users(self) -> int:
        """Judged users without a list."""
        return self.judged_users - self.covered_users

    @classmethod
    def merged(cls, parts: Iterable[Coverage]) -> Coverage:
        """That of all buckets: no user is in two of them."""
        return cls(*(sum(column) for column in zip(*map(astuple, parts), strict=True)))
