"""Judgments as arrays: units numbered by id, best rating first, no pair judged twice."""

from __future__ import annotations

import numpy as np
import polars as pl

from counterrank.arrays import Ints, mapped, sort_order, workers
from counterrank.blocks import Blocks, item_numbers
from counterrank.errors import InputError
from counterrank.hits import Pool
from counterrank.pairs import keyed, repeats
from counterrank.schema import Table


def pooled(table: Table) -> Pool:
    """The pool of a judgments table, made block by block.

    Units are numbered by id, so neither the order of rows nor of files changes anything.
    """
    blocks = Blocks.of(table.frame, ascending=True)
    unit = np.repeat(np.arange(len(blocks.length)), blocks.length)
    rating = np.empty(len(unit))
    order = np.empty(len(unit), np.int64)

    def fill(cut: tuple[int, int]) -> Ints:
        """Write one block's ratings, best first; return the rows that judge a pair again."""
        rows, first = blocks.rows(*cut), int(blocks.start[cut[0]])
        here = slice(first, first + rows.height)
        own = unit[here] - cut[0]
        given = _as_written(rows["rating"]).to_numpy().astype(float)
        grades = np.unique(given)
        by = sort_order(own, len(grades) - 1 - np.searchsorted(grades, given))
        rating[here], order[here] = given[by], by + first
        length = blocks.length[cut[0] : cut[1]]
        (key,) = keyed(len(length), (own, item_numbers(rows["item"])))
        return repeats(key, length) + first

    again = np.concatenate(mapped(fill, blocks.cuts(), workers()))
    if len(again):
        raise InputError(
            f'"{table.name}" judges an item more than once for the same user.',
            found=f"Found {len(again):,} such rows (first: {blocks.caller_row(int(again.min()))}).",
            todo="Keep one judgment per user and item: the newest, or the best.",
        )
    return Pool(
        units=blocks.names.alias("unit"),
        items=blocks.frame["item"].gather(order),
        unit=unit,
        rating=rating,
        top=float(rating.max()),
    )


def _as_written(rating: pl.Series) -> pl.Series:
    """Single-precision 0.7 is 0.7, as it would be in a text file, not 0.699999988."""
    if rating.dtype != pl.Float32 or (rating == rating.round()).all():
        return rating
    return rating.cast(pl.String).cast(pl.Float64)
