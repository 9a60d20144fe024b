"""Judgments and runs in, every measure of every unit out: in memory, or bucket by bucket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from counterrank import schema
from counterrank.engine import Buckets, Engine, Local, Spark, bucketed
from counterrank.errors import UsageError
from counterrank.judged.bucket import JUDGMENTS, Facts, facts, part
from counterrank.judged.measured import Asked, System, Truth, measured
from counterrank.judged.part import Measured
from counterrank.judged.refuse import refuse_uncovered
from counterrank.policies import Policies
from counterrank.pool import pooled
from counterrank.progress import Progress, quiet
from counterrank.ranking import Measure, beside
from counterrank.schema import Input, Table
from counterrank.systems import Runs, in_one_pass, names_and_tables, refuse_twice, stem


@dataclass(frozen=True, eq=False)
class Gathered:
    """What was measured of what, and where: the engine's name and its number of buckets."""

    measured: Measured
    asked: Asked
    inputs: tuple[Input, ...]
    engine: str = "local"
    partitions: int = 1


def gathered(
    judgments: object,
    runs: Runs,
    measures: Sequence[Measure],
    policies: Policies,
    *,
    engine: Engine,
    keep: str = "values",
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Gathered:
    """Every measure of every unit of every system; ``keep`` is values, or hits as well."""
    if isinstance(engine, Local) and engine.whole:
        return _at_once(judgments, runs, tuple(measures), policies, columns, progress)
    if isinstance(engine, Spark) and policies.ties == "file":
        raise UsageError(
            "Rows have no order on Spark, so ties cannot go by it.",
            todo="Use --ties id or expected, or the local engine.",
        )
    named = list(names_and_tables(runs))
    doors = {JUDGMENTS: schema.judgments_door(judgments, columns=columns)}
    for place, (name, table) in enumerate(named):
        doors[_table(place)] = schema.run_door(table, name=name, columns=columns)
    with bucketed(engine, doors, by="user", ids=("user", "item"), progress=progress) as buckets:
        names = [name for name, _ in named]
        return in_buckets(buckets, names, tuple(measures), policies, keep=keep)


def _at_once(
    judgments: object,
    runs: Runs,
    measures: tuple[Measure, ...],
    policies: Policies,
    columns: Mapping[str, str] | None,
    progress: Progress,
) -> Gathered:
    """All in memory: every table is read and aligned as it comes."""
    extra = beside(measures, systems=len(list(names_and_tables(runs))))
    asked = Asked(measures, tuple(extra), policies)

    def judged() -> tuple[Input, Truth]:
        read = schema.judgments(judgments, columns=columns)
        return read.input(), Truth(pooled(read), asked)

    def work(run: Table, known: tuple[Input, Truth], threads: int) -> System:
        return measured(run, known[1], threads)

    (first, truth), inputs, systems = in_one_pass(judged, runs, work, columns, progress)
    found = Measured.merged([Measured.of(systems, truth, keep="hits")], measures)
    refuse_uncovered(found, policies)
    return Gathered(found, asked, (first, *inputs))


def in_buckets(
    buckets: Buckets,
    names: Sequence[str],
    measures: tuple[Measure, ...],
    policies: Policies,
    *,
    keep: str,
) -> Gathered:
    """First what concerns all buckets, then the values; ``names`` of runs are empty where none."""
    heads = [buckets.heads[_table(place)] for place in range(len(names))]
    several = ["system" in head.frame.columns for head in heads]
    runs = tuple(
        (_table(place), name or ("" if several[place] else stem(heads[place].name)))
        for place, name in enumerate(names)
    )
    known = Facts(-np.inf, 0, ((),) * len(runs))
    if any(several) or any(m.asks_top for m in measures):
        look = partial(facts, tuple(table for table, _ in runs))
        known = Facts.merged(buckets.mapped(look, "looking at the tables"))
    count = sum(max(1, len(own)) for own in known.systems)
    asked = Asked(measures, tuple(beside(measures, systems=count)), policies)
    parts = buckets.mapped(partial(part, asked, known, runs, keep), "evaluating")
    refuse_twice(parts[0].systems)
    found = Measured.merged(parts, measures)
    refuse_uncovered(found, policies)
    return Gathered(found, asked, tuple(buckets.inputs.values()), partitions=buckets.count)


def _table(place: int) -> str:
    return f"run {place}"
