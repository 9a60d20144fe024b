"""Buckets of sessions, mapped over threads and merged: from tables to sums per session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add

import numpy as np

from counterrank.arrays import Floats, Ints, mapped, workers
from counterrank.core.faults import Faults
from counterrank.logged.basis import Basis
from counterrank.logged.estimator import Estimator
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
    scores: str = "order"
    clips: tuple[float, ...] = (float("inf"),)


@dataclass(frozen=True)
class Valued:
    """One target in one bucket, or in all: columns per session of every reward and estimator.

    ``kept`` are the sessions that count, as places; ``faults`` what the join found; ``tied`` rows
    of ``rows`` share their score with another of their list. ``slates`` are the sums of whole
    slates' weights and of their squares, and how many there are, where they are looked at.
    """

    columns: dict[tuple[str, str], Floats]
    weights: Weights
    kept: Ints
    faults: Faults
    tied: int
    rows: int
    slates: tuple[float, float, int] | None = None


@dataclass(frozen=True)
class _Cut:
    """What one cut of a bucket yields."""

    tables: dict[tuple[str, str], Floats]
    weights: Weights
    again: Ints
    twice: Ints
    empty: Ints
    unseen: Ints


def valued(sessions: Sessions, basis: Basis, target: Target, work: Work) -> Valued:
    """Every estimator of every reward for one target."""
    parts = mapped(partial(_cut, sessions, basis, target, work), sessions.cuts(), workers())
    absent = np.flatnonzero(target.place < 0)
    kept = np.arange(sessions.n)
    if work.missing == "skip":
        kept = np.delete(kept, absent)
    columns = {key: np.concatenate([p.tables[key] for p in parts]) for key in parts[0].tables}
    if len(kept) < sessions.n:
        columns = {key: table[kept] for key, table in columns.items()}
    weights = reduce(add, [part.weights for part in parts])
    frame = target.table.frame
    tied = target.tied() if target.table.order == "score" and target.scores == "order" else 0
    return Valued(
        columns,
        weights,
        kept,
        _faults(sessions, target, absent, parts),
        tied,
        frame.height,
        _slates(columns.get((work.rewards[0], "SlateWeight"))),
    )


def _slates(weight: Floats | None) -> tuple[float, float, int] | None:
    if weight is None:
        return None
    return float(weight.sum()), float(np.sum(weight**2)), len(weight)


def _faults(sessions: Sessions, target: Target, absent: Ints, parts: Sequence[_Cut]) -> Faults:
    """What shows only when rows meet, counted, each with its first."""
    log, name = sessions.log.name, target.table.name
    names = target.blocks.names
    again, unseen, twice, empty = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("again", "unseen", "twice", "empty")
    )
    listed = names[0] if len(names) else None
    return Faults(
        (
            sessions.fault("session without list", name, absent, listed=listed),
            sessions.blocks.fault("item twice in session", log, again),
            sessions.blocks.fault("reward unseen", log, unseen),
            sessions.fault("item twice in target", name, twice),
            sessions.fault("nothing logged", name, empty),
        )
    )


def _cut(
    sessions: Sessions, basis: Basis, target: Target, work: Work, cut: tuple[int, int]
) -> _Cut:
    """Some sessions: join once, then every reward and estimator on the same arrays."""
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
    return _Cut(
        tables,
        Weights.of(found.rows, found.unlogged, found.unknown, work.clips),
        found.row_again + first,
        found.cells.session[found.cell_again] + cut[0],
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
