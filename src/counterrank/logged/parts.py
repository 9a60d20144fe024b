"""A log in buckets: what is asked of each, what it yields, and how that becomes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import polars as pl

from counterrank.arrays import Bools, Floats, Ints
from counterrank.blocks import as_numbers, scattered
from counterrank.engine import Bucket
from counterrank.logged.basis import Basis
from counterrank.logged.faults import summed
from counterrank.logged.fitting import Shape, reward_sums
from counterrank.logged.future import future_sums
from counterrank.logged.gather import Valued, Work, on_policy, valued
from counterrank.logged.loggers import balanced
from counterrank.logged.model import Sums
from counterrank.logged.reading import Given
from counterrank.logged.refuse import refuse_rows
from counterrank.logged.sessions import Sessions, numbered
from counterrank.logged.shared import Shared
from counterrank.logged.targets import Target
from counterrank.schema import Table


@dataclass(frozen=True)
class Asked:
    """What every bucket is told. ``scope`` is whole if there is only one.

    ``share`` is each logger's share of the sessions, ``sampled`` that of users for the audits.
    """

    given: Given
    gaps: str
    scores: str
    scope: str

    def sessions(self, bucket: Bucket) -> Sessions | None:
        """The bucket's sessions by themselves; None if it has none."""
        if bucket.tables["log"].frame.height == 0:
            return None
        return bucket.kept(
            "sessions",
            lambda: Sessions.of(self.given.log(bucket.tables), gaps=self.gaps),
        )

    def facts(self, bucket: Bucket) -> Shared | None:
        """The bucket's share of what all must agree on."""
        sessions = self.sessions(bucket)
        return None if sessions is None else Shared.of(sessions, scope=self.scope)


@dataclass(frozen=True)
class Known:
    """What is known of the whole log before rankers are weighed."""

    asked: Asked
    shared: Shared
    basis: Basis
    share: dict[str, float]

    def told(self, bucket: Bucket) -> tuple[Sessions, Basis] | None:
        """The bucket's sessions by the whole log's numbers, and the basis; None without any."""
        own = self.asked.sessions(bucket)
        if own is None:
            return None
        sessions = own
        return bucket.kept("told", lambda: self._told(sessions, bucket))

    def _told(self, own: Sessions, bucket: Bucket) -> tuple[Sessions, Basis]:
        sessions, given = self.shared.told(own), self.asked.given
        if not self.share:
            return sessions, self.basis
        loggers = {
            t.system: self._target(t, own, "order" if t.order != "score" else self.asked.scores)
            for t in given.rankers(bucket.tables, given.loggers)
        }
        return balanced(sessions, self.basis, loggers, self.share, self.shared.rows)

    def targets(self, sessions: Sessions, bucket: Bucket) -> dict[str, Target]:
        """The targets' lists beside the bucket's sessions."""
        tables = self.asked.given.rankers(bucket.tables, self.asked.given.targets)
        return bucket.kept(
            "targets",
            lambda: {t.system: self._target(t, sessions, self.asked.scores) for t in tables},
        )

    def _target(self, table: Table, sessions: Sessions, scores: str) -> Target:
        return Target.of(table, sessions.units, scores=scores)

    def rewards(self, rewards: Sequence[str], bucket: Bucket) -> Learning | None:
        """What the reward models are learnt from."""
        told = self.told(bucket)
        if told is None:
            return None
        sessions, basis = told
        return Learning(Shape.of(sessions, basis), reward_sums(sessions, basis, rewards))

    def futures(self, name: str, work: Work, bucket: Bucket) -> Learning | None:
        """What models of one target's returns are learnt from."""
        told = self.told(bucket)
        if told is None:
            return None
        sessions, basis = told
        targets = self.targets(sessions, bucket)
        refuse_rows(work.estimators, basis, sessions, list(targets.values()))
        sums = future_sums(sessions, basis, targets[name], work)
        return Learning(Shape.of(sessions, basis), sums)

    def values(self, works: dict[str, Work], sampled: float, bucket: Bucket) -> Earned | None:
        """Columns per session of every target, and the rows of some users for the audits."""
        told = self.told(bucket)
        if told is None:
            return None
        sessions, basis = told
        targets = self.targets(sessions, bucket)
        any_work = next(iter(works.values()))
        refuse_rows(any_work.estimators, basis, sessions, list(targets.values()))
        return Earned(
            sessions.units,
            sessions.user,
            on_policy(sessions, basis, any_work),
            {name: valued(sessions, basis, targets[name], own) for name, own in works.items()},
            _sample(sessions, sampled, "user") if self.asked.scope == "part" else pl.DataFrame(),
        )

    def sample(self, share: float, by: str, bucket: Bucket) -> pl.DataFrame | None:
        """The rows of some users, or of some sessions, for the audits."""
        told = self.told(bucket)
        return None if told is None else _sample(told[0], share, by)


@dataclass(frozen=True)
class Learning:
    """What models are learnt from, and how large their tables are."""

    shape: Shape
    sums: dict[str, Sums]

    def __add__(self, other: Learning) -> Learning:
        return Learning(self.shape, {r: own + other.sums[r] for r, own in self.sums.items()})


@dataclass(frozen=True)
class Earned:
    """What sessions earned: columns of the logged ranker by reward, and of every target."""

    units: pl.Series
    user: pl.Series | None
    logged: dict[str, Floats]
    targets: dict[str, Valued]
    sample: pl.DataFrame

    @property
    def cluster(self) -> Ints | None:
        """The number of each session's user, in the order of their ids."""
        return None if self.user is None else numbered(self.user.to_frame())[0]


def together(parts: Sequence[Earned]) -> Earned:
    """All sessions in the order of their ids, as if they had been in one bucket."""
    if len(parts) == 1:
        return parts[0]
    units = pl.concat([part.units for part in parts])
    order = as_numbers(units).arg_sort().to_numpy()
    user = parts[0].user
    if user is not None:
        user = pl.concat([p.user for p in parts if p.user is not None]).gather(order)
    return Earned(
        units.gather(order),
        user,
        {r: np.concatenate([part.logged[r] for part in parts])[order] for r in parts[0].logged},
        {name: _target(parts, name, order) for name in parts[0].targets},
        pl.concat([part.sample for part in parts]),
    )


def whole_part(part: Earned) -> Earned:
    """What a bucket says beside its sessions: no columns, and nobody's ids."""
    none = part.units.clear()
    return replace(
        part,
        units=none,
        user=None,
        logged={},
        targets={
            name: replace(own, columns={}, kept=np.empty(0, np.int64))
            for name, own in part.targets.items()
        },
    )


def _target(parts: Sequence[Earned], name: str, order: Ints) -> Valued:
    """One target over all sessions."""
    own = [part.targets[name] for part in parts]
    there = np.concatenate([_mask(v.kept, len(p.units)) for p, v in zip(parts, own, strict=True)])
    kept = np.flatnonzero(there[order])
    row = np.cumsum(there) - 1  # of each session that counts, among those that do
    by = row[order[kept]]
    return Valued(
        {key: np.concatenate([v.columns[key] for v in own])[by] for key in own[0].columns},
        reduce(add, [v.weights for v in own]),
        kept,
        summed(v.faults for v in own),
        sum(v.tied for v in own),
        sum(v.rows for v in own),
        _slates([v.slates for v in own if v.slates is not None]),
    )


def _slates(parts: Sequence[tuple[float, float, int]]) -> tuple[float, float, int] | None:
    if not parts:
        return None
    total, square, count = zip(*parts, strict=True)
    return sum(total), sum(square), sum(count)


def _mask(places: Ints, n: int) -> Bools:
    there = np.zeros(n, bool)
    there[places] = True
    return there


def audited(sessions: Sessions, share: float, *, by: str = "user") -> Bools:
    """Sessions in a fixed sample of users: whether one is in it depends on its id alone."""
    if share >= 1:
        return np.ones(sessions.n, bool)
    ids = sessions.units if sessions.user is None or by == "session" else sessions.user
    keep: Bools = scattered(ids) < np.uint64(share * 2.0**64)
    return keep


def _sample(sessions: Sessions, share: float, by: str) -> pl.DataFrame:
    """The rows of some users, or of some sessions."""
    keep = audited(sessions, share, by=by)
    frame = sessions.blocks.frame.drop("row", strict=False)
    frame = frame.filter(pl.Series(np.repeat(keep, sessions.blocks.length)))
    text = frame.schema["item"] == pl.Categorical
    return frame.with_columns(pl.col("item").cast(pl.String)) if text else frame
