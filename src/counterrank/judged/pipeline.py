"""``evaluate``: judgments and runs in, measures with intervals, comparisons and diagnostics out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.core.errors import InputError, UsageError
from counterrank.core.faults import Faults
from counterrank.core.parallel import Progress, quiet
from counterrank.data.runs import RunTables
from counterrank.data.schema import Input
from counterrank.diagnostics import judged_lists as about
from counterrank.diagnostics.diagnostic import Diagnostic
from counterrank.diagnostics.judged_lists import agreement
from counterrank.engine import Engine
from counterrank.engine.engines import Storage
from counterrank.judged.lists import (
    JudgedTotals,
    MeasuredLists,
    judged_share_key,
    measure_lists,
    tie_bracket,
)
from counterrank.judged.request import JUDGMENTS, EvaluateRequest, JudgedTables
from counterrank.matching.hits import Coverage
from counterrank.metrics import Measure, measure
from counterrank.results.result import Result
from counterrank.stats.functions_of_means import mean, ratio_or_zero
from counterrank.stats.moments import keys_of
from counterrank.stats.units import Estimate, Key, Units


@dataclass(frozen=True, eq=False)
class JudgedSystems:
    """What was measured of all systems, before anything is compared.

    ``protocol`` says where it ran and what was held.
    """

    measured: MeasuredLists
    inputs: Mapping[str, Input]
    protocol: dict[str, Any]

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems' names."""
        return tuple(self.measured.lists)


def evaluate(
    request: EvaluateRequest, tables: JudgedTables, engine: Engine, progress: Progress = quiet
) -> Result:
    """The whole verb."""
    return compare_systems(request, measure_systems(request, tables, engine, progress), progress)


def measure_systems(
    request: EvaluateRequest, tables: JudgedTables, engine: Engine, progress: Progress = quiet
) -> JudgedSystems:
    """Every measure of every user: one pass, and one before it where all users must be known."""
    inference = request.inference(engine)
    with engine.open(tables.tables, progress) as data:
        runs = RunTables.of(tables.names, data.heads)
        runs.validate(request.plan.pairs, tables.enough)
        totals = JudgedTotals(-np.inf, data.inputs[JUDGMENTS].rows, {})
        storage = partial(choose_storage, request, inference, engine.memory_budget)
        top = any(m.asks_top for m in request.measures)
        limited = inference == "auto" and engine.memory_budget is not None
        if runs.systems or top or not storage(runs.labels, totals.users).units:
            look = partial(JudgedTotals.of, runs, limited)
            totals = data.reduce(look, "looking at the tables")
            runs = runs.with_systems(totals.systems)
            runs.validate(request.plan.pairs, tables.enough)
        held = storage(runs.labels, totals.users).inference
        work = partial(measure_lists, request, runs, totals.top, held)
        found = data.reduce(work, "evaluating")
    why = storage(runs.labels, found.ratings.users).protocol()
    validate(request, found)
    return JudgedSystems(found, data.inputs, data.protocol() | {"inference": why})


def choose_storage(
    request: EvaluateRequest, inference: str, budget: int | None, systems: Sequence[str], users: int
) -> Storage:
    """Whether the values of so many users fit the memory ``budget``."""
    columns = len(request.measures) + len(request.metrics_for_diagnostics(systems))
    return Storage.choose(inference, users, len(systems) * columns, budget)


def validate(request: EvaluateRequest, found: MeasuredLists) -> None:
    """Refuse what the policies call an error, and measures for which nobody is left."""
    lists = [fault for own in found.lists.values() for fault in own.faults]
    Faults((*lists, *found.faults.found)).refuse(allowed=request.allowed)
    for m in request.measures:
        for system in found.lists:
            if not found.units.count(Key(system, str(m))):
                raise InputError(
                    f"No user is left for {m} of {system}.",
                    found="Every judged user is missing or has nothing to find.",
                    todo="Check rel= against the ratings, or use --no-relevant zero.",
                )


def compare_systems(
    request: EvaluateRequest, judged: JudgedSystems, progress: Progress = quiet
) -> Result:
    """Intervals, comparisons and diagnostics of what was measured."""
    found, systems = judged.measured, judged.systems
    groups = request.groups(systems) if request.plan.test != "none" else []
    for m, group in zip(request.measures, groups, strict=False):
        if group and not found.units.over(*keys_of(group)).n:
            raise UsageError(f"The systems share no user for {m}.")
    return Result.of(
        "evaluate",
        found.units,
        functions=request.functions(systems),
        groups=groups,
        plan=request.plan,
        diagnostics=diagnose(request, found),
        protocol=evaluation_protocol(request, found) | judged.protocol,
        inputs=judged.inputs,
        tables={"coverage": [coverage_row(s, own.coverage) for s, own in found.lists.items()]},
        spans=request.spans(systems),
        per_unit=partial(unit_values, scales(request, found)),
        parse=measure.label,
        progress=progress,
    )


def diagnose(request: EvaluateRequest, found: MeasuredLists) -> list[Diagnostic]:
    """What the numbers rest on."""
    measures, policies, k = request.measures, request.policies, request.cut
    users = min(found.units.count(Key(s, str(m))) for s in found.lists for m in measures)
    told: list[Diagnostic | None] = [
        about.sample_size(users),
        about.relevance(found.ratings),
        about.no_relevant(found.ratings, measures, policies.no_relevant),
    ]
    for system, lists in found.lists.items():
        share = found.extra.estimate(judged_share_key(system), mean).value
        told += [
            about.coverage(system, lists.coverage, policies.missing),
            about.unjudged_users(system, lists.coverage),
            about.duplicates(system, lists.coverage),
            about.short_lists(system, lists, k),
            about.judged_share(system, share, k),
            about.ties(system, lists, measures, partial(_tie_bracket, request, found, system)),
        ]
    for dcg, ndcg in request.orders(tuple(found.lists)):
        a, b = (_estimates(request, found, m) for m in (dcg, ndcg))
        told.append(agreement(tuple(found.lists), a, b, (str(dcg), str(ndcg))))
    return [diagnostic for diagnostic in told if diagnostic is not None]


def _tie_bracket(
    request: EvaluateRequest, found: MeasuredLists, system: str, place: int
) -> tuple[float, float, float]:
    """The worst and the best that ties allow for a system and a measure; its interval's width."""
    m, ties = request.measures[place], found.lists[system].ties
    assert ties is not None
    key = Key(system, str(m))
    view = found.units.over(key)
    ends = request.plan.ends(view.estimate(key, m.function), 1.0 if m.plain_mean else None)
    return *tie_bracket(m, view.means(key), ties[place] / view.n), ends[1] - ends[0]


def _estimates(request: EvaluateRequest, found: MeasuredLists, m: Measure) -> list[Estimate]:
    """A measure of all systems, over the users that all of them have."""
    table = found.units if m in request.measures else found.extra
    keys = [Key(system, str(m)) for system in found.lists]
    view = table.over(*keys)
    return [view.estimate(key, mean) for key in keys]


def evaluation_protocol(request: EvaluateRequest, found: MeasuredLists) -> dict[str, Any]:
    """All choices behind the numbers."""
    plan = request.plan
    return {
        "unit": "user",
        "measures": {str(m): m.about.formula for m in request.measures},
        "policies": asdict(request.policies),
        "ranked_by": {system: lists.order for system, lists in found.lists.items()},
        "largest_rating": found.ratings.top,
        "lower_is_better": [str(m) for m in request.measures if m.better == "lower"],
        **plan.protocol(
            family=plan.family,
            draws=plan.draws if plan.test == "permutation" else plan.resamples,
        ),
    }


def coverage_row(system: str, seen: Coverage) -> dict[str, Any]:
    """Who was covered, for the document."""
    return {"system": system, **asdict(seen), "missing_users": seen.missing_users}


def scales(request: EvaluateRequest, found: MeasuredLists) -> dict[Key, float]:
    """For ratios of means, by what a user's value is multiplied: one over the mean of all bases."""
    table = found.units
    if not isinstance(table, Units):
        return {}
    keys = {Key(s, str(m)): m for s in found.lists for m in request.measures}
    ratios = {key: m for key, m in keys.items() if m.function is ratio_or_zero}
    return {key: m.factor(table.columns[key][1]) for key, m in ratios.items()}


def unit_values(scales: Mapping[Key, float], units: Units, key: Key) -> Floats:
    """What each user's list is worth by itself; the last column, but for ratios of means."""
    columns = units.columns[key]
    return columns[0] * scales[key] if key in scales else columns[-1]


def value_array(request: EvaluateRequest, found: MeasuredLists) -> Floats:
    """Values of all users, systems x measures x users; NaN where a policy leaves a user out."""
    units, factors = found.units, scales(request, found)
    assert isinstance(units, Units)
    x = np.full((len(found.lists), len(request.measures), units.n), np.nan)
    for s, system in enumerate(found.lists):
        for place, m in enumerate(request.measures):
            key = Key(system, str(m))
            own = unit_values(factors, units, key)
            x[s, place] = np.where(units.masks[key], own, np.nan) if key in units.masks else own
    return x
