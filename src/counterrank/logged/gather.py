"""Buckets of sessions, mapped over threads and merged: from tables to sums per session."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add

import numpy as np

from counterrank.arrays import Floats, Ints, mapped, workers
from counterrank.logged.basis import Basis
from counterrank.logged.estimator import Estimator
from counterrank.logged.faults import Part, refuse_absent, refuse_faults
from counterrank.logged.ips import OnPolicy
from counterrank.logged.join import joined, rewarded, shown
from counterrank.logged.model import Model
from counterrank.logged.rows import Rows
from counterrank.logged.sessions import Sessions
from counterrank.logged.targets import Target
from counterrank.logged.weights import Weights


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


def valued(sessions: Sessions, basis: Basis, target: Target, work: Work) -> Valued:
    """Every estimator of every reward for one target."""
    refuse_absent(sessions, target, work.missing)
    cuts = sessions.cuts()
    parts = mapped(partial(_part, sessions, basis, target, work), cuts, workers())
    refuse_faults(sessions, target, parts, work.disjoint)
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
) -> Part:
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
    return Part(
        tables,
        Weights.of(found.rows, found.unlogged, found.unknown, work.clips),
        found.row_again + first,
        again,
        found.absent + cut[0],
        found.empty + cut[0],
        np.flatnonzero(unseen) + first,
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

    parts = mapped(of, sessions.cuts(), workers())
    return {reward: np.concatenate([part[reward] for part in parts]) for reward in work.rewards}
