"""A log as arrays, and its cells: how often each item was shown and clicked at each rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.arrays import Bools, Floats, Ints, codes, renumbered, summed


@dataclass(frozen=True)
class Rows:
    """One entry per row. ``item`` is a code of context and item: what may differ in relevance.

    ``cluster`` is the user where one is logged, otherwise the session: what is independent.
    """

    session: Ints
    cluster: Ints
    item: Ints
    rank: Ints
    reward: Floats
    viewed: Floats | None
    by: str

    @property
    def depth(self) -> int:
        """The deepest rank."""
        return int(self.rank.max(initial=0))

    @property
    def clusters(self) -> int:
        """Number of clusters; their codes need not all occur after a filter."""
        return len(renumbered(self.cluster)[0])

    def only(self, keep: Bools) -> Rows:
        """The rows that are kept."""
        viewed = None if self.viewed is None else self.viewed[keep]
        return replace(
            self, session=self.session[keep], cluster=self.cluster[keep], item=self.item[keep],
            rank=self.rank[keep], reward=self.reward[keep], viewed=viewed,
        )  # fmt: skip

    def per_rank(self, x: Floats | None = None) -> Floats:
        """Sum of ``x``, or number of rows, at ranks 1, 2, ... to the deepest."""
        ones = np.ones(len(self.rank)) if x is None else x
        return summed(self.rank - 1, ones, self.depth)


def rows(frame: pl.DataFrame, *, reward: str | None, context: Sequence[str] = ()) -> Rows:
    """The arrays of a log that has passed the door; views and depth need no reward."""
    by = "user" if "user" in frame.columns else "session"
    return Rows(
        session=_codes(frame, ["session"]),
        cluster=_codes(frame, [by]),
        item=_codes(frame, [*context, "item"]),
        rank=frame["rank"].to_numpy().astype(np.int64, copy=False),
        reward=np.zeros(frame.height) if reward is None else frame[reward].to_numpy().astype(float),
        viewed=frame["viewed"].to_numpy() if "viewed" in frame.columns else None,
        by=by,
    )


def _codes(frame: pl.DataFrame, columns: Sequence[str]) -> Ints:
    """Codes from 0 of the distinct combinations of these columns."""
    code = np.zeros(frame.height, np.int64)
    for column in columns:
        ids = frame[column]
        if not ids.dtype.is_integer():
            ids = ids.cast(pl.String).cast(pl.Categorical).to_physical()
        own, width = codes(ids.to_numpy(), room=4 * frame.height + 1024)
        code = renumbered(code * width + own)[1]
    return code


@dataclass(frozen=True)
class Cells:
    """One entry per item and rank at which it was shown; ``of`` is the cell of each row."""

    item: Ints
    rank: Ints
    shown: Floats
    clicks: Floats
    of: Ints

    @property
    def items(self) -> int:
        """Number of items."""
        return int(self.item.max(initial=-1)) + 1

    @property
    def depth(self) -> int:
        """The deepest rank."""
        return int(self.rank.max(initial=0))


def cells(data: Rows) -> Cells:
    """Count rows and rewards of each item at each rank; items are numbered anew from 0."""
    depth = data.depth + 1
    known, of = renumbered(data.item * depth + data.rank)
    item = renumbered(known // depth)[1]
    shown = summed(of, np.ones(len(of)), len(known))
    return Cells(item, known % depth, shown, summed(of, data.reward, len(known)), of)


def moved(data: Rows) -> Bools:
    """Rows of items that were shown at more than one rank: the rest cannot tell ranks apart."""
    low = np.full(int(data.item.max(initial=0)) + 1, np.iinfo(np.int64).max)
    high = np.zeros_like(low)
    np.minimum.at(low, data.item, data.rank)
    np.maximum.at(high, data.item, data.rank)
    return (high > low)[data.item]
