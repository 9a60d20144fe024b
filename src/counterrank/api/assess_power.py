"""``assess power``: how well each measure tells systems apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from counterrank.api import verb as v
from counterrank.core.parallel import quiet

if TYPE_CHECKING:
    from counterrank.results.result import Result


@v.verb
def assess_power(
    table: v.Table,
    runs: v.MoreLists = None,
    *,
    measure: v.Measures = (),
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
    """How well each measure tells systems apart: p-values of all pairs, their curve, DP.

    ``table`` is judgments, with ``runs``; or alone a table with unit, system, measure and value,
    a folder written by ``--out``, or a result. ``measure`` are labels; of a table, some of its.

    DP is the sum of the p-values of all pairs, from ``draws`` sign flips that all pairs and
    measures share; ``significant`` the share of pairs with p at most 1 - ``level``. The interval
    of DP comes from ``resamples`` of the users, in which p is the normal one.
    ``resume`` is a folder for results so far: the same call goes on where it stopped.
    A column fold in judgments and all runs pools folds: a user counts once in each.
    The other options are those of ``evaluate``.

    >>> import counterrank as cr
    >>> from counterrank.simulate import judged_world
    >>> world = judged_world(users=100)
    >>> result = cr.assess_power(world.judgments, world.runs, measure=["nDCG@10", "RR@10"],
    ...                          draws=2000, resamples=200)
    >>> [row.measure for row in result.estimates]
    ['nDCG@10', 'RR@10']
    """
    from counterrank.assess import pipeline
    from counterrank.assess.request import ResamplingRequest, ValueRequest
    from counterrank.data.runs import Policies
    from counterrank.stats.plan import Plan

    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    engine = v.engine_for(where, table, runs, ties=ties)
    values = ValueRequest(table, runs, v.as_list(measure), policies, engine, columns, progress)
    plan = Plan(level=level, draws=draws, resamples=resamples, seed=seed)
    return pipeline.assess_power(ResamplingRequest(values, plan, resume))
