"""The rank of every row in its list: as given, or from scores under a named tie rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.core.arrays import AnyFloats, AnyInts, Bools, Ints, alike, sort_order


@dataclass(frozen=True)
class Order:
    """Rank of each row; the first and last rank it could have had among equal scores.

    ``repeated`` holds the rows that claim a rank another row of their list has. ``natural`` says
    that every list stands in the order 1, 2, 3, ...
    """

    rank: Ints
    first: Ints
    last: Ints
    repeated: Ints
    natural: bool = False

    def depth(self, length: Ints) -> Ints:
        """The largest rank of each list."""
        if self.natural:
            return length
        return np.maximum.reduceat(self.rank, np.cumsum(length) - length)


def natural_rank(length: Ints) -> Ints:
    """1, 2, 3, ... within each list, in the order of rows."""
    if alike(length):
        return np.tile(np.arange(1, length[0] + 1), len(length))
    start = np.cumsum(length) - length
    return np.arange(length.sum()) - np.repeat(start, length) + 1


def by_rank(given: AnyInts, length: Ints) -> Order:
    """Ranks as given."""
    natural = natural_rank(length)
    if np.array_equal(given, natural):
        return Order(natural, natural, natural, np.empty(0, np.int64), natural=True)
    rank = given.astype(np.int64)
    lists = np.repeat(np.arange(len(length)), length)
    by = sort_order(lists, rank)
    again = (np.diff(rank[by]) == 0) & (np.diff(lists[by]) == 0)
    return Order(rank, rank, rank, by[1:][again])


def by_score(
    score: AnyFloats, length: Ints, *, ties: str, text: Callable[[Ints], pl.Series]
) -> Order:
    """Ranks by falling score; ``text`` gives the ids of chosen rows where scores tie."""
    score = score.astype(np.float32) if ties == "id32" else score
    rank = natural_rank(length)
    none = np.empty(0, np.int64)
    if _falls(score, length):
        return Order(rank, rank, rank, none, natural=True)
    starts = rank[1:] == 1
    if np.all((score[1:] <= score[:-1]) | starts):
        by = np.arange(len(score))
    else:
        exact = score.dtype.kind == "i"  # ~x falls as x rises, without overflow
        falling = np.invert(score.astype(np.int64)) if exact else np.negative(score)
        by = np.lexsort((falling, np.repeat(np.arange(len(length)), length)))
    ordered = score[by]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]) | starts])
    group, begin, size = _groups(new)
    if ties in ("id", "id32"):
        by = _id_descending(by, group, size[group] > 1, text)
    first = rank[begin][group]
    return Order(
        rank=_scatter(by, rank),
        first=_scatter(by, first),
        last=_scatter(by, first + size[group] - 1),
        repeated=none,
    )


def _falls(score: AnyFloats, length: Ints) -> bool:
    """Whether the scores of every list fall, and none repeats."""
    if alike(length):
        grid = score.reshape(len(length), -1)
        return bool(np.all(grid[:, 1:] < grid[:, :-1]))
    begins = np.zeros(len(score), bool)
    begins[(np.cumsum(length) - length)[length > 0]] = True
    return bool(np.all((score[1:] < score[:-1]) | begins[1:]))


def _groups(new: Bools) -> tuple[Ints, Ints, Ints]:
    """Group of each place, first place of each group, size of each group."""
    begin = np.flatnonzero(new)
    return np.cumsum(new) - 1, begin, np.diff(begin, append=len(new))


def _id_descending(by: Ints, group: Ints, tied: Bools, text: Callable[[Ints], pl.Series]) -> Ints:
    """Put tied rows in descending byte order of their ids, as trec_eval does."""
    places = np.flatnonzero(tied)
    frame = pl.DataFrame({"group": group[places], "id": text(by[places])})
    order = frame.select(pl.arg_sort_by("group", "id", descending=[False, True])).to_series()
    by = by.copy()
    by[places] = by[places][order.to_numpy()]
    return by


def _scatter(by: Ints, x: Ints) -> Ints:
    """``x``, listed in the order ``by``, back in the order of rows."""
    out = np.empty_like(x)
    out[by] = x
    return out
