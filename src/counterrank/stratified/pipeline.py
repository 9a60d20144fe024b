"""``strata``: counts of all feedback, the scheme they give, then every list under every method."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import polars as pl

from counterrank.core.errors import UsageError
from counterrank.core.parallel import Progress
from counterrank.data.runs import RunTables
from counterrank.data.schema import Input, Schema, Table
from counterrank.engine.engines import Engine, Storage
from counterrank.engine.partitions import Partition, Tables
from counterrank.results.result import Result
from counterrank.stratified.feedback import FeedbackTotals, Scheme, count_rows
from counterrank.stratified.request import FEEDBACK, StrataRequest, StrataTables
from counterrank.stratified.stratification import Stratification
from counterrank.stratified.stratum_lists import stratify_lists


def strata(
    request: StrataRequest, tables: StrataTables, engine: Engine, progress: Progress
) -> Result:
    """Two passes over partitions of users: counts of all feedback, then every list."""
    items = tables.by_item.items()
    with engine.open(tables.tables, progress) as data:
        runs, open_runs = (RunTables.of(x, data.heads) for x in (tables.runs, tables.open_runs))
        _validate_systems(request, runs, open_runs)
        aside = {name: _read_items(name, own, engine, progress) for name, own in items}
        count = partial(FeedbackTotals.of, request, runs, open_runs)
        totals = data.reduce(count, "looking at the feedback")
        scheme = Scheme.of(request, totals, {name: table for name, (table, _) in aside.items()})
        runs, open_runs = (x.with_systems(totals.systems) for x in (runs, open_runs))
        _validate_systems(request, runs, open_runs)
        methods, systems = scheme.methods(request.measures), len(runs.labels)
        columns, budget = methods.columns(systems), engine.memory_budget
        storage = Storage.choose(engine.inference, totals.users, columns, budget)
        draws, inference = request.draws(systems), storage.inference
        judge = partial(stratify_lists, request, scheme, methods, runs, open_runs, draws, inference)
        lists = data.reduce(judge, "evaluating")
        protocol = {**data.protocol(), "inference": storage.protocol()}
        inputs = {**data.inputs, **{name: read for name, (_, read) in aside.items()}}
    stratification = Stratification.of(request, scheme, methods, lists)
    return stratification.result(protocol, {name: inputs[name] for name in tables.order}, progress)


def _read_items(name: str, own: Schema, engine: Engine, progress: Progress) -> tuple[Table, Input]:
    """A table that says nothing of users: its rows by item, or only how many."""
    with engine.open(Tables({name: own}, "item", ("item",)), progress) as data:
        rows = pl.concat(data.map(partial(_item_rows, name), f"reading {name}"))
        return replace(data.heads[name], frame=rows), data.inputs[name]


def _item_rows(name: str, part: Partition) -> pl.DataFrame:
    frame = part[name].frame
    return count_rows(frame) if name == FEEDBACK else frame


def _validate_systems(request: StrataRequest, runs: RunTables, open_runs: RunTables) -> None:
    """Refuse names that occur twice, a baseline without lists, systems without open-loop lists."""
    runs.validate(request.plan.pairs)
    open_systems: list[str] = []
    open_runs.validate(open_systems.extend)
    absent = [name for name in runs.labels if request.own_lists and name not in open_systems]
    if open_systems and absent:
        raise UsageError(
            f'There is no open-loop run for "{absent[0]}".',
            found=f"There are: {', '.join(sorted(open_systems))}.",
            todo="Give one of the same name for every system: --open-run name=path.",
        )
