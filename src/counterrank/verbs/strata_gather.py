"""Judgments and runs in, every method's values of every user out: in memory, or bucket by bucket."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from counterrank import schema
from counterrank.engine import Buckets, Engine, Local, bucketed
from counterrank.policies import Policies
from counterrank.progress import Progress
from counterrank.ranking import Measure
from counterrank.schema import Door, Input, Table
from counterrank.stratified.facts import facts, merged_facts
from counterrank.stratified.tables import has_users
from counterrank.systems import Runs, in_one_pass, names_and_tables, refuse_twice, stem
from counterrank.verbs.strata_asked import Asked
from counterrank.verbs.strata_open import Opened, opened_run
from counterrank.verbs.strata_parts import Listed, Piece, all_facts, first, known_runs, piece
from counterrank.verbs.strata_pass import Scored, scored
from counterrank.verbs.strata_truth import Ground, Truth, ground


@dataclass(frozen=True, eq=False)
class Gathered:
    """What was found, on what ground, of what tables, and in how many buckets."""

    ground: Ground
    piece: Piece
    inputs: tuple[Input, ...]
    partitions: int = 1


@dataclass(frozen=True, eq=False)
class Given:
    """The tables of one call, and what is to be made of them."""

    judgments: object
    runs: Runs
    open_runs: Runs | None
    asked: Asked
    measures: tuple[Measure, ...]
    policies: Policies
    progress: Progress


def gathered(given: Given, engine: Engine) -> Gathered:
    """Every method's values of every user of every system."""
    if isinstance(engine, Local) and engine.whole:
        return at_once(given)
    doors = given.asked.doors(given.judgments)
    # what does not say whose rows its rows are cannot be cut by user: item by item it is small
    aside = {name: door.whole() for name, door in doors.items() if not has_users(door)}
    cut = {name: door for name, door in doors.items() if name not in aside}
    runs = _listed("run", given.runs, given, cut)
    more = () if given.open_runs is None else _listed("open run", given.open_runs, given, cut)
    with bucketed(engine, cut, by="user", ids=("user", "item"), progress=given.progress) as buckets:
        return in_buckets(buckets, given, aside, runs, more, tuple(doors))


def in_buckets(
    buckets: Buckets,
    given: Given,
    aside: dict[str, Table],
    runs: tuple[Listed, ...],
    open_runs: tuple[Listed, ...],
    tables: tuple[str, ...],
) -> Gathered:
    """Two passes: what concerns all buckets, then every run; ``tables`` are all but the runs."""
    sought = given.asked.sought
    runs, open_runs = _called(runs, buckets), _called(open_runs, buckets)
    every = (*runs, *open_runs)
    looked = buckets.mapped(partial(first, sought, every), "reading judgments")
    known = ground(all_facts(looked, sought), given.asked, given.measures, aside)
    runs, open_runs = known_runs(runs, looked), known_runs(open_runs, looked)
    work = partial(piece, known, given.policies, runs, open_runs)
    whole = Piece.merged(buckets.mapped(work, "aligning runs"))
    refuse_twice([system.name for system in whole.systems])
    inputs = buckets.inputs | {name: table.input() for name, table in aside.items()}
    order = (*tables, *(run.name for run in every))
    return Gathered(known, whole, tuple(inputs[name] for name in order), buckets.count)


def at_once(given: Given) -> Gathered:
    """All in memory: every table is read and aligned as it comes."""
    measures, policies, columns = given.measures, given.policies, given.asked.columns

    def truth() -> tuple[tuple[Input, ...], Ground, Truth]:
        doors = given.asked.doors(given.judgments)
        tables = {name: door.whole() for name, door in doors.items()}
        by_user = {name: table for name, table in tables.items() if "user" in table.frame.columns}
        aside = {name: table for name, table in tables.items() if name not in by_user}
        sought = given.asked.sought
        found = merged_facts([facts(by_user, sought)], sought)
        known = ground(found, given.asked, measures, aside)
        return tuple(table.input() for table in tables.values()), known, known.truth(by_user)

    def closed(run: Table, known: tuple[object, Ground, Truth], threads: int) -> Scored:
        too = given.open_runs is None
        return scored(run, known[2], measures, policies, threads, open_too=too, alone=True)

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
    return Gathered(known, whole, (*read, *inputs, *more))


def _listed(kind: str, runs: Runs, given: Given, doors: dict[str, Door]) -> tuple[Listed, ...]:
    """The runs as tables of the buckets; their doors are put beside the others."""
    found = []
    for place, (name, table) in enumerate(names_and_tables(runs)):
        key = f"{kind} {place}"
        doors[key] = schema.run_door(table, name=name, columns=given.asked.columns)
        found.append(Listed(key, name))
    return tuple(found)


def _called(runs: tuple[Listed, ...], buckets: Buckets) -> tuple[Listed, ...]:
    """A run without a name is called after its file, unless its rows name their systems."""
    heads = [buckets.heads[run.name] for run in runs]
    names = ["" if "system" in head.frame.columns else stem(head.name) for head in heads]
    return tuple(replace(run, system=run.system or own) for run, own in zip(runs, names, strict=True))
