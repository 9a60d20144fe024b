"""Buckets of sessions, mapped over threads and merged: from tables to sums per session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add

import numpy as np

from counterrank.arrays import Floats, Ints, mapped, workers
from counterrank.blocks import BLOCK_ROWS
from counterrank.errors import InputError, one_of
from counterrank.logged.basis import Basis
from counterrank.logged.estimator import Estimator
from counterrank.logged.ips import OnPolicy
from counterrank.logged.join import Shown, joined, rewarded, shown
from counterrank.logged.model import Model, Sums, learnt, sums
from counterrank.logged.regress import Regressor, regressed
from counterrank.logged.rows import Rows
from counterrank.logged.sessions import FOLDS, Sessions
from counterrank.logged.targets import Target
from counterrank.logged.weights import Weights

LARGEST_MODEL = 1 << 25  # cells of the reward model; beyond, contexts are left out of it
ROWS = BLOCK_ROWS // 2  # of a log's bucket; its target's rows come on top


@dataclass(frozen=True)
class Work:
    """What is to be computed for each target."""

    estimators: tuple[Estimator, ...]
    rewards: tuple[str, ...]
    models: dict[str, Model]
    futures: dict[str, Model] = field(default_factory=dict)
    per: str = "session"
    missing: str = "error"
    disjoint: str = "error"
    clips: tuple[float, ...] = (float("inf"),)


@dataclass(frozen=True)
class Valued:
    """One target: per-session columns of every reward and estimator, and its weights.

    ``kept`` are the sessions that count; ``absent`` is the number of sessions without a list,
    ``empty`` of those whose list has nothing that was logged.
    """

    columns: dict[tuple[str, str], Floats]
    weights: Weights
    kept: Ints
    absent: int
    empty: int


def models(
    sessions: Sessions, basis: Basis, rewards: Sequence[str], kind: str | Regressor = "means"
) -> dict[str, Model]:
    """A cross-fitted reward model for each reward: shrunken means, or a regressor's."""

    def of(reward: str, side: Shown) -> Floats:
        c: Floats = sessions.column(reward, side.begin, side.end)
        return c

    return {reward: fitted(sessions, basis, partial(of, reward), kind) for reward in rewards}


def fitted(
    sessions: Sessions, basis: Basis, outcome: Callable[[Shown], Floats], kind: str | Regressor
) -> Model:
    """A cross-fitted model of an outcome of every logged row, bucket by bucket."""
    if isinstance(kind, str):
        one_of("model", kind, ("means",))
    ranks = sessions.ranks if basis.by_rank else 1
    contexts = max(sessions.contexts.height, 1)
    items = sessions.items.size
    fits = FOLDS * contexts * ranks * items <= LARGEST_MODEL
    shape = (FOLDS, (contexts if fits else 1) * ranks, items)
    situation = sessions.fold * shape[1] + (sessions.context * ranks if fits else 0)

    def of(cuts: list[tuple[int, int]]) -> Sums:
        """One thread's share: cells are found bucket by bucket and counted once."""
        n = sessions.rows(cuts[0][0], cuts[-1][1])
        size = n.stop - n.start
        cell, c, seen = np.empty(size, np.int64), np.empty(size), np.empty(size)
        for cut in cuts:
            side = shown(sessions, basis, *cut)
            rows = sessions.rows(*cut)
            here = slice(rows.start - n.start, rows.stop - n.start)
            place = situation[slice(*cut)][side.session]
            if basis.by_rank:
                place += side.rank - 1
            place *= items
            place += side.item
            cell[here], c[here], seen[here] = place, outcome(side), side.seen
        return sums(cell, c, seen, shape)

    cuts = list(sessions.blocks.cuts(ROWS))
    share = -(-len(cuts) // workers())
    shares = [cuts[i : i + share] for i in range(0, len(cuts), share)]
    total = reduce(add, mapped(of, shares, workers()))
    model = learnt(total, ranks) if isinstance(kind, str) else regressed(total, ranks, kind)
    return replace(model, contextual=fits)


@dataclass(frozen=True)
class _Part:
    """What one bucket yields."""

    tables: dict[tuple[str, str], Floats]
    weights: Weights
    row_again: Ints
    cell_again: list[str]
    absent: Ints
    empty: Ints
    unseen: Ints


def valued(sessions: Sessions, basis: Basis, target: Target, work: Work) -> Valued:
    """Every estimator of every reward for one target."""
    _refuse_absent(sessions, target, work.missing)
    cuts = list(sessions.blocks.cuts(ROWS))
    parts = mapped(partial(_part, sessions, basis, target, work), cuts, workers())
    _refuse_faults(sessions, target, parts, work.disjoint)
    absent = np.concatenate([part.absent for part in parts])
    kept = np.arange(sessions.n)
    if work.missing == "skip":
        kept = np.delete(kept, absent)
    columns = {key: np.concatenate([p.tables[key] for p in parts]) for key in parts[0].tables}
    if len(kept) < sessions.n:
        columns = {key: table[kept] for key, table in columns.items()}
    weights = reduce(add, [part.weights for part in parts])
    return Valued(columns, weights, kept, len(absent), sum(len(part.empty) for part in parts))


def _part(
    sessions: Sessions, basis: Basis, target: Target, work: Work, cut: tuple[int, int]
) -> _Part:
    """One bucket: join once, then every reward and estimator on the same arrays."""
    side = shown(sessions, basis, *cut)
    found = joined(sessions, basis, side, target, missing=work.missing)
    tables = {}
    unseen = np.zeros(len(side.rank), bool)
    for reward in work.rewards:
        model, future = work.models.get(reward), work.futures.get(reward)
        rows = rewarded(found, sessions, side, reward, model, future)
        unseen |= (side.e0 == 0) & (rows.reward != 0)
        for e in work.estimators:
            tables[reward, str(e)] = e.table(rows, work.per)
    first = int(sessions.blocks.start[cut[0]])
    again = [
        f"session {sessions.units[int(found.cells.session[c]) + cut[0]]!r}"
        for c in found.cell_again
    ]
    return _Part(
        tables,
        Weights.of(found.rows, found.unlogged, found.unknown, work.clips),
        found.row_again + first,
        again,
        found.absent + cut[0],
        found.empty + cut[0],
        np.flatnonzero(unseen) + first,
    )


def _refuse_absent(sessions: Sessions, target: Target, missing: str) -> None:
    """Logged sessions for which the target has no list."""
    absent = target.place < 0
    name, first = target.table.name, sessions.units[int(np.argmax(absent))]
    if absent.all():
        raise InputError(
            f'"{name}" and the log have no session in common.',
            found=f"The log has {sessions.units[0]!r}, the run {target.blocks.names[0]!r}.",
            todo="A target's lists are keyed by the sessions of the log (--columns session=NAME).",
        )
    if absent.any() and missing == "error":
        raise InputError(
            f'"{name}" has no list for {absent.sum():,} of {sessions.n:,} logged sessions.',
            found=f"The first is {first!r}.",
            todo="Give each a list, leave such sessions out (--missing skip), or let them keep"
            " their logged list (--missing logged).",
        )


def _refuse_faults(
    sessions: Sessions, target: Target, parts: Sequence[_Part], disjoint: str
) -> None:
    """What shows only when rows meet: repeated items, lists that share nothing with the log."""
    again = np.concatenate([part.row_again for part in parts])
    if len(again):
        raise InputError(
            f'"{sessions.log.name}" shows an item more than once in a session.',
            found=f"Found {len(again):,} such rows"
            f" (first: {sessions.blocks.caller_row(int(again.min()))}).",
            todo="Keep one row per session and item; repetitions may be sessions of their own.",
        )
    unseen = np.concatenate([part.unseen for part in parts])
    if len(unseen):
        raise InputError(
            f'"{sessions.log.name}" has rewards at ranks that the position model says nobody sees.',
            found=f"Found {len(unseen):,} such rows"
            f" (first: {sessions.blocks.caller_row(int(unseen[0]))}).",
            todo="Give a position model that reaches as deep as the log's rewards.",
        )
    twice = [where for part in parts for where in part.cell_again]
    if twice:
        raise InputError(
            f'"{target.table.name}" lists an item more than once for the same session.',
            found=f"Found {len(twice):,} such rows (first: {twice[0]}).",
            todo="Mend the list; samples of a stochastic ranker need a column draw.",
        )
    empty = np.concatenate([part.empty for part in parts])
    if len(empty) == sessions.n or (len(empty) and disjoint == "error"):
        raise InputError(
            f'"{target.table.name}" lists nothing that was logged in {len(empty):,} of'
            f" {sessions.n:,} sessions.",
            found=f"The first is {sessions.units[int(empty[0])]!r}: the log cannot tell what such"
            " a list would have earned.",
            todo="Check the item ids; if the logger drew its items by chance and logged exposure"
            " or propensity, let such sessions count 0: --disjoint zero.",
        )


def on_policy(sessions: Sessions, basis: Basis, work: Work) -> dict[str, Floats]:
    """Columns of what the logged ranker itself earned, by reward."""

    def of(cut: tuple[int, int]) -> dict[str, Floats]:
        none = np.empty(0)
        seen = shown(sessions, basis, *cut).seen if work.per == "impression" else none
        start = sessions.blocks.start[slice(*cut)] - sessions.blocks.start[cut[0]]
        ranks = np.empty(0, np.int64)
        return {
            reward: OnPolicy().table(
                Rows(start, c, none, none, seen, none, ranks, ranks, none, none, none), work.per
            )
            for reward in work.rewards
            for c in [sessions.column(reward, *cut)]
        }

    parts = mapped(of, list(sessions.blocks.cuts(ROWS)), workers())
    return {reward: np.concatenate([part[reward] for part in parts]) for reward in work.rewards}
