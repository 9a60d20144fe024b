"""``assess robustness``: which measure keeps the order of systems when judgments are missing?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from counterrank.assess_result import Assessment
from counterrank.compare import Plan
from counterrank.errors import UsageError, one_of
from counterrank.evaluation import Evaluation
from counterrank.meta import Checkpoint, fingerprint
from counterrank.meta.grounds import enough
from counterrank.meta.reduced import Evidence
from counterrank.meta.reductions import REDUCTIONS, SAYS, SIZES, Reductions
from counterrank.meta.robust_advice import advice
from counterrank.meta.robust_rows import area_rows, tau_rows, value_rows
from counterrank.meta.robustness import tracks
from counterrank.progress import Progress, quiet
from counterrank.ranking import Measure
from counterrank.systems import Runs
from counterrank.verbs.evaluate import evaluate
from counterrank.verbs.robustness_options import (
    measures_of,
    reductions_of,
    samples_of,
    sizes_of,
    threads_of,
)

SAMPLES = 50


def assess_robustness(
    judgments: object,
    runs: Runs,
    *,
    measures: Sequence[str | Measure] = (),
    rel: float | None = None,
    mean: str = "both",
    reductions: Sequence[str] = REDUCTIONS,
    sizes: Sequence[float] = SIZES,
    samples: int = SAMPLES,
    level: float = 0.95,
    seed: int = 0,
    missing: str = "zero",
    no_relevant: str = "zero",
    unjudged: str = "ignore",
    duplicates: str = "error",
    ties: str = "id",
    columns: Mapping[str, str] | None = None,
    threads: int = 0,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress = quiet,
) -> Assessment:
    """Take judgments away, order the systems again, and see how much of the order is left.

    ``judgments`` and ``runs`` are given as to ``evaluate``. ``measures`` are by default the nine of
    Valcarce et al. 2020 at a cut-off of 100, with ``rel`` as the threshold of the binary ones
    (1 unless given). ``mean`` is both, arithmetic or geometric.

    What goes missing: ``reductions`` are some of ratings, items, users (at random, ``samples``
    times for each of ``sizes``, the shares that are left), popular_items and large_users (those
    with the most judgments; of equally many the smaller id goes first).

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
    wanted = measures_of(measures, rel, mean)
    kinds, shares, number = reductions_of(reductions), sizes_of(sizes), samples_of(samples)
    one_of("no_relevant", no_relevant, ("zero", "skip"))
    Plan(level=level, seed=seed)
    whole = evaluate(
        judgments,
        runs,
        measures=wanted,
        level=level,
        test="none",
        missing=missing,
        no_relevant=no_relevant,
        unjudged=unjudged,
        duplicates=duplicates,
        ties=ties,
        columns=columns,
        progress=progress,
    )
    if len(whole.systems) < 2:
        raise UsageError("One system has no order to lose.", todo="Give more runs: ten or more.")
    found = tracks(
        Evidence.of(whole.pool, whole.hits, wanted, whole.policies),
        kinds,
        shares,
        samples=number,
        seed=seed,
        threads=threads_of(threads),
        stored=Checkpoint(resume, _key(whole, number, seed)),
        progress=progress,
    )
    labels = [str(m) for m in wanted]
    areas = list(area_rows(found, labels, level))
    return Assessment(
        kind="assess robustness",
        estimates=[row for row in areas if row.reduction == "all"],
        comparisons=[],
        diagnoses=[enough(len(whole.systems), "systems"), *whole.diagnoses],
        recommendation=advice(found, labels, level),
        tables={
            "areas": [row for row in areas if row.reduction != "all"],
            "curves": list(tau_rows(found, labels, level)),
            "values": list(value_rows(found, labels, whole.systems, level)),
        },
        protocol=_protocol(whole, kinds, shares, number, seed),
        inputs=whole.inputs,
        units=whole.by_unit(),
    )


def _protocol(
    whole: Evaluation, kinds: list[str], sizes: list[float], samples: int, seed: int
) -> dict[str, Any]:
    """All choices behind the numbers."""
    kept = ("unit", "measures", "policies", "ranked_by", "largest_rating", "level", "engine")
    reductions = Reductions(whole.pool)
    return {
        **{key: whole.protocol[key] for key in kept},
        "reductions": {k: {"lost": SAYS[k], "of": reductions.total(k)} for k in kinds},
        "sizes": sizes,
        "samples": samples,
        "seed": seed,
        "correlation": "Kendall tau-b with the order on all judgments; 0 where all systems tie",
        "area": "mean of tau over sizes by the trapezoid rule; over all kinds: their mean",
        "interval": "normal, Monte Carlo only: for these users and systems",
        "equally_many_judgments": "the smaller id is lost first",
        "left_without_judgments": "not counted, as if never in the table",
        "largest_rating_when_reduced": "that of all judgments",
    }


def _key(whole: Evaluation, samples: int, seed: int) -> str:
    """What the values on reduced judgments depend on, besides kind and size."""
    pool = whole.pool
    hits = [x for h in whole.hits for x in (h.unit, h.rank, h.judgment, h.first, h.last, h.depth)]
    names = [pool.units.to_list(), pool.items.to_list()]
    labels = [str(m) for m in whole.measures]
    choices = [asdict(whole.policies), samples, seed]
    return fingerprint("robustness", *choices, labels, *names, pool.size, pool.rating, *hits)
