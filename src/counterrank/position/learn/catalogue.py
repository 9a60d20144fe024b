"""All items of a log at all ranks: counted in partitions, met by item, numbered once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.core.arrays import Bools, Floats, Ints, ranges, renumber, sum_by
from counterrank.data.ids import hash_ids, row_positions
from counterrank.position.learn.curve import InfluenceSpread, spread_along
from counterrank.position.learn.impressions import Impressions

HASH = "hash"
GROUP = "group"
COUNTS = ("shown", "clicks", "rest", "positive")


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


def count_items(frame: pl.DataFrame) -> pl.DataFrame:
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
        return Catalogue(
            self.items[items], np.repeat(np.arange(len(items)), many[items]), self.rank[at],
            self.shown[at], self.clicks[at], self.positive[at], self.scale,
        )  # fmt: skip

    def per_rank(self, x: Floats) -> Floats:
        """Sum of ``x`` over the cells of each rank, from 1."""
        return sum_by(self.rank - 1, x, self.depth)

    def by_rank(self) -> tuple[Floats, Floats]:
        """Rows and rewards of each rank, from 1."""
        return self.per_rank(self.shown), self.per_rank(self.clicks)

    def per_item(self, x: Floats) -> Floats:
        """Sum of ``x`` over the cells of each item."""
        return sum_by(self.item, x, self.items.height)

    def beside(self, data: Impressions) -> Beside:
        """The rows of these items in a partition, and only what is known of their items."""
        cell = data.cells
        local, code = renumber(cell.item)
        number = row_positions(data.keys[local], self.items)
        here = np.unique(number[number >= 0])
        there = self.only(here)
        width = self.depth + 1
        wanted = np.searchsorted(here, number[code]) * width + cell.rank
        place = np.searchsorted(there.item * width + there.rank, wanted)
        known: Bools = (number >= 0)[code][cell.of]
        of = place[cell.of]
        if not known.all():
            data, of = data.only(known), of[known]
        return Beside(there, here, replace(data, reward=data.reward / self.scale), of)


@dataclass(frozen=True)
class Beside:
    """Rows and the items they show: ``number`` that of each item, ``of`` the cell of each row."""

    catalogue: Catalogue
    number: Ints
    data: Impressions
    of: Ints

    def spread(self, fitted: Floats, wide: Floats, direction: Floats) -> InfluenceSpread:
        """Influences: what rows earned beyond ``fitted``, along the ``direction`` of their cell.

        ``wide`` is what residuals of each cell are multiplied by.
        """
        residual = (self.data.reward - fitted[self.of]) * wide[self.of]
        return spread_along(self.data.cluster, self.of, residual, direction)


def cells_by_group(cells: pl.DataFrame) -> dict[str | None, pl.DataFrame]:
    """The cells of each group, and of all (None)."""
    groups = {name: part for (name,), part in cells.partition_by(GROUP, as_dict=True).items()}
    if None in groups:
        return groups
    return {None: add_up(cells.with_columns(pl.lit(None, pl.String).alias(GROUP))), **groups}


def keep_cells(cells: pl.DataFrame) -> pl.DataFrame:
    """Cells that were brought together already."""
    return cells
