"""Where per-unit values come from: judgments and runs, a table of them, or a saved result.

`judged_values` and `judged_hits` are all that ``assess`` asks of ``evaluate``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from counterrank.assess.request import ValueRequest
from counterrank.assess.unit_values import Values
from counterrank.core.errors import InputError, UsageError, brief
from counterrank.data.checks import finite, identifiers, numbers, some_rows
from counterrank.data.ids import positions, sort_ids
from counterrank.data.runs import tables_of
from counterrank.data.schema import Input, Roles, Table, label
from counterrank.data.sources import Source, open_source
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.engine import engine as as_engine
from counterrank.judged.pipeline import JudgedSystems, compare_systems, measure_systems, value_array
from counterrank.judged.request import EvaluateRequest, JudgedTables, parse_measures
from counterrank.matching.hits import Hits
from counterrank.matching.pool import Pool
from counterrank.metrics import DEFAULTS, Measure
from counterrank.stats.compare import Plan
from counterrank.stats.units import Units


def read_values(request: ValueRequest) -> Values:
    """Values of all systems and measures."""
    if request.judged:
        return judged_values(request)
    values = _from_table(request.source, request.columns)
    return values.only([str(m) for m in request.labels]) if request.labels else values


def at_least(values: Values, systems: int, *, why: str) -> None:
    """Refuse a question about the order of systems where there are too few."""
    if len(values.systems) < systems:
        raise UsageError(
            f"{why} needs at least {systems} systems.",
            found=f"There is {len(values.systems)}: {', '.join(values.systems)}.",
            todo="Give more runs, or a table with more systems.",
        )


def judged_values(request: ValueRequest) -> Values:
    """Every measure of every judged user of every system."""
    wanted = EvaluateRequest(
        parse_measures(request.labels or DEFAULTS), Plan(), request.policies, per_unit=True
    )
    done = _measure(request, wanted)
    units = done.measured.units
    assert isinstance(units, Units)
    labels, inputs = tuple(map(str, wanted.measures)), tuple(done.inputs.values())
    return Values(done.systems, labels, units.ids, value_array(wanted, done.measured), inputs)


def _measure(request: ValueRequest, wanted: EvaluateRequest) -> JudgedSystems:
    engine = as_engine(request.engine, [request.source, *tables_of(request.runs)])
    tables = JudgedTables.of(request.source, request.runs, request.columns)
    return measure_systems(wanted, tables, engine, request.progress)


@dataclass(frozen=True, eq=False)
class JudgedHits:
    """Judgments and what each system found of them, and what an evaluation says of both."""

    pool: Pool
    hits: Sequence[Hits]
    systems: tuple[str, ...]
    diagnoses: list[Diagnosis]
    protocol: dict[str, Any]
    inputs: tuple[Input, ...]
    unit_frame: pl.DataFrame


def judged_hits(request: ValueRequest, measures: list[Measure], plan: Plan) -> JudgedHits:
    """The hits of an evaluation by these measures."""
    plan = Plan(level=plan.level, seed=plan.seed, test="none")
    wanted = EvaluateRequest(tuple(measures), plan, request.policies, hits=True)
    done = _measure(request, wanted)
    whole, matches = compare_systems(wanted, done), done.measured.matches
    assert matches is not None
    return JudgedHits(
        matches.pool, matches.hits, whole.systems, whole.diagnoses, whole.protocol,
        whole.inputs, whole.by_unit(),
    )  # fmt: skip


def _from_table(source: object, columns: Mapping[str, str] | None) -> Values:
    """The values of a table; each unit, system and measure at most once."""
    table = _read(source, columns)
    frame = table.frame
    systems, measures = (frame[c].unique(maintain_order=True) for c in ("system", "measure"))
    units = sort_ids(frame["unit"].unique())  # the same order from text as from numbers
    places = tuple(
        positions(frame[c], names)
        for c, names in (("system", systems), ("measure", measures), ("unit", units))
    )
    shape = (len(systems), len(measures), len(units))
    cell = np.ravel_multi_index(places, shape)
    times = np.bincount(cell, minlength=int(np.prod(shape)))
    if times.max() > 1:
        row = int(np.argmax(times[cell] > 1))
        more = [c for c in ("method", "exposure") if c in table.source.columns()]
        raise InputError(
            f'"{table.name}" has several values of one unit, system and measure.',
            found=f"Found {int((times > 1).sum()):,} such cells (first: row {row + 1}, unit"
            f" {brief(frame['unit'][row])}, {frame['system'][row]}, {frame['measure'][row]}).",
            todo=f"Keep the rows of one {more[0]}, or write it into the names of the measures."
            if more
            else "Keep one value each; several folds need units of their own (fold/user).",
        )
    x = np.full(shape, np.nan)
    x.ravel()[cell] = frame["value"].to_numpy()
    return Values(tuple(systems), tuple(measures), units, x, (table.input(),))


def _read(source: object, columns: Mapping[str, str] | None) -> Table:
    if hasattr(source, "by_unit"):
        source = source.by_unit()
    if isinstance(source, (str, os.PathLike)) and (Path(source) / "units.parquet").is_file():
        source = Path(source) / "units.parquet"
    table = open_source(source, trec=(), name=label(source, "the values"))
    _refuse_judgments(table)
    if all(name.isdigit() for name in table.columns()):  # fields of text without a header
        raise InputError(
            f'"{table.name}" is not a table of per-unit values.',
            found="It is text without names of columns.",
            todo="Give a .parquet or .csv file with unit, system, measure, value, or the folder"
            " that --out wrote.",
        )
    required = ("unit", "system", "measure", "value")
    roles = Roles(table.name, required, ("reward",), columns)
    frame = roles.renamed(table.read(roles.choose))
    some_rows(frame, table.name)
    names = [c for c in ("system", "measure", "reward") if c in frame.columns]
    frame = identifiers(frame, ["unit", *names], table.name)
    frame = numbers(frame, "value", table.name)
    finite(frame, "value", table.name)
    frame = frame.with_columns(pl.col(c).cast(pl.String) for c in names)
    if "reward" in frame.columns and frame["reward"].n_unique() > 1:
        frame = frame.with_columns(measure=pl.format("{}, {}", "measure", "reward"))
    return Table(table, frame)


def _refuse_judgments(table: Source) -> None:
    """Judgments or a run alone: what is missing is the other, not a column."""
    there = set(table.columns())
    if not there & {"value", "unit"} and "item" in there:
        kind = "judgments" if "rating" in there else "a run"
        raise InputError(
            f'"{table.name}" looks like {kind}, and nothing else was given.',
            found=f"Its columns are: {', '.join(table.columns()[:12])}.",
            todo="Give judgments and then runs, or one table with unit, system, measure, value.",
        )
