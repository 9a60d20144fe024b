"""A log as arrays: one impression is one item shown at one rank, and what came back.

All items at all ranks are counted in partitions, met by item and numbered once (`Catalogue`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
import polars as pl

from counterrank.core.arrays import (
    Bools,
    Floats,
    Ints,
    keep_freed_memory,
    ranges,
    renumber,
    sum_by,
    take_rows,
)
from counterrank.core.merge import by_key, padded
from counterrank.data.ids import code_rows, hash_ids, row_positions
from counterrank.engine.partitions import Partition
from counterrank.position.learn.curve import Influence
from counterrank.position.learn.request import LOG, LearnRequest

HASH = "hash"
GROUP = "group"
COUNTS = ("shown", "clicks", "rest", "positive")
DEEPEST = 2000  # beyond, the covariance of all ranks no longer fits well in memory


@dataclass(frozen=True)
class Impressions:
    """One entry per row. ``item`` is a code of context and item: what may differ in relevance.

    ``cluster`` is the user where one is logged, otherwise the session: what is independent.
    ``keys`` are context and item by their code, as whole numbers or text; ``swapped`` is the rank
    that was swapped with rank 1.
    """

    session: Ints
    cluster: Ints
    item: Ints
    rank: Ints
    reward: Floats
    viewed: Floats | None
    by: str
    keys: pl.DataFrame
    swapped: Ints | None = None

    @property
    def depth(self) -> int:
        """The deepest rank."""
        return int(self.rank.max(initial=0))

    def only(self, rows: Bools | Ints) -> Impressions:
        """Some of the rows."""
        names = ("session", "cluster", "item", "rank", "reward", "viewed", "swapped")
        return take_rows(self, rows, *names)

    @cached_property
    def cells(self) -> RankCells:
        """Which rows show one item at one rank; several steps look at them."""
        depth = self.depth + 1
        known, of = renumber(self.item * depth + self.rank)
        return RankCells(known // depth, known % depth, of)


@dataclass(frozen=True)
class RankCells:
    """One entry per item and rank at which it was shown; ``of`` is the cell of each row."""

    item: Ints
    rank: Ints
    of: Ints


def impressions(
    request: LearnRequest, frame: pl.DataFrame, sessions: str | None = None
) -> Impressions:
    """The arrays of a log that its schema has let pass; views and depth need no reward.

    Where users are logged, a session is one of its user: the same number elsewhere is another. A
    column ``sessions`` of numbers says otherwise what they are, and what is summed over.
    """
    keep_freed_memory()
    reward, swapped = request.reward, request.swapped
    by = "user" if "user" in frame.columns else "session"
    if sessions is not None:
        session = owner = frame[sessions].to_numpy()
    else:
        session, owner = (code_rows(frame.select(column)) for column in ("session", by))
        session = session if by == "session" else _within(session, owner)
    names = list(dict.fromkeys([*request.context, "item"]))  # an item may be its own context
    several = sessions is None or request.by_item  # influences by rank alone look at no item
    item = code_rows(frame.select(names)) if several else np.zeros(frame.height, np.int64)
    first = np.zeros(int(item.max(initial=-1)) + 1, np.int64)
    first[item[::-1]] = np.arange(frame.height)[::-1]
    named = [frame[name].gather(first).alias(f"key {n}") for n, name in enumerate(names)]
    return Impressions(
        session=session,
        cluster=owner,
        item=item,
        rank=frame["rank"].to_numpy().astype(np.int64, copy=False),
        reward=np.zeros(frame.height) if reward is None else frame[reward].to_numpy().astype(float),
        viewed=frame["viewed"].to_numpy() if "viewed" in frame.columns else None,
        by=by,
        keys=pl.DataFrame([x if x.dtype.is_integer() else x.cast(pl.String) for x in named]),
        swapped=None if swapped is None else frame[swapped].cast(pl.Int64).to_numpy(),
    )


def _within(session: Ints, user: Ints) -> Ints:
    """Sessions, each of one user; as they are where none has two users."""
    owner = np.zeros(int(session.max(initial=0)) + 1, np.int64)
    owner[session] = user
    if np.array_equal(owner[session], user):
        return session
    return renumber(session * (int(user.max()) + 1) + user)[1]


Groups = dict[str | None, Impressions]


def impressions_by_group(request: LearnRequest, part: Partition) -> Groups:
    """All rows of a partition (None), and those of each value that a curve is asked for."""
    return part.cached("impressions", lambda: grouped(request, part[LOG].frame))


def grouped(request: LearnRequest, frame: pl.DataFrame, sessions: str | None = None) -> Groups:
    """The same of a frame."""
    if request.ranks is not None:
        frame = frame.filter(pl.col("rank") <= request.ranks)
    data = impressions(request, frame, sessions)
    if request.by is None or not frame.height:
        return {None: data}
    text = frame[request.by].cast(pl.String)  # as models by context compare values
    code = code_rows(text.to_frame())
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(code[order]) > 0))
    rows = np.split(order, starts[1:])
    values = text.gather(order[starts]).to_list()
    return {None: data} | {v: data.only(at) for v, at in zip(values, rows, strict=True)}


@dataclass(frozen=True)
class RankStatistics:
    """Counts of a log; ``shown`` are rows at rank 1, 2, ..., ``sums`` what else a method adds up.

    ``low`` and ``high`` bound the rewards; ``viewed`` says whether views were logged.
    """

    by: str
    viewed: bool
    rows: int
    sessions: int
    clusters: int
    deepest: Annotated[int, max]
    low: Annotated[float, min]
    high: Annotated[float, max]
    shown: Annotated[Floats, padded]
    sums: Annotated[dict[str, Floats], by_key(padded)]

    @classmethod
    def of(cls, data: Impressions, sums: dict[str, Floats]) -> RankStatistics:
        """The counts of some rows."""
        clipped = np.minimum(data.rank, DEEPEST + 1)
        return cls(
            by=data.by,
            viewed=data.viewed is not None,
            rows=len(data.rank),
            sessions=len(renumber(data.session)[0]),
            clusters=len(renumber(data.cluster)[0]),
            deepest=data.depth,
            low=float(data.reward.min(initial=np.inf)),
            high=float(data.reward.max(initial=-np.inf)),
            shown=np.bincount(clipped, minlength=1)[1:].astype(float),
            sums=sums,
        )

    @property
    def scale(self) -> float:
        """What rewards are divided by to lie between 0 and 1."""
        return max(self.high, 1.0)


def counts(group: Ints, x: Floats | None = None) -> Floats:
    """Sum of ``x``, or number, at 0, 1, ...; a rank beyond the deepest is not looked at."""
    near = group <= DEEPEST
    if not near.all():
        group, x = group[near], None if x is None else x[near]
    return sum_by(group, np.ones(len(group)) if x is None else x, 1)


def count_cells(data: Impressions, group: str | None = None, most: float = 1.0) -> pl.DataFrame:
    """Rows, rewards and rewarded rows of each item at each rank, with what names the item.

    ``most`` bounds the rewards. They are cut at 26 binary digits into two parts, whose sums are
    exact and the same for all partitions: iterations that follow may hang on a last digit.
    """
    cell, n = data.cells, len(data.cells.item)
    step = 2.0 ** (np.ceil(np.log2(most)) - 26)
    clicks = np.round(data.reward / step) * step
    rest = np.round((data.reward - clicks) / (step * 2.0**-26)) * (step * 2.0**-26)
    sums = (np.ones(len(cell.of)), clicks, rest, (data.reward > 0).astype(float))
    return _named(data, group, cell.item, cell.rank).with_columns(
        pl.Series(name, sum_by(cell.of, x, n)) for name, x in zip(COUNTS, sums, strict=True)
    )


def first_and_last(data: Impressions, group: str | None = None) -> pl.DataFrame:
    """The highest and the lowest rank of each item: all that tells whether it moved."""
    cell = data.cells
    first = np.append(True, cell.item[1:] != cell.item[:-1])[: len(cell.item)]
    last = np.append(first[1:], True)[: len(cell.item)]
    ends = np.flatnonzero(first | last)
    nothing = np.zeros(len(ends))
    return _named(data, group, cell.item[ends], cell.rank[ends]).with_columns(
        pl.Series(name, nothing) for name in COUNTS
    )


def _named(data: Impressions, group: str | None, item: Ints, rank: Ints) -> pl.DataFrame:
    keys = data.keys
    spread = np.zeros(keys.height, np.uint64)
    for column in keys:
        spread = spread * np.uint64(31) + hash_ids(column)
    return keys.with_columns(pl.Series(HASH, spread))[item].with_columns(
        pl.lit(group, pl.String).alias(GROUP), pl.Series("rank", rank)
    )


def add_up(frame: pl.DataFrame) -> pl.DataFrame:
    """The cells of some items, added up over partitions."""
    by = [name for name in frame.columns if name not in COUNTS]
    return frame.group_by(by).agg(pl.col(name).sum() for name in COUNTS)


def as_they_are(frame: pl.DataFrame) -> pl.DataFrame:
    """The cells of some items that one partition has all of."""
    return frame


def by_group(frame: pl.DataFrame) -> dict[str | None, pl.DataFrame]:
    """The cells, or numbers of items, of each group, and of all (None)."""
    groups = {name: part for (name,), part in frame.partition_by(GROUP, as_dict=True).items()}
    if None in groups:
        return groups
    return {None: add_up(frame.with_columns(pl.lit(None, pl.String).alias(GROUP))), **groups}


def count_moved(frame: pl.DataFrame) -> pl.DataFrame:
    """How many items each group has, and how many of them moved; all rows have no group."""
    keys = [name for name in frame.columns if name not in (*COUNTS, GROUP, "rank")]
    alone = frame.with_columns(pl.lit(None, pl.String).alias(GROUP))
    items = pl.concat([alone, frame]).group_by(*keys, GROUP).agg(pl.col("rank").n_unique())
    return items.group_by(GROUP).agg(items=pl.len(), moved=(pl.col("rank") > 1).sum())


@dataclass(frozen=True)
class Catalogue:
    """One entry per item and rank, in order; ``items`` names the items by their number.

    The order comes from what items are called, so neither rows nor partitions change it. Rewards
    are divided by ``scale``.
    """

    items: pl.DataFrame
    item: Ints
    rank: Ints
    shown: Floats
    clicks: Floats
    positive: Floats
    scale: float

    @classmethod
    def of(cls, cells: pl.DataFrame, scale: float) -> Catalogue:
        """From the cells of one group, each there once."""
        keys = [name for name in cells.columns if name.startswith("key ")]
        cells = cells.sort(*keys, "rank")
        named = cells.select(keys)
        new = (named != named.shift(1)).select(pl.any_horizontal(pl.all().fill_null(True)))
        first = new.to_series().to_numpy()
        shown, clicks, rest, positive = (cells[name].to_numpy() for name in COUNTS)
        return cls(
            named.filter(first), np.cumsum(first) - 1, cells["rank"].to_numpy(), shown,
            (clicks + rest) / scale, positive, scale,
        )  # fmt: skip

    @property
    def depth(self) -> int:
        """The deepest rank."""
        return int(self.rank.max(initial=0))

    @property
    def ranks(self) -> Ints:
        """At how many ranks each item was shown."""
        return np.bincount(self.item, minlength=self.items.height)

    def moved(self) -> Catalogue:
        """Items that were shown at more than one rank: the rest cannot tell ranks apart."""
        return self.only(np.flatnonzero(self.ranks > 1))

    def only(self, items: Ints) -> Catalogue:
        """Some items, in order, numbered anew."""
        if len(items) == self.items.height:
            return self
        many = self.ranks
        at = ranges((np.cumsum(many) - many)[items], many[items])
        own = take_rows(self, at, "rank", "shown", "clicks", "positive")
        item = np.repeat(np.arange(len(items)), many[items])
        return replace(own, items=self.items[items], item=item)

    def per_rank(self, x: Floats) -> Floats:
        """Sum of ``x`` over the cells of each rank, from 1."""
        return sum_by(self.rank - 1, x, self.depth)

    def by_rank(self) -> tuple[Floats, Floats]:
        """Rows and rewards of each rank, from 1."""
        return self.per_rank(self.shown), self.per_rank(self.clicks)

    def per_item(self, x: Floats) -> Floats:
        """Sum of ``x`` over the cells of each item."""
        return sum_by(self.item, x, self.items.height)

    def rows_in(self, data: Impressions) -> ItemRows:
        """The rows of these items in a partition, and only what is known of their items."""
        cell = data.cells
        local, code = renumber(cell.item)
        number = row_positions(data.keys[local].cast(self.items.schema), self.items)
        here = np.unique(number[number >= 0])
        there = self.only(here)
        width = self.depth + 1
        wanted = np.searchsorted(here, number[code]) * width + cell.rank
        place = np.searchsorted(there.item * width + there.rank, wanted)
        known: Bools = (number >= 0)[code][cell.of]
        of = place[cell.of]
        if not known.all():
            data, of = data.only(known), of[known]
        return ItemRows(there, here, replace(data, reward=data.reward / self.scale), of)


@dataclass(frozen=True)
class ItemRows:
    """Rows and the items they show: ``number`` that of each item, ``of`` the cell of each row."""

    catalogue: Catalogue
    number: Ints
    data: Impressions
    of: Ints

    def influence(self, fitted: Floats, wide: Floats, direction: Floats) -> Influence:
        """Influences: what rows earned beyond ``fitted``, along the ``direction`` of their cell.

        ``wide`` is what residuals of each cell are multiplied by.
        """
        residual = (self.data.reward - fitted[self.of]) * wide[self.of]
        return Influence.of(self.data.cluster, self.of, residual, len(direction), direction)
