"""A log in buckets: what each is told, and what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from counterrank.engine import Bucket
from counterrank.logged.basis import Basis
from counterrank.logged.earned import Earned, Learning, rows_of_some
from counterrank.logged.fitting import Shape, reward_sums
from counterrank.logged.future import future_sums
from counterrank.logged.gather import Work, on_policy, valued
from counterrank.logged.loggers import balanced
from counterrank.logged.reading import Given, rankers
from counterrank.logged.refuse import refuse_rows
from counterrank.logged.sessions import Sessions
from counterrank.logged.shared import Shared
from counterrank.logged.targets import Target
from counterrank.schema import Table


@dataclass(frozen=True)
class Asked:
    """What every bucket is told: the tables, whether ranks may have gaps, what scores are.

    ``scope`` is whole if there is only one bucket, and that in memory.
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
    """What is known of the whole log before rankers are weighed.

    ``share`` is each logger's share of the sessions, where there are several.
    """

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
            for t in rankers(given.loggers, bucket.tables)
        }
        return balanced(sessions, self.basis, loggers, self.share, self.shared.rows)

    def targets(self, sessions: Sessions, bucket: Bucket) -> dict[str, Target]:
        """The targets' lists beside the bucket's sessions."""
        tables = rankers(self.asked.given.targets, bucket.tables)
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

    def values(self, works: dict[str, Work], share: float, bucket: Bucket) -> Earned | None:
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
            rows_of_some(sessions, share, "user") if self.asked.scope == "part" else pl.DataFrame(),
        )

    def sample(self, share: float, by: str, bucket: Bucket) -> pl.DataFrame | None:
        """The rows of some users, or of some sessions, for the audits."""
        told = self.told(bucket)
        return None if told is None else rows_of_some(told[0], share, by)
