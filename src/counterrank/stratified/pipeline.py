"""``strata``: counts of all feedback, the scheme they give, then every list under every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

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
        totals = data.reduce(partial(FeedbackTotals.of, request, runs, open_runs), "counting rows")
        runs, open_runs = (x.with_systems(totals.systems) for x in (runs, open_runs))
        _validate_systems(request, runs, open_runs)
        tried = []
        for one in (replace(request, bins=bins) for bins in request.numbers):
            scheme = Scheme.of(one, totals, {name: table for name, (table, _) in aside.items()})
            methods, draws = scheme.methods(one.measures), one.draws(len(runs.labels))
            wide = methods.columns(len(runs.labels))
            storage = Storage.choose(engine.inference, totals.users, wide, engine.memory_budget)
            judge = partial(stratify_lists, one, scheme, methods, runs, open_runs, draws)
            lists = data.reduce(partial(judge, storage.inference), "evaluating")
            tried.append(Stratification.of(one, scheme, methods, lists))
        protocol = {**data.protocol(), "inference": storage.protocol()}
        inputs = {**data.inputs, **{name: read for name, (_, read) in aside.items()}}
    chosen, more = _choose_number(tried) if len(tried) > 1 else (tried[0], {})
    return chosen.result(protocol, {name: inputs[name] for name in tables.order}, progress, more)


def _choose_number(tried: Sequence[Stratification]) -> tuple[Stratification, Mapping[str, Any]]:
    """The number of strata to take, of several; one alone needs no such module."""
    from counterrank.stratified.number_of_strata import take_number

    return take_number(tried)


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
