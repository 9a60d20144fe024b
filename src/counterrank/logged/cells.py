"""What a target would expose, item by item: of one list, of sampled lists, of a weighted draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.arrays import Floats, Ints
from counterrank.core.faults import DataError, Fault
from counterrank.exposure import mean_weight, rank_probabilities

CHUNK = 1 << 12  # lists whose probabilities are held at a time


@dataclass(frozen=True)
class Cells:
    """What a target would expose in a bucket: session, item, exposure; its rank if it has one."""

    session: Ints
    item: Ints
    e: Floats
    rank: Ints
    predicted: Floats | None


def ordered(cells: Cells) -> Cells:
    """Cells by session, rank and item, so that the order of rows changes no sum."""
    same = cells.session[1:] == cells.session[:-1]
    risen = cells.rank[1:] - cells.rank[:-1]
    risen = np.where(risen == 0, cells.item[1:] - cells.item[:-1], risen)
    if np.all(risen > 0, where=same):
        return cells
    by = np.lexsort((cells.item, cells.rank, cells.session))
    predicted = None if cells.predicted is None else cells.predicted[by]
    return Cells(cells.session[by], cells.item[by], cells.e[by], cells.rank[by], predicted)


def mean_of_draws(cells: Cells, draw: pl.Series, items: int) -> Cells:
    """Expected exposure (Jeunen Eq. 6): the mean over a session's draws, 0 where not drawn.

    Items from the number ``items`` on are unknown to the log and share one cell.
    """
    lists = pl.DataFrame({"session": cells.session, "draw": draw})
    known = lists.with_columns(item=cells.item, rank=cells.rank).filter(pl.col("item") < items)
    twice = known.is_duplicated()
    if twice.any():
        raise DataError(Fault("item twice in draw", count=int(twice.sum()), of=known.height))
    draws = np.bincount(lists.unique()["session"].to_numpy())
    ranks = int(cells.rank.max(initial=0)) + 1
    thing = cells.item * ranks + cells.rank
    session, of, e = mean_weight(cells.session, thing, cells.e, draws)
    predicted = None
    if cells.predicted is not None:
        drawn = mean_weight(cells.session, thing, np.ones(len(thing)), draws)[2]
        predicted = mean_weight(cells.session, thing, cells.predicted, draws)[2] / drawn
    return Cells(session, of // ranks, e, of % ranks, predicted)


def raced(score: Floats, length: Ints, curves: Floats) -> Floats:
    r"""Expected exposure :math:`\sum_r P(a \text{ at } r)\, c(r)` of Plackett-Luce lists.

    Lists stand one after the other, each with a row of ``curves``, the position model of its
    context. Lists of equal scores are computed once.
    """
    out = np.empty(len(score))
    start = np.cumsum(length) - length
    for size in np.unique(length):
        which = np.flatnonzero(length == size)
        rows = start[which][:, None] + np.arange(size)
        curve = curves[which, :size]
        depth = max(int(np.max(np.nonzero(curve.any(axis=0))[0], initial=0)) + 1, 1)
        lists, of = np.unique(score[rows], axis=0, return_inverse=True)
        chance = rank_probabilities(lists, depth)
        for begin in range(0, len(which), CHUNK):
            part = slice(begin, begin + CHUNK)
            out[rows[part]] = np.einsum("lir,lr->li", chance[of.ravel()[part]], curve[part, :depth])
    return out
