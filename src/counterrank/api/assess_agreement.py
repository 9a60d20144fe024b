"""``assess agreement``: which measures put the systems in the same order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack

from counterrank.api import verb as v
from counterrank.core.parallel import quiet

if TYPE_CHECKING:
    from counterrank.results.result import Result


@v.verb
def assess_agreement(
    table: v.Table,
    runs: v.MoreLists = None,
    *,
    measure: v.Measures = (),
    mean: Literal["both", "given"] = "given",
    level: v.Level = 0.95,
    draws: v.Flips | None = None,
    resamples: v.Resamples = 1000,
    seed: v.Seed = 0,
    missing: v.Missing = "zero",
    no_relevant: v.Missing = "zero",
    unjudged: v.Unjudged = "ignore",
    duplicates: v.Duplicates = "error",
    ties: v.Ties = "id",
    columns: v.Columns = None,
    resume: v.Folder = None,
    progress: v.Bar = quiet,
    **where: Unpack[v.Where],
) -> Result:
    """Do measures agree on the order of systems? DCG and nDCG first.

    ``table`` is judgments, with ``runs``; or alone a table with unit, system, measure and value,
    a folder written by ``--out``, or a result. With runs and fewer than two measures, DCG and nDCG
    are added in the form asked for. ``mean="both"`` adds each measure's geometric mean.

    Every two measures get Pearson's and Kendall's correlation over the systems, the probability
    that they order a pair of systems differently, with an interval from ``resamples`` of the users,
    and the pairs they call different (permutation test with ``draws`` flips, at ``level``) in
    opposite directions. ``resume`` is a folder for results so far. The other options are those of
    ``evaluate``. A column fold in judgments and all runs pools folds: a user counts once in each.
    """
    from counterrank.assess import pipeline
    from counterrank.assess.request import ResamplingRequest, ValueRequest
    from counterrank.data.runs import Policies
    from counterrank.stats.plan import Plan

    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    engine = v.engine_for(where, table, runs, ties=ties)
    values = ValueRequest(table, runs, v.as_list(measure), policies, engine, columns, progress)
    plan = Plan(level=level, draws=draws, resamples=resamples, seed=seed)
    return pipeline.assess_agreement(ResamplingRequest(values, plan, resume, mean))
