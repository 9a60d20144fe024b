"""Where per-unit values come from: judgments and runs, a table of them, or a saved result.

`judged_values` and `judged_basis` are all that ``assess`` asks of ``evaluate``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from counterrank.assess.checkpoint import fingerprint
from counterrank.assess.reduced_judgments import Evidence, ValueEvidence
from counterrank.assess.request import RobustnessRequest, ValueRequest
from counterrank.assess.unit_values import Average, Values
from counterrank.core.errors import InputError, UsageError, brief
from counterrank.data.checks import identifiers, real
from counterrank.data.ids import positions, sort_ids
from counterrank.data.schema import (
    FOLD,
    ColumnNames,
    Input,
    Roles,
    Table,
    label,
    read_alone,
    users_of_folds,
)
from counterrank.data.sources import Source, open_source
from counterrank.diagnostics.diagnostic import Diagnostic
from counterrank.judged.pipeline import JudgedSystems, compare_systems, measure_systems, value_array
from counterrank.judged.request import EvaluateRequest, JudgedTables, parse_measures
from counterrank.metrics import DEFAULTS
from counterrank.stats.plan import Plan
from counterrank.stats.units import Units

FROM_EVALUATION = ("unit", "measures", "policies", "ranked_by", "largest_rating", "level", "engine")


def read_values(request: ValueRequest) -> Values:
    """Values of all systems and measures."""
    if request.judged:
        return judged_values(request)
    values = _from_table(request.source, request.columns)
    two_systems(values.systems)
    return values.only([str(m) for m in request.measures]) if request.measures else values


def two_systems(systems: Sequence[str]) -> None:
    """Refuse a question about the order of systems where there is one."""
    if len(systems) < 2:
        raise UsageError(
            "This takes at least 2 systems: one has no order to lose.",
            found=f"There is {', '.join(systems)}.",
            todo="Give more runs, or a table with more systems.",
        )


def judged_values(request: ValueRequest) -> Values:
    """Every measure of every judged user of every system."""
    wanted = EvaluateRequest(
        parse_measures(request.measures or DEFAULTS), Plan(), request.policies, per_unit=True
    )
    done = _measure(request, wanted)
    units = done.measured.units
    assert isinstance(units, Units)
    labels, inputs = tuple(map(str, wanted.measures)), tuple(done.inputs.values())
    return Values(done.systems, labels, units.ids, value_array(wanted, done.measured), inputs)


def _measure(request: ValueRequest, wanted: EvaluateRequest) -> JudgedSystems:
    tables = JudgedTables.of(request.source, request.runs, request.columns, FOLD)
    return measure_systems(
        wanted, replace(tables, enough=two_systems), request.engine, request.progress
    )


def _from_table(source: object, columns: Mapping[str, str] | None) -> Values:
    """The values of a table; each unit, system and measure at most once."""
    table = _read(source, columns)
    frame = table.frame
    systems, measures = (frame[c].unique(maintain_order=True) for c in ("system", "measure"))
    units = sort_ids(frame["unit"].unique())  # the same order from text as from numbers
    axes = {"system": systems, "measure": measures, "unit": units}
    places = tuple(positions(frame[column], names) for column, names in axes.items())
    shape = tuple(map(len, axes.values()))
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
            else "Keep one value each; where units recur in folds, give them a column fold.",
        )
    x = np.full(shape, np.nan)
    x.ravel()[cell] = frame["value"].to_numpy()
    return Values(tuple(systems), tuple(measures), units, x, (table.input(),))


def _read(source: object, columns: Mapping[str, str] | None) -> Table:
    if hasattr(source, "by_unit"):
        source = source.by_unit()
    if isinstance(source, (str, os.PathLike)):
        inside = Path(source) / "units.parquet"
        source = inside if os.path.isfile(inside) else source
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
    roles = Roles(table.name, required, ("reward", *FOLD), ColumnNames.of(columns))
    return read_alone(table, roles, _check_values)


def _check_values(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    names = [c for c in ("system", "measure", "reward") if c in frame.columns]
    frame = identifiers(users_of_folds(frame, name, "unit"), ["unit", *names], name)
    frame = real(frame, "value", name)
    frame = frame.with_columns(pl.col(c).cast(pl.String) for c in names)
    if "reward" in frame.columns and frame["reward"].n_unique() > 1:
        frame = frame.with_columns(measure=pl.format("{}, {}", "measure", "reward"))
    return frame


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


@dataclass(frozen=True, eq=False)
class RobustnessBasis:
    """Evidence, the ``labels`` of its measures, and what a result says of where it came from.

    ``key`` is a digest of all that values on reduced judgments depend on, besides kind and size.
    """

    evidence: Evidence | ValueEvidence
    labels: list[str]
    systems: tuple[str, ...]
    key: str
    diagnostics: list[Diagnostic]
    protocol: dict[str, Any]
    inputs: tuple[Input, ...]
    unit_frame: pl.DataFrame


def judged_basis(request: RobustnessRequest) -> RobustnessBasis:
    """From judgments and runs: the hits of an evaluation, and what it says of them."""
    measures, policies = request.measures, request.values.policies
    plan = Plan(level=request.plan.level, seed=request.plan.seed, test="none")
    wanted = EvaluateRequest(tuple(measures), plan, policies, hits=True)
    done = _measure(request.values, wanted)
    whole, matches = compare_systems(wanted, done), done.measured.matches
    assert matches is not None
    pool, labels = matches.pool, [str(m) for m in measures]
    hits = [x for h in matches.hits for x in (h.unit, h.rank, h.judgment, h.first, h.last, h.depth)]
    key = fingerprint(
        "robustness", asdict(policies), request.samples, plan.seed, labels,
        pool.units.to_list(), pool.items.to_list(), pool.size, pool.rating, *hits,
    )  # fmt: skip
    protocol = {name: whole.protocol[name] for name in FROM_EVALUATION}
    return RobustnessBasis(
        Evidence.of(pool, matches.hits, measures, policies), labels, whole.systems, key,
        whole.diagnostics, protocol, whole.inputs, whole.by_unit(),
    )  # fmt: skip


def value_basis(request: RobustnessRequest) -> RobustnessBasis:
    """From per-unit values, each measure under each mean asked for."""
    values = read_values(request.values)
    forms = request.forms(values.measures)
    places = tuple((values.measures.index(name), Average.of(form)) for form, name in forms.items())
    key = fingerprint(
        "robustness of values", request.samples, request.plan.seed, list(forms),
        values.units.to_list(), values.x,
    )  # fmt: skip
    protocol = {"unit": "unit", "level": request.plan.level, "engine": "local"}
    return RobustnessBasis(
        ValueEvidence(values, places), list(forms), values.systems, key, [], protocol,
        values.inputs, values.frame(),
    )  # fmt: skip
