"""``assess robustness``: which measure keeps the order of systems when judgments are missing?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from counterrank.assess_result import Assessment
from counterrank.data.runs import Runs, has_runs, tables_of
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.engine import Engine
from counterrank.engine import engine as choose_engine
from counterrank.errors import UsageError, one_of
from counterrank.hits import Pool
from counterrank.judged.matches import Matches
from counterrank.judged.pipeline import compare_systems, measure_systems
from counterrank.judged.request import EvaluateRequest, JudgedTables
from counterrank.meta import Checkpoint, fingerprint
from counterrank.meta.grounds import enough
from counterrank.meta.inputs import values_of
from counterrank.meta.reduced import Evidence
from counterrank.meta.reductions import REDUCTIONS, SAYS, SIZES, Reductions
from counterrank.meta.robust_advice import advice
from counterrank.meta.robust_rows import area_rows, tau_rows, value_rows
from counterrank.meta.robustness import tracks
from counterrank.meta.told import Told
from counterrank.meta.values import Mean, Values
from counterrank.policies import Policies
from counterrank.progress import Progress, quiet
from counterrank.ranking import Measure
from counterrank.schema import Input
from counterrank.stats.compare import Plan
from counterrank.verbs.robustness_options import (
    both_means,
    measures_of,
    reductions_of,
    samples_of,
    sizes_of,
    threads_of,
    users_only,
)

SAMPLES = 50
KEPT = ("unit", "measures", "policies", "ranked_by", "largest_rating", "level", "engine")


def assess_robustness(
    source: object,
    runs: Runs | None = None,
    *,
    measures: Sequence[str | Measure] = (),
    rel: float | None = None,
    mean: str = "both",
    reductions: Sequence[str] | None = None,
    sizes: Sequence[float] = SIZES,
    samples: int = SAMPLES,
    level: float = 0.95,
    seed: int = 0,
    missing: str = "zero",
    no_relevant: str = "zero",
    unjudged: str = "ignore",
    duplicates: str = "error",
    ties: str = "id",
    engine: str | Engine = "auto",
    columns: Mapping[str, str] | None = None,
    threads: int = 0,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress = quiet,
) -> Assessment:
    """Take judgments away, order the systems again, and see how much of the order is left.

    ``source`` is judgments if there are ``runs``, both as for ``evaluate``. Otherwise it is a table
    of per-unit values, a folder that ``--out`` wrote, or a result; of those only users can go
    missing, as it is not known what was judged. ``measures`` are by default the nine of
    Valcarce et al. 2020 at a cut-off of 100, with ``rel`` as the threshold of the binary ones
    (1 unless given). ``mean`` is both, arithmetic or geometric.

    What goes missing: ``reductions`` are all or some of ratings, items, users (at random,
    ``samples`` times for each of ``sizes``, the shares that are left), popular_items and
    large_users (those with the most judgments; of equally many the smaller id goes first).

    Who counts: policies as in ``evaluate``, applied to what is left. A user without any judgment
    left is not judged any more; one without a relevant item left counts by ``no_relevant``
    (zero or skip).

    ``level`` is the share of samples inside the bands. ``threads`` changes no number (0: all
    cores). ``resume`` names a folder for results so far: the same call goes on where it stopped.

    The estimates are the areas under each measure's curve of tau, over all kinds of loss. The
    tables are areas (by kind), curves (tau by size) and values (of each system by size).

    >>> import counterrank as cr
    >>> from counterrank.simulate import judged_world
    >>> world = judged_world(users=100)
    >>> result = cr.assess_robustness(
    ...     world.judgments, world.runs, measures=["nDCG@10", "RR@10"], samples=5)
    >>> len(result.estimates), len(result.recommendation)
    (4, 3)
    """
    shares, number = sizes_of(sizes), samples_of(samples)
    one_of("no_relevant", no_relevant, ("zero", "skip"))
    plan = Plan(level=level, seed=seed, test="none")
    asked = Asked(shares, number, level, seed, threads_of(threads), resume, progress)
    if runs is None or not has_runs(runs):
        values = values_of(source, measures=measures, columns=columns)
        return _told(values, mean, users_only(reductions), asked)
    wanted, kinds = (
        measures_of(measures, rel, mean),
        reductions_of(REDUCTIONS if reductions is None else reductions),
    )
    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    request = EvaluateRequest(tuple(dict.fromkeys(wanted)), plan, policies, hits=True)
    chosen = choose_engine(engine, [source, *tables_of(runs)])
    found = measure_systems(request, JudgedTables.of(source, runs, columns), chosen, progress)
    whole, matches = compare_systems(request, found), found.measured.matches
    assert matches is not None
    return _assessed(
        Evidence.of(matches.pool, matches.hits, wanted, policies),
        asked,
        kinds,
        [str(m) for m in wanted],
        whole.systems,
        _key(matches, request, number, seed),
        diagnoses=whole.diagnoses,
        protocol={key: whole.protocol[key] for key in KEPT},
        inputs=whole.inputs,
        units=whole.by_unit(),
    )


@dataclass(frozen=True)
class Asked:
    """How much is computed, and how."""

    sizes: list[float]
    samples: int
    level: float
    seed: int
    threads: int
    resume: str | os.PathLike[str] | None
    progress: Progress


def _told(values: Values, mean: str, kinds: list[str], asked: Asked) -> Assessment:
    """From per-unit values, each measure under each mean asked for."""
    labels = both_means(values.measures, mean)
    forms = [(values.measures.index(name), Mean.of(label)) for label, name in labels.items()]
    frame = pl.concat(
        pl.DataFrame({"unit": values.units, "value": values.x[s, m]}).select(
            "unit", system=pl.lit(system), measure=pl.lit(measure), value="value"
        )
        for s, system in enumerate(values.systems)
        for m, measure in enumerate(values.measures)
    )
    return _assessed(
        Told(values, tuple(forms)),
        asked,
        kinds,
        list(labels),
        values.systems,
        fingerprint(
            "robustness of values", asked.samples, asked.seed, list(labels),
            values.units.to_list(), values.x,
        ),
        diagnoses=[],
        protocol={"unit": "unit", "level": asked.level, "engine": "local"},
        inputs=values.inputs,
        units=frame.filter(pl.col("value").is_not_nan()),
    )  # fmt: skip


def _assessed(
    evidence: Evidence | Told,
    asked: Asked,
    kinds: list[str],
    labels: list[str],
    systems: Sequence[str],
    key: str,
    *,
    diagnoses: list[Diagnosis],
    protocol: dict[str, Any],
    inputs: tuple[Input, ...],
    units: pl.DataFrame,
) -> Assessment:
    """Every kind of loss at every size, and what follows."""
    if len(systems) < 2:
        raise UsageError("One system has no order to lose.", todo="Give more runs: ten or more.")
    found = tracks(
        evidence,
        kinds,
        asked.sizes,
        samples=asked.samples,
        seed=asked.seed,
        threads=asked.threads,
        stored=Checkpoint(asked.resume, key),
        progress=asked.progress,
    )
    areas = list(area_rows(found, labels, asked.level))
    return Assessment(
        kind="assess robustness",
        estimates=[row for row in areas if row.reduction == "all"],
        comparisons=[],
        diagnoses=[enough(len(systems), "systems"), *diagnoses],
        recommendation=advice(found, labels, asked.level),
        tables={
            "areas": [row for row in areas if row.reduction != "all"],
            "curves": list(tau_rows(found, labels, asked.level)),
            "values": list(value_rows(found, labels, tuple(systems), asked.level)),
        },
        protocol=protocol | _protocol(evidence.pool, kinds, asked),
        inputs=inputs,
        units=units,
    )


def _protocol(pool: Pool, kinds: list[str], asked: Asked) -> dict[str, Any]:
    """What was lost, and how the loss was measured."""
    reductions = Reductions(pool)
    return {
        "reductions": {k: {"lost": SAYS[k], "of": reductions.total(k)} for k in kinds},
        "sizes": asked.sizes,
        "samples": asked.samples,
        "seed": asked.seed,
        "correlation": "Kendall tau-b with the order on all judgments; 0 where all systems tie",
        "area": "mean of tau over sizes by the trapezoid rule; over all kinds: their mean",
        "interval": "normal, Monte Carlo only: for these users and systems",
        "equally_many_judgments": "the smaller id is lost first",
        "left_without_judgments": "not counted, as if never in the table",
        "largest_rating_when_reduced": "that of all judgments",
    }


def _key(matches: Matches, request: EvaluateRequest, samples: int, seed: int) -> str:
    """What the values on reduced judgments depend on, besides kind and size."""
    pool = matches.pool
    hits = [x for h in matches.hits for x in (h.unit, h.rank, h.judgment, h.first, h.last, h.depth)]
    names = [pool.units.to_list(), pool.items.to_list()]
    labels = [str(m) for m in request.measures]
    choices = [asdict(request.policies), samples, seed]
    return fingerprint("robustness", *choices, labels, *names, pool.size, pool.rating, *hits)
