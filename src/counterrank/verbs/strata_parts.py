"""The work of ``strata`` on one bucket of users, and all buckets put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from counterrank.engine import Bucket
from counterrank.judged.bucket import runs_of
from counterrank.policies import Policies
from counterrank.stratified import Feedback, Users
from counterrank.stratified.facts import Facts, Sought, facts, merged_facts
from counterrank.verbs.strata_open import Opened, opened_run
from counterrank.verbs.strata_pass import Scored, scored
from counterrank.verbs.strata_truth import Ground, Truth


@dataclass(frozen=True)
class Listed:
    """A table of lists in every bucket: its ``name`` there, and what its system is called.

    ``systems`` are the names in its column ``system`` (none: it has no such column).
    """

    name: str
    system: str
    systems: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class First:
    """What must be known of all buckets before any run is looked at."""

    facts: Facts
    systems: dict[str, tuple[str, ...]]


def first(sought: Sought, runs: tuple[Listed, ...], bucket: Bucket) -> First:
    """The first look at a bucket."""
    frames = {run.name: bucket.tables[run.name].frame for run in runs}
    systems = {
        name: tuple(frame["system"].unique()) if "system" in frame.columns else ()
        for name, frame in frames.items()
    }
    return First(facts(bucket.tables, sought), systems)


def known_runs(runs: Sequence[Listed], parts: Sequence[First]) -> tuple[Listed, ...]:
    """The runs with the systems that any bucket has; by name, as no order of rows is known."""
    return tuple(
        replace(run, systems=tuple(sorted({s for part in parts for s in part.systems[run.name]})))
        for run in runs
    )


def all_facts(parts: Sequence[First], sought: Sought) -> Facts:
    """The facts of all buckets."""
    return merged_facts([part.facts for part in parts], sought)


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


def piece(
    ground: Ground,
    policies: Policies,
    runs: tuple[Listed, ...],
    open_runs: tuple[Listed, ...],
    bucket: Bucket,
) -> Piece:
    """Everything of one bucket; without ``open_runs`` the same lists face the open loop."""
    known, measures = ground.truth(bucket.tables), ground.measures
    systems = [
        scored(run, known, measures, policies, open_too=not open_runs, alone=False)
        for one in runs
        for run in runs_of(bucket.tables[one.name], one.system, one.systems)
    ]
    opened = [
        opened_run(run, known.open, measures, policies)
        for one in open_runs
        if known.open is not None
        for run in runs_of(bucket.tables[one.name], one.system, one.systems)
    ]
    return Piece.of(ground, known, systems, opened)
