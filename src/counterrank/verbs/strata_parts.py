"""The work of ``strata`` on one bucket of users, and all buckets put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.arrays import Bools, Ints
from counterrank.core.merge import by_key, union
from counterrank.data.runs import RunTables
from counterrank.engine import Bucket
from counterrank.policies import Policies
from counterrank.stratified import Face, Feedback, Methods, Users
from counterrank.stratified.facts import Facts, Sought, counted_items, facts
from counterrank.verbs.strata_open import Opened, in_order, open_faces, opened_run
from counterrank.verbs.strata_pass import Scored, scored
from counterrank.verbs.strata_truth import Ground, Truth


@dataclass(frozen=True, eq=False)
class First:
    """What must be known of all buckets before any run is looked at."""

    facts: Facts
    users: int
    systems: dict[str, pl.Series]
    open_systems: dict[str, pl.Series]

    def __add__(self, other: First) -> First:
        """Of both; systems by name, as no order of rows is known."""
        names = by_key(union)
        return First(
            self.facts + other.facts,
            self.users + other.users,
            names([self.systems, other.systems]),
            names([self.open_systems, other.open_systems]),
        )


def first(sought: Sought, runs: RunTables, open_runs: RunTables, bucket: Bucket) -> First:
    """The first look at a bucket."""
    users = bucket.tables["judgments"].frame["user"].n_unique()
    return First(
        facts(bucket.tables, sought),
        users,
        runs.systems_in(bucket.tables),
        open_runs.systems_in(bucket.tables),
    )


def of_items(name: str, bucket: Bucket) -> pl.DataFrame:
    """A table of items in a bucket of whole items; feedback is counted."""
    frame = bucket.tables[name].frame
    return counted_items(frame) if name == "feedback" else frame


@dataclass(frozen=True, eq=False)
class Piece:
    """Feedback and systems of the users of a bucket, or of all."""

    feedback: Feedback
    open: Users | None
    systems: tuple[Scored, ...]
    opened: tuple[Opened, ...]

    @classmethod
    def of(
        cls, ground: Ground, known: Truth, systems: Sequence[Scored], opened: Sequence[Opened]
    ) -> Piece:
        """What came of one bucket; systems may have been held against the open loop as well."""
        own = tuple(s.opened for s in systems if s.opened is not None)
        return cls(
            Feedback.of(known.layout, ground.measures, len(ground.items)),
            None if known.open is None else Users.of([known.open], ground.measures),
            tuple(replace(s, opened=None) for s in systems),
            (*own, *opened),
        )

    def there(self, missing: str) -> Bools:
        """Users that count for every system."""
        if missing == "skip":
            there: Bools = np.all([s.present for s in self.systems], axis=0)
            return there
        return np.ones(len(self.feedback.users.units), bool)

    def faces(self, ground: Ground, policies: Policies) -> Iterator[list[Face]]:
        """Every method but the stratified one, measure by measure."""
        there, labelled = self.there(policies.missing), bool(ground.labels)
        for place, m in enumerate(ground.measures):
            form = Methods(m, place, ground.strata.names, labelled, policies.no_relevant)
            scores = np.stack([s.scores[:, place] for s in self.systems], axis=1)
            yield form.single(self.feedback, scores, there)

    def open_faces(self, ground: Ground, policies: Policies) -> list[Face]:
        """The open loop of every measure, systems in the order they have here."""
        own = in_order(self.opened, [system.name for system in self.systems])
        if self.open is None or not own:
            return []
        return open_faces(self.open, own, ground.measures, policies)

    def named(self) -> Piece:
        """The same with only those users whom a message would name: the first of each kind."""
        users = self.feedback.users
        missing = [s.present for s in self.systems]
        kept = _firsts([*users.defined[:, 0], *missing])
        systems = tuple(system.only(kept) for system in self.systems)
        if self.open is None:
            return Piece(self.feedback.only(kept), None, systems, ())
        where = _firsts([*self.open.defined[:, 0], *(one.present for one in self.opened)])
        opened = tuple(one.only(where) for one in self.opened)
        return Piece(self.feedback.only(kept), self.open.only(where), systems, opened)

    @classmethod
    def merged(cls, parts: Sequence[Piece]) -> Piece:
        """All buckets, users in the order of their ids."""
        feedback, place = Feedback.merged([part.feedback for part in parts])
        opens, again = [part.open for part in parts if part.open is not None], None
        opened: tuple[Opened, ...] = ()
        if opens:
            again, where = Users.merged(opens)
            each = zip(*(part.opened for part in parts), strict=True)
            opened = tuple(Opened.merged(own, where) for own in each)
        systems = zip(*(part.systems for part in parts), strict=True)
        return cls(feedback, again, tuple(Scored.merged(s, place) for s in systems), opened)


def _firsts(there: Sequence[Bools]) -> Ints:
    """For each of the columns, the first user that is not there."""
    return np.unique([int(np.argmin(x)) for x in there if not x.all()]).astype(np.int64)


def piece(
    ground: Ground,
    policies: Policies,
    runs: RunTables,
    open_runs: RunTables,
    bucket: Bucket,
) -> Piece:
    """Everything of one bucket; without ``open_runs`` the same lists face the open loop."""
    known, measures = ground.truth(bucket.tables), ground.measures
    systems = [
        scored(run, known, measures, policies, open_too=not open_runs.names)
        for run in runs.lists(bucket.tables)
    ]
    opened = [
        opened_run(run, known.open, measures, policies)
        for run in open_runs.lists(bucket.tables)
        if known.open is not None
    ]
    return Piece.of(ground, known, systems, opened)
