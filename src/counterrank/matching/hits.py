"""The hits of a run: its lists cut into blocks, aligned with the pool in threads, and merged."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.core.arrays import (
    AnyInts,
    Bools,
    Floats,
    Ints,
    concat,
    ranges,
    sort_order,
    sum_by,
    take_rows,
)
from counterrank.core.faults import Faults
from counterrank.core.parallel import cached_property, map_threads, workers
from counterrank.data.blocks import BLOCK_ROWS, Blocks
from counterrank.data.ids import TextRanks, as_codes, positions, unify_ids
from counterrank.data.schema import Table
from counterrank.matching.align import (
    BlockHits,
    ListBlock,
    MatchedBlock,
    align,
    in_rank_order,
    match_block,
)
from counterrank.matching.pool import Pool

A = TypeVar("A")
HIT = ("unit", "rank", "judgment", "rating")  # what every hit has


@dataclass(frozen=True)
class Hits:
    """Items of one run that its users have judged, sorted by unit and rank.

    ``judgment`` is the row of the whole pool a hit belongs to, ``rating`` what stands there.
    ``first`` and ``last`` are the ranks a hit could have had among items of the same score;
    without ties both equal ``rank``. ``depth`` is the length of each unit's list (its largest
    rank). ``expected`` says that measures take the mean over all orders of tied items instead of
    one of them.
    """

    n: int
    unit: Ints
    rank: Ints
    judgment: Ints
    rating: Floats
    first: Ints
    last: Ints
    depth: Ints
    expected: bool = False
    _cache: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False)

    @classmethod
    def join(
        cls,
        parts: Sequence[Hits | BlockHits],
        unit: Ints,
        judgment: Ints,
        rating: Floats,
        depth: Ints,
        expected: bool,
    ) -> Hits:
        """The hits of several parts as one: where no part has ties, all three ranks are one."""
        rank = concat([p.rank for p in parts])
        tied = any(p.first is not p.rank for p in parts)
        first = concat([p.first for p in parts]) if tied else rank
        last = concat([p.last for p in parts]) if tied else rank
        return cls(len(depth), unit, rank, judgment, rating, first, last, depth, expected)

    @property
    def present(self) -> Bools:
        """Whether a unit has a list at all."""
        return self.depth > 0

    def sum(self, x: npt.ArrayLike) -> Floats:
        """Sum over each unit's hits."""
        return sum_by(self.unit, np.asarray(x, float), self.n)

    def part(self, begin: int, end: int) -> Hits:
        """The lists of some units, numbered from 0."""
        low, high = np.searchsorted(self.unit, (begin, end))
        return replace(
            self.take(slice(low, high)),
            n=end - begin,
            unit=self.unit[low:high] - begin,
            depth=self.depth[begin:end],
        )

    def only(self, kept: Bools) -> Hits:
        """The hits among some of the judgments; what else is listed keeps its place."""
        own = self.take(np.flatnonzero(kept[self.judgment]))
        return replace(own, judgment=(np.cumsum(kept) - 1)[own.judgment])

    def cached(self, name: Hashable, compute: Callable[[], A]) -> A:
        """What several measures ask for, computed once."""
        if name not in self._cache:
            self._cache.setdefault(name, compute())
        found: A = self._cache[name]
        return found

    def within(self, k: int | None) -> Hits:
        """The hits among the first ``k`` items."""
        if k is None or self.deepest <= k:
            return self
        return self.cached(("within", k), lambda: self.take(self.rank <= k))

    @cached_property
    def deepest(self) -> int:
        """The largest rank of all hits."""
        return int(self.rank.max(initial=0))

    @cached_property
    def size(self) -> Ints:
        """Number of hits of each unit."""
        return np.bincount(self.unit, minlength=self.n)

    @cached_property
    def begin(self) -> Ints:
        """For each hit, where those of its unit begin."""
        start: Ints = np.cumsum(self.size) - self.size
        return start[self.unit]

    @cached_property
    def turn(self) -> Ints:
        """For each hit, how many hits of its unit stand above it."""
        return np.arange(len(self.unit)) - self.begin

    def above(self, flag: Bools) -> Ints:
        """For each hit, how many flagged hits of its unit stand above it."""
        before: Ints = np.cumsum(flag) - flag
        return before - before[self.begin]

    def take(self, order: Ints | Bools | slice) -> Hits:
        """The hits selected or reordered; lists stay as they are."""
        if self.first is not self.rank:
            return take_rows(self, order, *HIT, "first", "last")
        own = take_rows(self, order, *HIT)
        return replace(own, first=own.rank, last=own.rank)


def break_ties(hits: Hits, *, best: bool) -> Hits:
    """Tied hits moved to the top of their tied group, best rating first, or to its bottom."""
    group = np.cumsum(
        np.diff(hits.unit, prepend=-1).astype(bool) | np.diff(hits.first, prepend=-1).astype(bool)
    )
    by = np.lexsort((-hits.rating if best else hits.rating, group))
    sizes = np.bincount(group)[group]
    begins = np.searchsorted(group, group)
    place = np.arange(len(group)) - begins
    rank = hits.first + place if best else hits.last - sizes + 1 + place
    moved = replace(hits.take(by), rank=rank, expected=False)
    return moved.take(sort_order(moved.unit, moved.rank))


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


def find_hits(
    run: Table,
    pool: Pool,
    *,
    ties: str = "id",
    duplicates: str = "error",
    limit: int | None = None,
    threads: int = 0,
    rows: int = BLOCK_ROWS,
) -> tuple[Hits, Coverage]:
    """The hits of one run, units in the order of the pool, and who was covered.

    ``rows`` is the size of a block.
    """
    lists = _Lists.of(run, pool)
    cuts = lists.cuts(rows)
    parts = map_threads(
        lambda cut: align(lists.block(*cut), ties=ties, limit=limit), cuts, threads or workers()
    )
    _refuse_faults(lists, cuts, [(p.duplicates, p.repeated) for p in parts], duplicates)
    known = lists.unit >= 0
    depth = np.zeros(pool.n, np.int64)
    depth[lists.unit[known]] = concat([part.depth for part in parts])[known]
    both = list(zip(cuts, parts, strict=True))
    unit = concat([lists.unit[begin + part.list] for (begin, _), part in both])
    judgment = concat([_of(lists.judgments(*cut), part.judgment) for cut, part in both])
    hits = Hits.join(parts, unit, judgment, pool.rating[judgment], depth, ties == "expected")
    if np.any(unit[1:] < unit[:-1]):
        hits = hits.take(sort_order(unit, hits.rank))
    return hits, lists.coverage(sum(len(part.duplicates) for part in parts))


@dataclass(frozen=True)
class Part:
    """One block of whole lists: its rows with their ranks, and what the pool knows of them.

    ``unit`` is that of each list (-1: not in the pool), ``judgment`` the row of the whole pool for
    each of ``match.row``; ``frame`` holds the columns of the run.
    """

    match: MatchedBlock
    unit: Ints
    judgment: Ints
    frame: pl.DataFrame

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column of the run for the rows of ``match``."""
        values = self.frame[name].to_numpy()
        return values if self.match.selected is None else values[self.match.selected]


def map_lists(
    run: Table,
    pool: Pool,
    work: Callable[[Part], A],
    *,
    ties: str = "id",
    duplicates: str = "error",
) -> tuple[list[A], Coverage]:
    """``work`` on every block of a run's lists, where all rows are needed and not only hits."""
    lists = _Lists.of(run, pool)
    cuts = lists.cuts(BLOCK_ROWS)

    def one(cut: tuple[int, int]) -> tuple[A, tuple[Ints, Ints]]:
        part = lists.part(*cut, ties)
        return work(part), (part.match.duplicates, part.match.repeated)

    done = map_threads(one, cuts, workers())
    _refuse_faults(lists, cuts, [faults for _, faults in done], duplicates)
    return [found for found, _ in done], lists.coverage(sum(len(f[0]) for _, f in done))


@dataclass(frozen=True)
class _Lists:
    """A run's lists beside the judgments. ``unit`` is -1 for users without judgments.

    ``table`` has the ids, ``blocks`` have items as integers, and ``items`` are those there are.
    """

    table: Table
    blocks: Blocks
    pool: Pool
    judged: AnyInts
    unit: Ints
    items: pl.Series

    @classmethod
    def of(cls, run: Table, pool: Pool) -> _Lists:
        listed, users = unify_ids([run.frame["user"], pool.units])
        item, judged = unify_ids([run.frame["item"], pool.items])
        frame = run.frame.with_columns(listed, item)
        code, items = as_codes(item)
        blocks = Blocks.of(frame.with_columns(code), ascending=False, whole=False)
        coded = pool.coded[0] if judged is pool.items else as_codes(judged)[0]
        unit = positions(blocks.names, users)
        return cls(replace(run, frame=frame), blocks, pool, coded.to_numpy(), unit, items)

    def cuts(self, rows: int) -> list[tuple[int, int]]:
        """First and last list of each block; judgments count as rows."""
        return list(self.blocks.cuts(rows, self.judged_of(self.unit)))

    def part(self, begin: int, end: int, ties: str) -> Part:
        """Lists ``begin`` to ``end``, best first, and looked up."""
        found = in_rank_order(match_block(self.block(begin, end), ties=ties))
        judgment = _of(self.judgments(begin, end), found.judgment)
        return Part(found, self.unit[begin:end], judgment, self.blocks.rows(begin, end))

    def coverage(self, duplicates: int) -> Coverage:
        """Who has judgments, lists, or both."""
        known = int((self.unit >= 0).sum())
        return Coverage(
            judged_users=self.pool.n,
            covered_users=known,
            unjudged_users=len(self.unit) - known,
            rows=self.table.frame.height,
            duplicates=duplicates,
        )

    def block(self, begin: int, end: int) -> ListBlock:
        """Lists ``begin`` to ``end`` with the judgments of their users."""
        rows = self.blocks.rows(begin, end)
        unit = self.unit[begin:end]
        column = rows[self.table.order].to_numpy()
        return ListBlock(
            length=self.blocks.length[begin:end],
            item=rows["item"].to_numpy(),
            rank=column if self.table.order == "rank" else None,
            score=column if self.table.order == "score" else None,
            text_rank=lambda: self.text_ranks.ranks(rows["item"].to_numpy()),
            judged=self.judged_of(unit),
            judged_item=self.judged[self.judgments(begin, end)],
        )

    @cached_property
    def text_ranks(self) -> TextRanks:
        """The order of items whose scores tie."""
        return TextRanks.of(self.items)

    def judged_of(self, unit: Ints) -> Ints:
        """Number of judgments of the users of some lists."""
        known = unit >= 0
        judged = np.zeros(len(unit), np.int64)
        judged[known] = self.pool.size[unit[known]]
        return judged

    def judgments(self, begin: int, end: int) -> Ints | slice:
        """The judgments of the users of lists ``begin`` to ``end``, as rows of the pool.

        Where they stand one after the other, without a copy.
        """
        unit = self.unit[begin:end]
        known = unit[unit >= 0]
        start, size = self.pool.start[known], self.pool.size[known]
        if len(start) and np.array_equal(start[1:], start[:-1] + size[:-1]):
            return slice(int(start[0]), int(start[-1] + size[-1]))
        return ranges(start, size)


def _of(rows: Ints | slice, place: Ints) -> Ints:
    """Some of the rows."""
    return place + rows.start if isinstance(rows, slice) else rows[place]


def _refuse_faults(
    lists: _Lists,
    cuts: list[tuple[int, int]],
    faults: list[tuple[Ints, Ints]],
    duplicates: str,
) -> None:
    """The checks that need a list's rows together: repeated items, repeated ranks."""
    first = [int(lists.blocks.start[begin]) for begin, _ in cuts]
    blocks = replace(lists.blocks, frame=lists.table.frame)
    again, ranks = (
        concat([found[kind] + at for found, at in zip(faults, first, strict=True)])
        for kind in (0, 1)
    )
    name, files = lists.table.name, len(lists.table.source.files)
    found = (
        blocks.fault("item twice in list", name, again, files=files),
        blocks.fault("rank twice in list", name, ranks, column="rank"),
    )
    Faults(found).refuse(allowed=() if duplicates == "error" else ("item twice in list",))
