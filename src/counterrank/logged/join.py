"""One bucket of sessions in, the arrays of the estimators out: the only join of logs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from counterrank.arrays import Floats, Ints, summed
from counterrank.logged.basis import Basis
from counterrank.logged.cells import Cells
from counterrank.logged.model import Model
from counterrank.logged.rows import Rows
from counterrank.logged.sessions import Sessions
from counterrank.logged.targets import Target
from counterrank.matching.hashjoin import dense_join
from counterrank.order import natural_rank


@dataclass(frozen=True)
class Shown:
    """The logged side of a bucket: sessions ``begin`` to ``end`` of the log."""

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


def shown(sessions: Sessions, basis: Basis, begin: int, end: int) -> Shown:
    """The logged rows: how likely each was seen, and how far it was."""
    length = sessions.blocks.length[begin:end]
    session = np.repeat(np.arange(end - begin), length)
    rank = sessions.column("rank", begin, end)
    known = basis.model is not None and not basis.by_rank
    curve = place = np.ones(len(rank))
    if known:
        context = sessions.context[begin:end][session]
        curve = place = basis.at(rank, context)
        if not sessions.unbroken:
            place = basis.at(natural_rank(length), context)
    e0 = curve if basis.logged == "rank" else sessions.column(basis.logged, begin, end)
    if basis.views == "observed" and not basis.by_rank:
        seen = sessions.column("viewed", begin, end)
    elif basis.views == "rows" or basis.by_rank:
        seen = np.ones(len(rank))
    else:
        seen = curve if known else e0
    item = sessions.items.lookup(sessions.item[sessions.rows(begin, end)])
    start = sessions.blocks.start[begin:end] - sessions.blocks.start[begin]
    return Shown(begin, end, start, session, item, rank, e0, seen, place, curve if known else e0)


@dataclass(frozen=True)
class Joined:
    """The arrays of one target, without a reward yet, and what the join found.

    ``row_again`` and ``cell_again`` are places of repeated items; ``empty`` are sessions whose
    target lists nothing that was logged; ``unlogged`` is the target's exposure on items that the
    session's log does not have, per session, ``unknown`` the part on items no session's log has.
    """

    rows: Rows
    cell: Ints
    cells: Cells
    row_again: Ints
    cell_again: Ints
    absent: Ints
    empty: Ints
    unlogged: Floats
    unknown: Floats


def joined(
    sessions: Sessions, basis: Basis, side: Shown, target: Target, *, missing: str
) -> Joined:
    """Logged rows beside what the target would expose."""
    n = side.end - side.begin
    cells = target.cells(sessions, basis, side.begin, side.end)
    absent = np.flatnonzero(target.place[side.begin : side.end] < 0)
    if missing == "logged" and len(absent):
        cells = _with_logged(cells, side, absent, basis)
    if basis.by_rank:
        cells = _at_logged_ranks(cells, side)
    ranks = 1 + max(int(side.rank.max()), int(cells.rank.max(initial=0))) if basis.by_rank else 1
    things = (sessions.items.size + 1) * ranks
    if basis.by_rank:
        row_thing, cell_thing = side.item * ranks + side.rank, cells.item * ranks + cells.rank
    else:
        row_thing, cell_thing = side.item, cells.item
    known = np.flatnonzero(cells.item < sessions.items.size)  # others are in no logged row
    match = dense_join((side.session, row_thing), (cells.session[known], cell_thing[known]), things)
    cell = np.append(known, -1)[match.cell]
    e = np.append(cells.e, 0.0)[cell]
    missed = np.ones(len(cells.e), bool)
    missed[cell[cell >= 0]] = False
    alone = np.flatnonzero(missed)
    views = summed(cells.session, cells.e, n)
    lists = np.bincount(cells.session, minlength=n)
    hits = lists - np.bincount(cells.session[alone], minlength=n)
    rows = Rows(
        start=side.start,
        reward=np.empty(0),
        e=e,
        e0=_kept_lists(side, absent, basis) if missing == "logged" else side.e0,
        seen=side.seen,
        q=np.empty(0),
        cell=cell,
        cell_rank=cells.rank,
        place=side.place,
        views=views,
        direct=np.empty(0),
        rank=side.rank,
        ranks=sessions.ranks,
    )
    unlogged = summed(cells.session[alone], cells.e[alone], n)
    new = alone[cells.item[alone] == sessions.items.size]
    unknown = summed(cells.session[new], cells.e[new], n)
    return Joined(
        rows, cell, cells, match.row_again, known[match.cell_again], absent,
        np.flatnonzero((lists > 0) & (hits == 0)), unlogged, unknown,
    )  # fmt: skip


def _at_logged_ranks(cells: Cells, side: Shown) -> Cells:
    """The cells at ranks that the session's log has: of others nothing is known or asked."""
    deep = 1 + max(int(side.rank.max()), int(cells.rank.max(initial=0)))
    there = np.zeros((side.end - side.begin) * deep, bool)
    there[side.session * deep + side.rank] = True
    keep = there[cells.session * deep + cells.rank]
    if keep.all():
        return cells
    predicted = None if cells.predicted is None else cells.predicted[keep]
    return Cells(cells.session[keep], cells.item[keep], cells.e[keep], cells.rank[keep], predicted)


def _with_logged(cells: Cells, side: Shown, absent: Ints, basis: Basis) -> Cells:
    """Sessions the run does not have keep their logged rows, as likely to be seen as they were."""
    own = np.isin(side.session, absent)
    e = np.ones(int(own.sum())) if basis.by_rank else side.curve[own]
    if cells.predicted is not None:
        raise AssertionError("predictions need every session")  # refused at the door
    return Cells(
        np.concatenate([cells.session, side.session[own]]),
        np.concatenate([cells.item, side.item[own]]),
        np.concatenate([cells.e, e]),
        np.concatenate([cells.rank, side.rank[own]]),
        None,
    )


def _kept_lists(side: Shown, absent: Ints, basis: Basis) -> Floats:
    """Sessions that keep their logged list keep what it earned: both sides of the weight agree."""
    same = 1.0 if basis.by_rank else side.curve
    return np.where(np.isin(side.session, absent), same, side.e0)


def rewarded(
    found: Joined,
    sessions: Sessions,
    side: Shown,
    reward: str,
    model: Model | None,
    future: Model | None = None,
) -> Rows:
    """The arrays for one reward, with the models' predictions where there are any."""
    rows = replace(found.rows, reward=sessions.column(reward, side.begin, side.end))
    if future is not None:
        rows = _foreseen(rows, found, sessions, side, future)
    if model is None:
        return rows
    fold = sessions.fold[side.begin : side.end]
    context = sessions.context[side.begin : side.end]
    cells = found.cells
    q = cells.predicted
    if q is None:
        q = model.at(fold[cells.session], context[cells.session], cells.item, cells.rank)
    direct = summed(cells.session, cells.e * q, found.rows.n)
    return replace(rows, q=np.append(q, 0.0)[found.cell], direct=direct)


def at_ranks(found: Joined, x: Floats) -> Floats:
    """Sum of ``x`` over the cells that stand at each row's rank, whatever was logged there."""
    cells, start = found.cells, found.rows.start
    length = np.diff(start, append=len(found.rows.e))
    there = cells.rank <= length[cells.session]
    row = start[cells.session[there]] + cells.rank[there] - 1
    return summed(row, x[there], len(found.rows.e))


def _foreseen(rows: Rows, found: Joined, sessions: Sessions, side: Shown, future: Model) -> Rows:
    """The rewards to come: of what was logged, and expected of what the target may show."""
    fold = sessions.fold[side.begin : side.end]
    context = sessions.context[side.begin : side.end]
    cells = found.cells
    ahead = future.at(fold[cells.session], context[cells.session], cells.item, cells.rank)
    logged = future.at(fold[side.session], context[side.session], side.item, side.rank)
    return replace(rows, future=logged, ahead=at_ranks(found, cells.e * ahead))
