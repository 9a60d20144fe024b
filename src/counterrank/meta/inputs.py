"""Per-unit values from judgments and runs, from a table of them, or from a saved result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from counterrank.checks import finite, identifiers, numbers, some_rows
from counterrank.data.ids import positions, sort_ids
from counterrank.data.runs import Runs, has_runs, tables_of
from counterrank.engine import Engine
from counterrank.engine import engine as as_engine
from counterrank.errors import InputError, UsageError, brief
from counterrank.judged.pipeline import measure_systems, value_array
from counterrank.judged.request import EvaluateRequest, JudgedTables, parse_measures
from counterrank.meta.values import Values
from counterrank.policies import Policies
from counterrank.progress import Progress, quiet
from counterrank.ranking import DEFAULTS, Measure, measure
from counterrank.schema import Roles, Table, label
from counterrank.stats.compare import Plan
from counterrank.stats.units import Units
from counterrank.tables import Source, opened


def values_of(
    source: object,
    runs: Runs | None = None,
    *,
    measures: Sequence[str | Measure] = (),
    policies: Policies | None = None,
    engine: str | Engine = "auto",
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Values:
    """Values of all systems and measures.

    ``source`` is judgments if there are ``runs``. Otherwise it is a table with unit, system,
    measure and value (as ``--by-unit`` writes it), a folder that ``--out`` wrote, or a result in
    memory; ``measures`` then picks some of its measures.
    """
    if runs is not None and has_runs(runs):
        wanted = [measure(m) for m in _listed(measures)] or [measure(m) for m in DEFAULTS]
        return _judged(source, runs, wanted, policies or Policies(), columns, engine, progress)
    found = _table(source, columns)
    return found.only([str(m) for m in _listed(measures)]) if measures else found


def at_least(values: Values, systems: int, *, why: str) -> None:
    """Refuse a question about the order of systems where there are too few."""
    if len(values.systems) < systems:
        raise UsageError(
            f"{why} needs at least {systems} systems.",
            found=f"There is {len(values.systems)}: {', '.join(values.systems)}.",
            todo="Give more runs, or a table with more systems.",
        )


def enough_resamples(resamples: int) -> None:
    """Refuse a standard deviation of a handful."""
    if resamples < 20:
        raise UsageError(
            "An interval needs at least 20 resamples.", found=f"Got {resamples}.",
            todo="Use --resamples 1000.",
        )  # fmt: skip


def _listed(given: Sequence[str | Measure]) -> list[str | Measure]:
    return [given] if isinstance(given, (str, Measure)) else list(given)


def _judged(
    judgments: object,
    runs: Runs,
    measures: list[Measure],
    policies: Policies,
    columns: Mapping[str, str] | None,
    engine: str | Engine,
    progress: Progress,
) -> Values:
    request = EvaluateRequest(parse_measures(measures), Plan(), policies, per_unit=True)
    chosen = as_engine(engine, [judgments, *tables_of(runs)])
    found = measure_systems(request, JudgedTables.of(judgments, runs, columns), chosen, progress)
    units = found.measured.units
    assert isinstance(units, Units)
    labels, inputs = tuple(map(str, request.measures)), tuple(found.inputs.values())
    return Values(found.systems, labels, units.ids, value_array(request, found.measured), inputs)


def _table(source: object, columns: Mapping[str, str] | None) -> Values:
    """The values of a table; each unit, system and measure at most once."""
    table = _read(source, columns)
    frame = table.frame
    systems, measures = (frame[c].unique(maintain_order=True) for c in ("system", "measure"))
    units = frame["unit"].unique()
    units = sort_ids(units)  # the same order from text as from numbers
    at = tuple(
        positions(frame[c], known)
        for c, known in (("system", systems), ("measure", measures), ("unit", units))
    )
    shape = (len(systems), len(measures), len(units))
    cell = np.ravel_multi_index(at, shape)
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
    opened_table = opened(source, trec=(), name=label(source, "the values"))
    _refuse_judgments(opened_table)
    if all(name.isdigit() for name in opened_table.columns()):  # fields of text without a header
        raise InputError(
            f'"{opened_table.name}" is not a table of per-unit values.',
            found="It is text without names of columns.",
            todo="Give a .parquet or .csv file with unit, system, measure, value, or the folder"
            " that --out wrote.",
        )
    required = ("unit", "system", "measure", "value")
    roles = Roles(opened_table.name, required, ("reward",), columns)
    frame = roles.renamed(opened_table.read(roles.choose))
    some_rows(frame, opened_table.name)
    names = [c for c in ("system", "measure", "reward") if c in frame.columns]
    frame = identifiers(frame, ["unit", *names], opened_table.name)
    frame = numbers(frame, "value", opened_table.name)
    finite(frame, "value", opened_table.name)
    frame = frame.with_columns(pl.col(c).cast(pl.String) for c in names)
    if "reward" in frame.columns and frame["reward"].n_unique() > 1:
        frame = frame.with_columns(measure=pl.format("{}, {}", "measure", "reward"))
    return Table(opened_table, frame)


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
