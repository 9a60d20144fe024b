"""A log whose sessions are too many to be kept: sums of their columns, brought together by user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.arrays import Bools, Floats
from counterrank.data.ids import hash_ids, positions
from counterrank.engine import Bucket, Buckets
from counterrank.engine.wire import packed, unpacked
from counterrank.logged.earned import Earned, whole_part
from counterrank.logged.estimator import Estimator
from counterrank.logged.gather import Work
from counterrank.logged.ips import OnPolicy
from counterrank.logged.parts import Known
from counterrank.logged.reading import LOGGED
from counterrank.logged.rows import Rows
from counterrank.moments import Draws, Merged, Sums, laid, summed
from counterrank.schema import Table

Key = tuple[str, str, str]  # system, label of the estimator, reward


@dataclass(frozen=True)
class Group:
    """Estimates summed over the sessions that all of the rankers ``of`` have a list for."""

    of: tuple[str, ...]
    keys: tuple[Key, ...]


@dataclass(frozen=True)
class Plan:
    """What is summed: every estimate's columns side by side, for every group of sessions.

    ``widths`` are the numbers of columns; ``masked`` the rankers that lack some sessions.
    """

    widths: dict[Key, int]
    groups: tuple[Group, ...]
    draws: Draws

    @property
    def masked(self) -> list[str]:
        """Rankers whose sessions are told apart."""
        return sorted({name for group in self.groups for name in group.of})

    @property
    def columns(self) -> list[str]:
        """Names of the columns of a session, masks last."""
        count = sum(self.widths.values())
        return [*(f"c{j}" for j in range(count)), *(f"m{j}" for j in range(len(self.masked)))]

    def rows(self, part: Earned) -> Floats:
        """Sessions x columns of one bucket; 0 where a ranker has no list that counts."""
        n, places = len(part.units), laid(self.widths)
        out = np.zeros((n, len(self.columns)))
        for key, at in places.items():
            system, label, reward = key
            if system == LOGGED:
                out[:, at] = part.logged[reward]
            else:
                own = part.targets[system]
                out[own.kept, at] = own.columns[reward, label]
        for j, name in enumerate(self.masked):
            out[part.targets[name].kept, len(self.columns) - len(self.masked) + j] = 1
        return out

    def sums(self, rows: Floats, ids: pl.Series, kind: str) -> tuple[Sums, ...]:
        """Each group's sums; ``ids`` are clusters' where ``kind`` is clustered, else sessions'."""
        places, wide = laid(self.widths), sum(self.widths.values())
        mask = dict(zip(self.masked, (rows[:, wide:] > 0).T, strict=True))
        found = []
        for group in self.groups:
            keep: Bools = np.logical_and.reduce(
                [mask[name] for name in group.of], initial=True, axis=0
            ) & np.ones(len(rows), bool)
            at = np.concatenate([np.arange(places[k].start, places[k].stop) for k in group.keys])
            own = rows[np.ix_(keep, at)] if not keep.all() else rows[:, at]
            found.append(_summed(own, ids.filter(pl.Series(keep)), self.draws, kind))
        return tuple(found)

    def estimates(
        self, sums: Sequence[Sums], functions: Mapping[Key, Estimator], per: str
    ) -> list[dict[Key, Merged]]:
        """The estimates of each group."""
        out = []
        for group, own in zip(self.groups, sums, strict=True):
            places = laid({key: self.widths[key] for key in group.keys})
            out.append(
                {
                    key: Merged.of(own, at, functions[key].combined(per))
                    for key, at in places.items()
                }
            )
        return out


def _summed(columns: Floats, ids: pl.Series, draws: Draws, kind: str) -> Sums:
    if kind != "clustered":
        return summed(columns, hash_ids(ids), draws)
    known = ids.unique(maintain_order=True)
    return summed(columns, hash_ids(known), draws, cluster=positions(ids, known))


def planned(work: Work, targets: Sequence[str], base: str, ranks: int, draws: Draws) -> Plan:
    """What to sum for the estimates asked for, and for those they are compared with."""
    own = _widths(work, ranks)
    logged = {(LOGGED, "OnPolicy", r): own[OnPolicy()] for r in work.rewards}
    each = {
        name: {(name, str(e), r): own[e] for r in work.rewards for e in work.estimators}
        for name in targets
    }
    widths = {**logged, **{key: w for keys in each.values() for key, w in keys.items()}}
    if work.missing != "skip":
        return Plan(widths, (Group((), tuple(widths)),), draws)
    groups = [Group((), tuple(logged))]
    groups += [Group((name,), (*logged, *each[name])) for name in targets]
    if base != LOGGED:
        groups += [
            Group((name, base), (*each[name], *each[base])) for name in targets if name != base
        ]
    return Plan(widths, tuple(groups), draws)


def _widths(work: Work, ranks: int) -> dict[Estimator, int]:
    """Numbers of columns of each estimator, seen on a session of nothing."""
    some, none = np.ones(ranks), np.zeros(ranks, np.int64)
    rows = Rows(
        np.zeros(1, np.int64), some, some, some, some, some, none, none, some, np.ones(1),
        np.ones(1), np.arange(1, ranks + 1), ranks, some, some,
    )  # fmt: skip
    return {e: e.table(rows, work.per).shape[1] for e in (OnPolicy(), *work.estimators)}


@dataclass(frozen=True)
class Added:
    """Sums of every group, and what buckets say beside them."""

    sums: tuple[Sums, ...]
    parts: tuple[Earned, ...]

    def __add__(self, other: Added) -> Added:
        sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        return Added(sums, self.parts + other.parts)


@dataclass(frozen=True)
class Merging:
    """The passes of one estimate whose sessions are not kept."""

    known: Known
    works: dict[str, Work]
    sampled: float
    plan: Plan

    def added(self, bucket: Bucket) -> Added | None:
        """One bucket, where each session is by itself."""
        part = self.known.values(self.works, self.sampled, bucket)
        if part is None:
            return None
        sums = self.plan.sums(self.plan.rows(part), part.units, "single")
        return Added(sums, (whole_part(part),))

    def sent(self, bucket: Bucket) -> pl.DataFrame:
        """The sessions of one bucket by their users; what it says beside them in a row more."""
        part = self.known.values(self.works, self.sampled, bucket)
        names = self.plan.columns
        if part is None or part.user is None:
            return pl.DataFrame(schema=self.schema(bucket.tables["log"]))
        rows = pl.DataFrame(self.plan.rows(part), schema=names, orient="row")
        rows = rows.select(part.user.alias("user"), pl.lit(None, pl.Binary).alias("aside"), *names)
        told = rows.head(1).with_columns(aside=pl.lit(packed(whole_part(part))))
        return pl.concat([rows, told])

    def schema(self, log: Table) -> dict[str, pl.DataType]:
        """That of the rows that are sent."""
        numbers = dict.fromkeys(self.plan.columns, pl.Float64())
        return {"user": log.frame.schema["user"], "aside": pl.Binary(), **numbers}

    def received(self, frame: pl.DataFrame) -> Added:
        """All sessions of some users."""
        told = frame.filter(pl.col("aside").is_not_null())["aside"]
        rows = frame.filter(pl.col("aside").is_null())
        sums = self.plan.sums(rows.select(self.plan.columns).to_numpy(), rows["user"], "clustered")
        return Added(sums, tuple(unpacked(one) for one in told))


def brought_together(held: Buckets, merging: Merging) -> Added:
    """Sums of all buckets: by user where users are known, so that a user's sessions meet."""
    word = "joining log and rankers"
    if "user" not in held.heads["log"].frame.columns:
        return held.folded(merging.added, word)
    schema = merging.schema(held.heads["log"])
    found = held.exchanged(merging.sent, schema, "user", merging.received, word)
    total = found[0]
    for one in found[1:]:
        total += one
    return total
