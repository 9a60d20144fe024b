"""Logged rows meet what a target would expose: the arrays of the estimators, block by block.

A target's exposures are of one list, of sampled lists, or of a weighted draw.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from counterrank.core.arrays import (
    Bools,
    Floats,
    Ints,
    order_lists,
    order_ranks,
    ranges,
    sum_by,
    take_rows,
)
from counterrank.core.faults import DataError, Fault
from counterrank.core.parallel import cached_property
from counterrank.data.blocks import Blocks
from counterrank.data.ids import TextRanks, positions
from counterrank.data.logs import ABOVE, CHANCES
from counterrank.data.schema import Table
from counterrank.matching.align import by_rank, by_score, natural_rank
from counterrank.matching.hashjoin import dense_join
from counterrank.ope.estimators.clipped_weight import Rows
from counterrank.ope.log import Sessions
from counterrank.position import expected_exposure, rank_probabilities

if TYPE_CHECKING:
    from counterrank.ope.reward_model import RewardModel
    from counterrank.ope.setting import Basis

CHUNK = 1 << 12  # lists whose probabilities are held at a time


@dataclass(frozen=True)
class LoggedRows:
    """The logged side of a block: sessions ``begin`` to ``end`` of a partition.

    Per row: its ``session``, counted from 0, ``item`` and ``rank``; ``e0``, how likely it was seen
    under the logger; ``seen``, how far it was; ``place``, the exposure of the 1st, 2nd, ... rank;
    ``curve``, that of its own rank. ``fold`` and ``context`` are those of each session.
    """

    begin: int
    end: int
    start: Ints
    session: Ints
    item: Ints
    rank: Ints
    e0: Floats
    seen: Floats
    place: Floats
    curve: Floats
    fold: Ints
    context: Ints

    @classmethod
    def of(cls, sessions: Sessions, basis: Basis, begin: int, end: int) -> LoggedRows:
        """How likely each logged row was seen, and how far it was."""
        length = sessions.blocks.length[begin:end]
        session = np.repeat(np.arange(end - begin), length)
        rank = sessions.column("rank", begin, end)
        item = sessions.items.lookup(sessions.item[sessions.rows(begin, end)])
        start = sessions.blocks.start[begin:end] - sessions.blocks.start[begin]
        fold, context, none = sessions.fold[begin:end], sessions.context[begin:end], np.empty(0)
        rows = cls(
            begin, end, start, session, item, rank, none, none, none, none, fold, context
        )  # fmt: skip
        return rows.under(sessions, basis)

    def under(self, sessions: Sessions, basis: Basis) -> LoggedRows:
        """The same rows by the position model of this basis."""
        begin, end, context = self.begin, self.end, self.context[self.session]
        known = basis.model is not None and not basis.by_rank
        curve = place = np.ones(len(self.rank))
        if known:
            curve = place = basis.at(self.rank, context)
            if not sessions.unbroken:
                place = basis.at(natural_rank(sessions.blocks.length[begin:end]), context)
        e0 = curve if basis.logged == "rank" else sessions.column(basis.logged, begin, end)
        if basis.views == "observed" and not basis.by_rank:
            seen = sessions.column("viewed", begin, end)
        elif basis.views == "rows" or basis.by_rank:
            seen = np.ones(len(self.rank))
        else:
            seen = curve if known else e0
        return replace(self, e0=e0, seen=seen, place=place, curve=curve if known else e0)

    @property
    def n(self) -> int:
        """Number of sessions."""
        return self.end - self.begin


# what a target would expose


@dataclass(frozen=True)
class Cells:
    """What a target would expose in a block: session, item, exposure; its rank if it has one."""

    session: Ints
    item: Ints
    e: Floats
    rank: Ints
    predicted: Floats | None

    def take(self, which: Ints | Bools) -> Cells:
        """Some of the cells, or all of them in another order."""
        return take_rows(self, which, "session", "item", "e", "rank", "predicted")


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
        by = "rank" if table.order == "rank" else None
        blocks = Blocks.of(table.frame, ascending=True, unit="session", like=units, rank=by)
        return cls(table, blocks, positions(units, blocks.names), scores)

    @cached_property
    def text_ranks(self) -> TextRanks:
        """The order of items whose scores tie."""
        return TextRanks.of(self.blocks.frame["item"])

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
        rows = self._by_rank(self._rows(place[there], length), length)
        session = np.repeat(there, length)
        item = sessions.items.codes(rows["item"])
        predicted = rows["predicted"].to_numpy() if "predicted" in rows.columns else None
        context, no_rank = sessions.context[begin:end], np.zeros(len(session), np.int64)
        if self.table.order == "exposure" and not basis.by_rank:
            e = rows["exposure"].to_numpy()
            return _order_cells(Cells(session, item, e, no_rank, predicted))
        if self.scores == "plackett_luce":
            curves = basis.curves[context[there] % len(basis.curves)]
            e = _plackett_luce(rows["score"].to_numpy().astype(float), length, curves)
            return _order_cells(Cells(session, item, e, no_rank, predicted))
        rank = self._ranks(rows, length)
        if not basis.by_rank:
            e = basis.at(rank, context[session])
        else:
            given = [c for c in (basis.logged, "propensity") if c in rows.columns]
            e = rows[given[0]].to_numpy() if given else np.ones(len(rank))
        if "draw" not in rows.columns:
            return _order_cells(Cells(session, item, e, rank, predicted))
        cells = Cells(session, item, e, rank if basis.by_rank else no_rank, predicted)
        return _average_draws(cells, rows["draw"], sessions.items.size)

    def _rows(self, place: Ints, length: Ints) -> pl.DataFrame:
        """Their rows, without a copy where they stand together."""
        if len(place) and place[-1] - place[0] == len(place) - 1 and np.all(np.diff(place) == 1):
            return self.blocks.rows(int(place[0]), int(place[-1]) + 1)
        return self.blocks.frame[ranges(self.blocks.start[place], length)]

    def _by_rank(self, rows: pl.DataFrame, length: Ints) -> pl.DataFrame:
        """Rows of lists that have ranks 1, 2, 3, ... in their order; others as they stand."""
        if self.table.order != "rank" or _rising(rank := rows["rank"].to_numpy(), length):
            return rows
        order = order_ranks(rank, np.repeat(np.cumsum(length) - length, length))
        return rows if order is None else rows.drop("row", strict=False)[order]

    def _ranks(self, rows: pl.DataFrame, length: Ints) -> Ints:
        """Ranks as given or by score, within each list."""
        by = None
        if "draw" in rows.columns:
            lists = pl.DataFrame({"list": np.repeat(np.arange(len(length)), length)})
            lists = lists.with_columns(rows["draw"])
            by = lists.select(pl.arg_sort_by("list", "draw")).to_series().to_numpy()
            size = lists.group_by("list", "draw").len().sort("list", "draw")["len"]
            length, rows = size.cast(pl.Int64).to_numpy(), rows[by]
        if self.table.order == "score":
            order = by_score(
                rows["score"].to_numpy(), length, ties="id",
                text_rank=lambda: self.text_ranks(rows["item"]),
            )  # fmt: skip
        elif by is None and _rising(rank := rows["rank"].to_numpy(), length):
            return rank
        else:
            order = by_rank(rows["rank"].to_numpy(), length)
        if len(order.repeated) and not {"propensity", ABOVE} & set(rows.columns):
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
    chances = {"draw", *CHANCES} & set(table.frame.columns)
    return bool(chances) or scores == "plackett_luce"


def _rising(rank: Ints, length: Ints) -> bool:
    """Whether ranks rise within each list, so that none repeats."""
    rises = rank[1:] > rank[:-1]
    rises[np.cumsum(length)[:-1] - 1] = True
    return bool(rises.all())


def _order_cells(cells: Cells) -> Cells:
    """Cells by session, rank and item, so that the order of rows changes no sum."""
    same = cells.session[1:] == cells.session[:-1]
    ranks, items = ((x[1:], x[:-1]) for x in (cells.rank, cells.item))
    risen = np.greater(*ranks) | (np.equal(*ranks) & np.greater(*items))
    if np.all(risen, where=same):
        return cells
    width = int(cells.item.max()) + 1
    key = (cells.rank.astype(np.int64) * width + cells.item).astype(np.uint64)
    return cells.take(order_lists(key, np.bincount(cells.session)))


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


# the join


@dataclass(frozen=True)
class Meeting:
    """The arrays of one target in a block, without a reward yet, and what the join found.

    ``row_again`` and ``cell_again`` are places of repeated items; ``absent`` are sessions without a
    list, ``empty`` those whose target lists nothing that was logged; ``unlogged`` is the target's
    exposure on items that the session's log does not have, per session, ``unknown`` the part on
    items no session's log has.
    """

    logged: LoggedRows
    rows: Rows
    cells: Cells
    row_again: Ints
    cell_again: Ints
    absent: Ints
    empty: Ints
    unlogged: Floats
    unknown: Floats

    @classmethod
    def of(
        cls, sessions: Sessions, basis: Basis, logged: LoggedRows, target: Target, *, missing: str
    ) -> Meeting:
        """Logged rows beside what the target would expose."""
        n = logged.n
        cells = target.cells(sessions, basis, logged.begin, logged.end)
        absent = np.flatnonzero(target.place[logged.begin : logged.end] < 0)
        if missing == "logged" and len(absent):
            cells = _with_logged(cells, logged, absent, basis)
        size, ranks = sessions.items.size, 1
        row_thing, cell_thing = logged.item, cells.item
        if basis.by_rank:
            cells = _at_logged_ranks(cells, logged)
            ranks = 1 + max(int(logged.rank.max()), int(cells.rank.max(initial=0)))
            row_thing = logged.item * ranks + logged.rank
            cell_thing = cells.item * ranks + cells.rank
        known = np.flatnonzero(cells.item < size)  # others are in no logged row
        match = dense_join(
            (logged.session, row_thing),
            (cells.session[known], cell_thing[known]),
            (size + 1) * ranks,
        )
        cell = np.append(known, -1)[match.cell]
        missed = np.ones(len(cells.e), bool)
        missed[cell[cell >= 0]] = False
        alone = np.flatnonzero(missed)
        lists = np.bincount(cells.session, minlength=n)
        hits = lists - np.bincount(cells.session[alone], minlength=n)
        rows = Rows(
            start=logged.start,
            reward=np.empty(0),
            e=np.append(cells.e, 0.0)[cell],
            e0=_unchanged(logged, absent, basis) if missing == "logged" else logged.e0,
            seen=logged.seen,
            q=np.empty(0),
            cell=cell,
            cell_rank=cells.rank,
            place=logged.place,
            views=sum_by(cells.session, cells.e, n),
            direct=np.empty(0),
            rank=logged.rank,
            ranks=sessions.ranks,
        )
        new = alone[cells.item[alone] == size]
        return cls(
            logged, rows, cells, match.row_again, known[match.cell_again], absent,
            np.flatnonzero((lists > 0) & (hits == 0)),
            sum_by(cells.session[alone], cells.e[alone], n),
            sum_by(cells.session[new], cells.e[new], n),
        )  # fmt: skip

    def under(self, sessions: Sessions, basis: Basis, target: Target, missing: str) -> Meeting:
        """The same rows and cells, by the position model of this basis."""
        logged, cells = self.logged.under(sessions, basis), self.cells
        if target.table.order == "exposure" or target.stochastic:
            fresh = target.cells(sessions, basis, logged.begin, logged.end)
            if missing == "logged" and len(self.absent):
                fresh = _with_logged(fresh, logged, self.absent, basis)
            cells = replace(cells, e=fresh.e)
        else:
            cells = replace(cells, e=basis.at(cells.rank, logged.context[cells.session]))
        e0 = _unchanged(logged, self.absent, basis) if missing == "logged" else logged.e0
        rows = replace(
            self.rows, e=np.append(cells.e, 0.0)[self.rows.cell], e0=e0, seen=logged.seen,
            place=logged.place, views=sum_by(cells.session, cells.e, logged.n), memo={},
        )  # fmt: skip
        return replace(self, logged=logged, cells=cells, rows=rows)

    def with_prediction(self, model: RewardModel | None) -> Meeting:
        """With what the model says of every cell, so that it is asked once."""
        if model is None or self.cells.predicted is not None:
            return self
        return replace(self, cells=replace(self.cells, predicted=self._predict(model, self.cells)))

    def with_reward(
        self, reward: Floats, model: RewardModel | None, future: RewardModel | None = None
    ) -> Rows:
        """The arrays for one reward, with the models' predictions where there are any."""
        rows, cells = replace(self.rows, reward=reward), self.cells
        if future is not None:
            ahead = self.at_ranks(cells.e * self._predict(future, cells))
            rows = replace(rows, future=self._predict(future, self.logged), ahead=ahead)
        if model is None:
            return rows
        q = self._predict(model, cells) if cells.predicted is None else cells.predicted
        direct = sum_by(cells.session, cells.e * q, rows.n)
        return replace(rows, q=np.append(q, 0.0)[rows.cell], direct=direct)

    def _predict(self, model: RewardModel, at: Cells | LoggedRows) -> Floats:
        fold, context = self.logged.fold[at.session], self.logged.context[at.session]
        return model.at(fold, context, at.item, at.rank)

    def at_ranks(self, x: Floats) -> Floats:
        """Sum of ``x`` over the cells that stand at each row's rank, whatever was logged there."""
        cells = self.cells
        there = cells.rank <= self.rows.length[cells.session]
        row = self.rows.start[cells.session[there]] + cells.rank[there] - 1
        return sum_by(row, x[there], len(self.rows.e))


def on_policy_rows(start: Ints, paid: Floats, seen: Floats) -> Rows:
    """What is needed to say what the logged ranker earned."""
    none, ranks = np.empty(0), np.empty(0, np.int64)
    return Rows(start, paid, none, none, seen, none, ranks, ranks, none, none, none)


def _at_logged_ranks(cells: Cells, logged: LoggedRows) -> Cells:
    """The cells at ranks that the session's log has: of others nothing is known or asked."""
    deep = 1 + max(int(logged.rank.max()), int(cells.rank.max(initial=0)))
    there = np.zeros(logged.n * deep, bool)
    there[logged.session * deep + logged.rank] = True
    shown = there[cells.session * deep + cells.rank]
    return cells if shown.all() else cells.take(shown)


def _with_logged(cells: Cells, logged: LoggedRows, absent: Ints, basis: Basis) -> Cells:
    """Sessions the run does not have keep their logged rows, as likely to be seen as they were."""
    assert cells.predicted is None, "predictions need every session"  # validated before
    e = np.ones(len(logged.rank)) if basis.by_rank else logged.curve
    rows = np.isin(logged.session, absent)
    whole = (cells.session, cells.item, cells.e, cells.rank)
    more = (logged.session, logged.item, e, logged.rank)
    session, item, e, rank = (np.append(x, y[rows]) for x, y in zip(whole, more, strict=True))
    return Cells(session, item, e, rank, None)


def _unchanged(logged: LoggedRows, absent: Ints, basis: Basis) -> Floats:
    """Sessions that keep their logged list keep what it earned: both sides of the weight agree."""
    same = 1.0 if basis.by_rank else logged.curve
    return np.where(np.isin(logged.session, absent), same, logged.e0)
