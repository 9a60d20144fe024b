"""A target ranker's lists beside the log: which sessions it has, and what it would expose.

Exposures are of one list, of sampled lists, or of a weighted draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats, Ints, ranges
from counterrank.core.faults import DataError, Fault
from counterrank.data.ids import Blocks, positions
from counterrank.data.schema import Table
from counterrank.matching.align import by_rank, by_score
from counterrank.ope.exposure_basis import Basis
from counterrank.ope.log import Sessions
from counterrank.position import expected_exposure, rank_probabilities

CHUNK = 1 << 12  # lists whose probabilities are held at a time


@dataclass(frozen=True)
class Cells:
    """What a target would expose in a block: session, item, exposure; its rank if it has one."""

    session: Ints
    item: Ints
    e: Floats
    rank: Ints
    predicted: Floats | None


@dataclass(frozen=True)
class Target:
    """A run whose rows stand session by session; ``place`` of each logged session, or -1."""

    table: Table
    blocks: Blocks
    place: Ints
    scores: str = "order"

    @classmethod
    def of(cls, table: Table, units: pl.Series, *, scores: str = "order") -> Target:
        """The run beside the sessions of the log; ``scores`` order items, or weigh a draw."""
        blocks = Blocks.of(table.frame, ascending=True, unit="session")
        return cls(table, blocks, positions(units, blocks.names), scores)

    @property
    def stochastic(self) -> bool:
        """Whether it has no single list per session."""
        return is_stochastic(self.table, self.scores)

    def tied(self) -> int:
        """Rows whose score another row of their list has, too."""
        frame = self.table.frame
        keys = [name for name in ("session", "draw", "score") if name in frame.columns]
        return int(frame.select(keys).is_duplicated().sum())

    def cells(self, sessions: Sessions, basis: Basis, begin: int, end: int) -> Cells:
        """The cells of sessions ``begin`` to ``end`` of the log."""
        place = self.place[begin:end]
        there = np.flatnonzero(place >= 0)
        length = self.blocks.length[place[there]]
        rows = self._rows(place[there], length)
        session = np.repeat(there, length)
        item = sessions.items.codes(rows["item"])
        predicted = rows["predicted"].to_numpy() if "predicted" in rows.columns else None
        if self.table.order == "exposure" and not basis.by_rank:
            e = rows["exposure"].to_numpy()
            return _order_cells(Cells(session, item, e, np.zeros(len(e), np.int64), predicted))
        if self.scores == "plackett_luce":
            curves = basis.curves[sessions.context[begin:end][there] % len(basis.curves)]
            e = _plackett_luce(rows["score"].to_numpy().astype(float), length, curves)
            return _order_cells(Cells(session, item, e, np.zeros(len(e), np.int64), predicted))
        rank = self._ranks(rows, length)
        if basis.by_rank:
            chance = "propensity" in rows.columns
            e = rows["propensity"].to_numpy() if chance else np.ones(len(rank))
        else:
            e = basis.at(rank, sessions.context[begin:end][session])
        if "draw" not in rows.columns:
            return _order_cells(Cells(session, item, e, rank, predicted))
        return _average_draws(
            Cells(session, item, e, rank if basis.by_rank else np.zeros_like(rank), predicted),
            rows["draw"],
            sessions.items.size,
        )

    def _rows(self, place: Ints, length: Ints) -> pl.DataFrame:
        """Their rows, without a copy where they stand together."""
        if len(place) and place[-1] - place[0] == len(place) - 1 and np.all(np.diff(place) == 1):
            return self.blocks.rows(int(place[0]), int(place[-1]) + 1)
        return self.blocks.frame[ranges(self.blocks.start[place], length)]

    def _ranks(self, rows: pl.DataFrame, length: Ints) -> Ints:
        """Ranks as given or by score, within each list."""
        if "draw" in rows.columns:
            group = pl.DataFrame({"list": np.repeat(np.arange(len(length)), length)})
            group = group.with_columns(rows["draw"])
            by = group.select(pl.arg_sort_by("list", "draw")).to_series().to_numpy()
            size = group.group_by("list", "draw").len().sort("list", "draw")["len"]
            length, rows = size.cast(pl.Int64).to_numpy(), rows[by]
        else:
            by = None
        if self.table.order == "score":
            order = by_score(
                rows["score"].to_numpy(), length, ties="id",
                text=lambda chosen: rows["item"].gather(chosen).cast(pl.String),
            )  # fmt: skip
        elif by is None and _rising(rank := rows["rank"].to_numpy(), length):
            return rank
        else:
            order = by_rank(rows["rank"].to_numpy(), length)
        if len(order.repeated) and "propensity" not in rows.columns:
            place, many = int(order.repeated[0]), len(order.repeated)
            first = {name: rows[name][place] for name in ("session", "item")}
            what, name = "rank twice in target", self.table.name
            raise DataError(Fault(what, name, "rank", many, rows.height, first))
        if by is None:
            return order.rank
        rank = np.empty_like(order.rank)
        rank[by] = order.rank
        return rank


def is_stochastic(table: Table, scores: str) -> bool:
    """Whether a run gives samples, exposures or chances, not a list per session."""
    chances = {"draw", "exposure", "propensity"} & set(table.frame.columns)
    return bool(chances) or scores == "plackett_luce"


def _rising(rank: Ints, length: Ints) -> bool:
    """Whether ranks rise within each list, so that none repeats."""
    rises = rank[1:] > rank[:-1]
    rises[np.cumsum(length)[:-1] - 1] = True
    return bool(rises.all())


# what cells are made of


def _order_cells(cells: Cells) -> Cells:
    """Cells by session, rank and item, so that the order of rows changes no sum."""
    same = cells.session[1:] == cells.session[:-1]
    risen = cells.rank[1:] - cells.rank[:-1]
    risen = np.where(risen == 0, cells.item[1:] - cells.item[:-1], risen)
    if np.all(risen > 0, where=same):
        return cells
    by = np.lexsort((cells.item, cells.rank, cells.session))
    predicted = None if cells.predicted is None else cells.predicted[by]
    return Cells(cells.session[by], cells.item[by], cells.e[by], cells.rank[by], predicted)


def _average_draws(cells: Cells, draw: pl.Series, items: int) -> Cells:
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
    session, of, e = expected_exposure(cells.session, thing, cells.e, draws)
    predicted = None
    if cells.predicted is not None:
        drawn = expected_exposure(cells.session, thing, np.ones(len(thing)), draws)[2]
        predicted = expected_exposure(cells.session, thing, cells.predicted, draws)[2] / drawn
    return Cells(session, of // ranks, e, of % ranks, predicted)


def _plackett_luce(score: Floats, length: Ints, curves: Floats) -> Floats:
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
