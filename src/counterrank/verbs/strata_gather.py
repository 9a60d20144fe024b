"""Judgments and runs in, values of every user under every method out: at once, or in buckets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from counterrank import schema
from counterrank.compare import Plan
from counterrank.data.runs import Runs, RunTables, run_schemas, validate_names
from counterrank.engine import Bucket, Buckets, Engine, bucketed
from counterrank.errors import UsageError
from counterrank.moments import ROOM, Draws, Kept
from counterrank.moments import kept as as_kept
from counterrank.policies import Policies
from counterrank.progress import Progress
from counterrank.ranking import Measure
from counterrank.schema import Door, Input, Table
from counterrank.stratified.agreement import LEAST
from counterrank.stratified.agreement import RESAMPLES as AGREEMENT
from counterrank.stratified.facts import facts
from counterrank.stratified.tables import has_users
from counterrank.systems import in_one_pass
from counterrank.verbs.strata_asked import Asked
from counterrank.verbs.strata_open import Opened, opened_run
from counterrank.verbs.strata_parts import Piece, first, of_items, piece
from counterrank.verbs.strata_pass import Scored, scored
from counterrank.verbs.strata_sums import Condensed, condensed
from counterrank.verbs.strata_truth import Ground, Truth, ground


@dataclass(frozen=True, eq=False)
class Gathered:
    """What was found, on what ground, of what tables, and in how many buckets."""

    ground: Ground
    found: Piece | Condensed
    inputs: tuple[Input, ...]
    kept: Kept
    engine: str = "local"
    partitions: int = 1

    @property
    def piece(self) -> Piece:
        """All users or, where only sums are kept, those whom messages name."""
        return self.found.piece if isinstance(self.found, Condensed) else self.found


@dataclass(frozen=True, eq=False)
class Given:
    """The tables of one call, and what is to be made of them."""

    judgments: object
    runs: Runs
    open_runs: Runs | None
    asked: Asked
    measures: tuple[Measure, ...]
    policies: Policies
    plan: Plan
    progress: Progress

    def draws(self, systems: int) -> Draws:
        """What is drawn beside sums, where values per user are not kept."""
        count = self.plan.resamples if self.plan.interval == "bootstrap" else 0
        if self.asked.open_loop is not None and systems >= LEAST:
            count = max(count, AGREEMENT)
        return Draws(resamples=count, seed=self.plan.seed)


def gathered(given: Given, engine: Engine) -> Gathered:
    """Every method's values of every user of every system."""
    if engine.in_memory and engine.inference != "moments":
        return at_once(given)
    if not engine.row_order and given.policies.ties == "file":
        raise UsageError(
            "Rows have no order on Spark, so ties cannot go by it.",
            todo="Use --ties id or expected, or the local engine.",
        )
    doors = given.asked.doors(given.judgments)
    # what does not say whose rows its rows are cannot be cut by user
    apart = {name: door for name, door in doors.items() if not has_users(door)}
    cut = {name: door for name, door in doors.items() if name not in apart}
    lists = partial(_run_door, columns=given.asked.columns)
    (doors_of_runs, runs), (doors_of_more, more) = (
        run_schemas(tables, lists, kind)
        for tables, kind in ((given.runs, "run"), (given.open_runs, "open run"))
    )
    cut |= doors_of_runs | doors_of_more
    items = {name: _by_item(name, door, engine, given) for name, door in apart.items()}
    aside = {name: table for name, (table, _) in items.items()}
    with bucketed(engine, cut, by="user", ids=("user", "item"), progress=given.progress) as buckets:
        found = in_buckets(buckets, given, aside, runs, more, engine)
        inputs = buckets.inputs | {name: read for name, (_, read) in items.items()}
    order = (*doors, *runs, *more)
    return replace(found, inputs=tuple(inputs[name] for name in order))


def _by_item(name: str, door: Door, engine: Engine, given: Given) -> tuple[Table, Input]:
    """A table that says nothing of users: its rows by item, or only how many."""
    with bucketed(engine, {name: door}, by="item", ids=("item",), progress=given.progress) as held:
        frames = held.mapped(partial(of_items, name), f"reading {name}")
        return replace(held.heads[name], frame=pl.concat(frames)), held.inputs[name]


def in_buckets(
    buckets: Buckets,
    given: Given,
    aside: dict[str, Table],
    names: Mapping[str, str],
    open_names: Mapping[str, str],
    engine: Engine,
) -> Gathered:
    """Two passes: what concerns all buckets, then every run."""
    sought = given.asked.sought
    runs, open_runs = (RunTables.of(own, buckets.heads) for own in (names, open_names))
    look = partial(first, sought, runs, open_runs)
    looked = buckets.folded(look, "looking at the feedback")
    known = ground(looked.facts, given.asked, given.measures, aside)
    runs, open_runs = (
        runs.with_systems(looked.systems),
        open_runs.with_systems(looked.open_systems),
    )
    systems = len(runs.labels)
    kept = as_kept(engine.inference, looked.users, known.columns(systems), engine.memory_budget)
    work = partial(piece, known, given.policies, runs, open_runs)
    if kept.units:
        found: Piece | Condensed = Piece.merged(buckets.mapped(work, "evaluating"))
    else:
        sums = partial(condensed, known, given.policies, runs, open_runs, given.draws(systems))
        found = buckets.folded(sums, "summing over users")
    made = Gathered(known, found, (), kept, _word(engine), buckets.count)
    validate_names([system.name for system in made.piece.systems])
    return made


def _word(engine: Engine) -> str:
    return engine.name


def at_once(given: Given) -> Gathered:
    """All in memory: every table is read and aligned as it comes."""
    measures, policies, columns = given.measures, given.policies, given.asked.columns

    def truth() -> tuple[tuple[Input, ...], Ground, Truth]:
        doors = given.asked.doors(given.judgments)
        tables = {name: door.whole() for name, door in doors.items()}
        by_user = {name: table for name, table in tables.items() if "user" in table.frame.columns}
        whole = Bucket(tables)
        aside = {
            name: replace(table, frame=of_items(name, whole))
            for name, table in tables.items()
            if name not in by_user
        }
        known = ground(facts(by_user, given.asked.sought, alone=True), given.asked, measures, aside)
        return tuple(table.input() for table in tables.values()), known, known.truth(by_user)

    def closed(run: Table, known: tuple[object, Ground, Truth], threads: int) -> Scored:
        too = given.open_runs is None
        return scored(run, known[2], measures, policies, threads, open_too=too)

    def opened(run: Table, known: Truth, threads: int) -> Opened:
        assert known.open is not None
        return opened_run(run, known.open, measures, policies, threads)

    (read, known, found), inputs, systems = in_one_pass(
        truth, given.runs, closed, columns, given.progress
    )
    more: list[Input] = []
    again: list[Opened] = []
    if given.open_runs is not None:
        _, more, again = in_one_pass(
            lambda: found, given.open_runs, opened, columns, given.progress
        )
    whole = Piece.merged([Piece.of(known, found, systems, again)])
    kept = Kept("units", "all is in memory", ROOM)
    return Gathered(known, whole, (*read, *inputs, *more), kept)


def _run_door(table: object, name: str, *, columns: Mapping[str, str] | None) -> Door:
    return schema.run_door(table, name=name, columns=columns)
