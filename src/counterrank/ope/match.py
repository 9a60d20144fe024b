"""Logged rows meet what a target would expose: the arrays of the estimators, block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from counterrank.core.arrays import Floats, Ints, sum_by
from counterrank.matching.align import natural_rank
from counterrank.matching.hashjoin import dense_join
from counterrank.ope.exposure_basis import Basis
from counterrank.ope.importance_weights import Rows
from counterrank.ope.log import Sessions
from counterrank.ope.reward_model import RewardModel
from counterrank.ope.targets import Cells, Target


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
        context = sessions.context[begin:end]
        known = basis.model is not None and not basis.by_rank
        curve = place = np.ones(len(rank))
        if known:
            curve = place = basis.at(rank, context[session])
            if not sessions.unbroken:
                place = basis.at(natural_rank(length), context[session])
        e0 = curve if basis.logged == "rank" else sessions.column(basis.logged, begin, end)
        if basis.views == "observed" and not basis.by_rank:
            seen = sessions.column("viewed", begin, end)
        elif basis.views == "rows" or basis.by_rank:
            seen = np.ones(len(rank))
        else:
            seen = curve if known else e0
        item = sessions.items.lookup(sessions.item[sessions.rows(begin, end)])
        start = sessions.blocks.start[begin:end] - sessions.blocks.start[begin]
        return cls(
            begin, end, start, session, item, rank, e0, seen, place, curve if known else e0,
            sessions.fold[begin:end], context,
        )  # fmt: skip

    @property
    def n(self) -> int:
        """Number of sessions."""
        return self.end - self.begin


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

    def rewarded(
        self, reward: Floats, model: RewardModel | None, future: RewardModel | None = None
    ) -> Rows:
        """The arrays for one reward, with the models' predictions where there are any."""
        rows, cells = replace(self.rows, reward=reward), self.cells
        if future is not None:
            ahead, logged = self._predict_cells(future), self.logged
            session = logged.session
            own = future.at(logged.fold[session], logged.context[session], logged.item, logged.rank)
            rows = replace(rows, future=own, ahead=self.at_ranks(cells.e * ahead))
        if model is None:
            return rows
        q = self._predict_cells(model) if cells.predicted is None else cells.predicted
        direct = sum_by(cells.session, cells.e * q, rows.n)
        return replace(rows, q=np.append(q, 0.0)[rows.cell], direct=direct)

    def _predict_cells(self, model: RewardModel) -> Floats:
        cells, logged = self.cells, self.logged
        session = cells.session
        return model.at(logged.fold[session], logged.context[session], cells.item, cells.rank)

    def at_ranks(self, x: Floats) -> Floats:
        """Sum of ``x`` over the cells that stand at each row's rank, whatever was logged there."""
        cells, start = self.cells, self.rows.start
        length = np.diff(start, append=len(self.rows.e))
        there = cells.rank <= length[cells.session]
        row = start[cells.session[there]] + cells.rank[there] - 1
        return sum_by(row, x[there], len(self.rows.e))


def _at_logged_ranks(cells: Cells, logged: LoggedRows) -> Cells:
    """The cells at ranks that the session's log has: of others nothing is known or asked."""
    deep = 1 + max(int(logged.rank.max()), int(cells.rank.max(initial=0)))
    there = np.zeros(logged.n * deep, bool)
    there[logged.session * deep + logged.rank] = True
    shown = there[cells.session * deep + cells.rank]
    if shown.all():
        return cells
    predicted = None if cells.predicted is None else cells.predicted[shown]
    return Cells(
        cells.session[shown], cells.item[shown], cells.e[shown], cells.rank[shown], predicted
    )


def _with_logged(cells: Cells, logged: LoggedRows, absent: Ints, basis: Basis) -> Cells:
    """Sessions the run does not have keep their logged rows, as likely to be seen as they were."""
    rows = np.isin(logged.session, absent)
    e = np.ones(int(rows.sum())) if basis.by_rank else logged.curve[rows]
    if cells.predicted is not None:
        raise AssertionError("predictions need every session")  # validated before
    return Cells(
        np.concatenate([cells.session, logged.session[rows]]),
        np.concatenate([cells.item, logged.item[rows]]),
        np.concatenate([cells.e, e]),
        np.concatenate([cells.rank, logged.rank[rows]]),
        None,
    )


def _unchanged(logged: LoggedRows, absent: Ints, basis: Basis) -> Floats:
    """Sessions that keep their logged list keep what it earned: both sides of the weight agree."""
    same = 1.0 if basis.by_rank else logged.curve
    return np.where(np.isin(logged.session, absent), same, logged.e0)
