"""Judgments as arrays: units numbered by id, best rating first, no pair judged twice."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.core.arrays import Bools, Floats, Ints, concat, falling_bits, order_lists, sum_by
from counterrank.core.faults import DataError, Fault
from counterrank.core.parallel import cached_property, map_threads, workers
from counterrank.data.blocks import Blocks
from counterrank.data.ids import as_codes, as_integers, number_text
from counterrank.data.schema import Table
from counterrank.matching.hashjoin import pair_keys, repeated_rows

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
    _cache: dict[Hashable, Floats] = field(default_factory=dict, init=False, compare=False)

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.units)

    @cached_property
    def coded(self) -> tuple[pl.Series, pl.Series]:
        """The items as integers, and ids that hold the codes: see `as_codes`."""
        return as_codes(self.items)

    @cached_property
    def unit(self) -> Ints:
        """The unit of each judgment."""
        return np.repeat(np.arange(self.n), self.size)

    @cached_property
    def start(self) -> Ints:
        """Where each unit's judgments begin."""
        return np.cumsum(self.size) - self.size

    @cached_property
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
        return self.cached((low, high), lambda: self.sum(inside))

    def cached(self, name: Hashable, compute: Callable[[], Floats]) -> Floats:
        """What many measures of many systems ask for, computed once."""
        if name not in self._cache:
            self._cache.setdefault(name, compute())
        return self._cache[name]

    def sum(self, worth: Callable[[Floats, Ints], npt.NDArray[Any]]) -> Floats:
        """Sum over each unit's judgments of ``worth(rating, rank)``.

        The rank is that in the unit's ideal list, from 1.
        """
        if len(self.rating) > 2 * BLOCK and len(self.parts) > 1:
            return np.concatenate([part.sum(worth) for _, _, part in self.parts])
        rank = np.arange(1, len(self.unit) + 1) - self.start[self.unit]
        return sum_by(self.unit, worth(self.rating, rank).astype(float, copy=False), self.n)

    @cached_property
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
            items=self.items.filter(pl.Series(kept)) if len(self.items) else self.items,
            size=np.bincount(self.unit[kept], minlength=self.n),
            rating=self.rating[kept],
            more=self.more.filter(pl.Series(kept)) if self.more.width else self.more,
        )

    def _part(self, begin: int, end: int) -> Pool:
        rows = slice(int(self.start[begin]), int(self.start[end - 1] + self.size[end - 1]))
        items, more = self.items[rows.start : rows.stop], self.more[rows]
        return Pool(
            self.units[begin:end], items, self.size[begin:end], self.rating[rows], self.top, more
        )


def make_pool(table: Table) -> Pool:
    """The pool of a judgments table, made block by block.

    Units are numbered by id, so neither the order of rows nor of files changes anything.
    """
    frame, names = table.frame, None
    if frame.height and frame.schema["item"] == pl.String:  # numbers are moved at less cost
        code, names = number_text(frame["item"])
        frame = frame.with_columns(pl.Series("item", code))
    blocks = Blocks.of(frame, ascending=True, whole=False)
    rating = np.empty(table.frame.height)
    more = [name for name in table.frame.columns if name not in ("user", "item", "rating", "row")]

    def fill(cut: tuple[int, int]) -> tuple[pl.DataFrame, Ints]:
        """Write one block's ratings, best first; return the rest so, and rows that repeat one."""
        rows, first = blocks.rows(*cut), int(blocks.start[cut[0]])
        length = blocks.length[cut[0] : cut[1]]
        given = as_written(rows["rating"]).to_numpy().astype(float)
        by = order_lists(falling_bits(given), length)
        rating[first : first + len(by)] = given[by]
        (key,) = pair_keys((length, as_integers(rows["item"])))
        rest = pl.DataFrame([rows[name] for name in ("item", *more)])[by]
        return rest, repeated_rows(key, length) + first

    done = map_threads(fill, blocks.cuts(), workers())
    none = frame.clear().select("item", *more)
    rest = pl.concat([none, *(part for part, _ in done)], rechunk=True)
    again = concat([rows for _, rows in done])
    if len(again):
        blocks = replace(blocks, frame=table.frame)
        raise DataError(blocks.fault("judged twice", table.name, again))
    return Pool(
        units=blocks.names.alias("unit"),
        items=rest["item"] if names is None else names.gather(rest["item"]),
        size=blocks.length,
        rating=rating,
        top=float(rating.max(initial=-np.inf)),
        more=rest.select(more),
    )


def greatest(table: Table) -> float:
    """The greatest rating of a judgments table; below every rating where there are none."""
    rating = as_written(table.frame.select(pl.col("rating").max())["rating"].drop_nulls())
    return float(rating[0]) if len(rating) else -np.inf


def repeated_pairs(table: Table, what: str) -> Fault:
    """The rows of a table in which a pair of user and item stands again."""
    blocks = Blocks.of(table.frame, ascending=False, whole=False)

    def again(cut: tuple[int, int]) -> Ints:
        length = blocks.length[cut[0] : cut[1]]
        (key,) = pair_keys((length, as_integers(blocks.rows(*cut)["item"])))
        return repeated_rows(key, length) + int(blocks.start[cut[0]])

    return blocks.fault(what, table.name, concat(map_threads(again, blocks.cuts(), workers())))


def as_written(rating: pl.Series) -> pl.Series:
    """Single-precision 0.7 is 0.7, as it would be in a text file, not 0.699999988."""
    if rating.dtype != pl.Float32 or (rating == rating.round()).all():
        return rating
    return rating.cast(pl.String).cast(pl.Float64)
