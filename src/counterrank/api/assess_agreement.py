"""``assess agreement``: which measures put the systems in the same order."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from counterrank.assess import pipeline
from counterrank.assess.request import RESAMPLES, ResamplingRequest, ValueRequest
from counterrank.core.parallel import Progress, quiet
from counterrank.data.runs import Policies, Runs
from counterrank.engine import Engine
from counterrank.metrics import Measure
from counterrank.results.result import Result
from counterrank.stats.compare import Plan
from counterrank.stats.permutation import DRAWS


def assess_agreement(
    source: object,
    runs: Runs | None = None,
    *,
    measures: Sequence[str | Measure] = (),
    means: str = "both",
    level: float = 0.95,
    draws: int = DRAWS,
    resamples: int = RESAMPLES,
    seed: int = 0,
    missing: str = "zero",
    no_relevant: str = "zero",
    unjudged: str = "ignore",
    duplicates: str = "error",
    ties: str = "id",
    engine: str | Engine = "auto",
    columns: Mapping[str, str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress = quiet,
) -> Result:
    """Do measures agree on the order of systems? DCG and nDCG first.

    ``source`` is judgments, with ``runs``; or alone a table with unit, system, measure and value,
    a folder written by ``--out``, or a result. With runs, DCG and nDCG are added in the form asked
    for. ``means="both"`` adds each measure's geometric mean, ``given`` adds none.

    Every two measures get Pearson's and Kendall's correlation over the systems, the probability
    that they order a pair of systems differently, with an interval from ``resamples`` of the users,
    and the pairs they call different (permutation test with ``draws`` flips, at ``level``) in
    opposite directions. ``resume`` is a folder for results so far. The other options are those of
    ``evaluate``.
    """
    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    values = ValueRequest(source, runs, measures, policies, engine, columns, progress)
    plan = Plan(level=level, draws=draws, resamples=resamples, seed=seed)
    return pipeline.assess_agreement(ResamplingRequest(values, plan, resume, means))
