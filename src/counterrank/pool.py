"""Judgments as arrays: units numbered by id, best rating first, no pair judged twice."""

from __future__ import annotations

import numpy as np
import polars as pl

from counterrank.arrays import Floats, Ints, joined, mapped, order_within, workers
from counterrank.core.faults import DataError, Fault
from counterrank.data.blocks import Blocks
from counterrank.data.ids import as_integers
from counterrank.hits import Pool
from counterrank.matching.hashjoin import pair_keys, repeated_rows
from counterrank.schema import Table


def pooled(table: Table) -> Pool:
    """The pool of a judgments table, made block by block.

    Units are numbered by id, so neither the order of rows nor of files changes anything.
    """
    blocks = Blocks.of(table.frame, ascending=True)
    rating = np.empty(table.frame.height)
    more = [name for name in table.frame.columns if name not in ("user", "item", "rating", "row")]

    def fill(cut: tuple[int, int]) -> tuple[pl.DataFrame, Ints]:
        """Write one block's ratings, best first; return the rest so, and rows that repeat one."""
        rows, first = blocks.rows(*cut), int(blocks.start[cut[0]])
        length = blocks.length[cut[0] : cut[1]]
        given = as_written(rows["rating"]).to_numpy().astype(float)
        by = order_within(length, _falling(given))
        rating[first : first + len(by)] = given[by]
        (key,) = pair_keys((length, as_integers(rows["item"])))
        return rows.select("item", *more)[by], repeated_rows(key, length) + first

    done = mapped(fill, blocks.cuts(), workers())
    none = table.frame.clear().select("item", *more)
    rest = pl.concat([none, *(part for part, _ in done)], rechunk=True)
    again = joined([rows for _, rows in done])
    if len(again):
        raise DataError(blocks.fault("judged twice", table.name, again))
    return Pool(
        units=blocks.names.alias("unit"),
        items=rest["item"],
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
    blocks = Blocks.of(table.frame, ascending=False)

    def again(cut: tuple[int, int]) -> Ints:
        length = blocks.length[cut[0] : cut[1]]
        (key,) = pair_keys((length, as_integers(blocks.rows(*cut)["item"])))
        return repeated_rows(key, length) + int(blocks.start[cut[0]])

    return blocks.fault(what, table.name, joined(mapped(again, blocks.cuts(), workers())))


def _falling(rating: Floats) -> Ints:
    """Whole numbers from 0 that fall as ratings rise."""
    if np.abs(rating).max() < 1 << 30:
        whole = rating.astype(np.int64)
        if np.array_equal(whole, rating):
            falling: Ints = whole.max() - whole
            return falling
    grades = np.unique(rating)
    return len(grades) - 1 - np.searchsorted(grades, rating)


def as_written(rating: pl.Series) -> pl.Series:
    """Single-precision 0.7 is 0.7, as it would be in a text file, not 0.699999988."""
    if rating.dtype != pl.Float32 or (rating == rating.round()).all():
        return rating
    return rating.cast(pl.String).cast(pl.Float64)
