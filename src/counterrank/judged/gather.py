"""Judgments and runs in, every measure of every unit out: in memory, or bucket by bucket."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from counterrank import schema
from counterrank.core.merge import merge
from counterrank.data.runs import Runs, RunTables, named_tables, run_schemas, validate_names
from counterrank.engine import Buckets, Engine, bucketed
from counterrank.errors import UsageError
from counterrank.judged.bucket import JUDGMENTS, Facts, facts, part
from counterrank.judged.measured import Asked, System, Truth, measured
from counterrank.judged.part import Measured
from counterrank.judged.refuse import refuse_uncovered
from counterrank.moments import Draws, Kept, keeps_units, kept
from counterrank.policies import Policies
from counterrank.pool import pooled
from counterrank.progress import Progress, quiet
from counterrank.ranking import Measure, beside
from counterrank.schema import Input, Table
from counterrank.systems import in_one_pass


@dataclass(frozen=True, eq=False)
class Gathered:
    """What was measured of what, and where: the engine's name and its number of buckets.

    ``kept`` says whether values per unit are, or only their sums.
    """

    measured: Measured
    asked: Asked
    inputs: tuple[Input, ...]
    kept: Kept
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
    drawn: Callable[[Sequence[str]], Draws] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Gathered:
    """Every measure of every unit of every system; ``keep`` is values, or hits as well.

    With ``drawn``, which tells what is drawn for given systems, sums may do instead of values.
    """
    as_asked = drawn is not None and engine.inference == "moments"
    if engine.in_memory and not as_asked:
        return _at_once(judgments, runs, tuple(measures), policies, columns, progress)
    if not engine.row_order and policies.ties == "file":
        raise UsageError(
            "Rows have no order on Spark, so ties cannot go by it.",
            todo="Use --ties id or expected, or the local engine.",
        )
    lists, names = run_schemas(
        runs, lambda table, name: schema.run_door(table, name=name, columns=columns)
    )
    doors = {JUDGMENTS: schema.judgments_door(judgments, columns=columns), **lists}
    with bucketed(engine, doors, by="user", ids=("user", "item"), progress=progress) as buckets:
        found = in_buckets(
            buckets,
            names,
            tuple(measures),
            policies,
            keep=keep,
            drawn=drawn,
            inference=engine.inference,
            room=engine.memory_budget,
        )
    return replace(found, engine=engine.name)


def _at_once(
    judgments: object,
    runs: Runs,
    measures: tuple[Measure, ...],
    policies: Policies,
    columns: Mapping[str, str] | None,
    progress: Progress,
) -> Gathered:
    """All in memory: every table is read and aligned as it comes."""
    extra = beside(measures, systems=len(list(named_tables(runs))))
    asked = Asked(measures, tuple(extra), policies)

    def judged() -> tuple[Input, Truth]:
        read = schema.judgments(judgments, columns=columns)
        return read.input(), Truth(pooled(read), asked)

    def work(run: Table, known: tuple[Input, Truth], threads: int) -> System:
        return measured(run, known[1], threads)

    (first, truth), inputs, systems = in_one_pass(judged, runs, work, columns, progress)
    found = Measured.merged([Measured.of(systems, truth, keep="hits")], measures)
    refuse_uncovered(found, policies)
    return Gathered(found, asked, (first, *inputs), kept("auto", 0, 0, None))


def in_buckets(
    buckets: Buckets,
    names: Mapping[str, str],
    measures: tuple[Measure, ...],
    policies: Policies,
    *,
    keep: str,
    drawn: Callable[[Sequence[str]], Draws] | None = None,
    inference: str = "auto",
    room: int | None = None,
) -> Gathered:
    """First what concerns all buckets, then the values.

    ``names`` are those of the runs by table, empty where none was given. ``room`` is how many
    bytes of values per unit are kept before sums take their place.
    """
    runs = RunTables.of(names, buckets.heads)
    rows = buckets.inputs[JUDGMENTS].rows
    known = Facts(-np.inf, rows, {})
    most = len(names) * len(beside(measures, systems=2) + list(measures))
    roomy = room is None or keeps_units(inference, rows, most, room)
    if runs.systems or not roomy or any(m.asks_top for m in measures):
        known = merge(buckets.mapped(partial(facts, runs), "looking at the tables"))
        runs = runs.with_systems(known.systems)
    systems = runs.labels
    validate_names(systems)
    asked = Asked(measures, tuple(beside(measures, systems=len(systems))), policies)
    word, columns = inference if drawn else "units", len(systems) * len(asked.both)
    units = drawn is None or kept(word, known.users, columns, room).units
    if units or drawn is None:
        work = partial(part, asked, known.top, runs, keep)
        found = Measured.merged(buckets.mapped(work, "evaluating"), measures)
    else:
        found = buckets.folded(partial(part, asked, known.top, runs, drawn(systems)), "evaluating")
    refuse_uncovered(found, policies)
    held = kept(word, found.ratings.users, columns, room)
    inputs = tuple(buckets.inputs.values())
    return Gathered(found, asked, inputs, held, partitions=buckets.count)
