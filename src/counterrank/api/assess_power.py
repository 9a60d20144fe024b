"""``assess power``: how well each measure tells systems apart."""

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


def assess_power(
    source: object,
    runs: Runs | None = None,
    *,
    measures: Sequence[str | Measure] = (),
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
    """How well each measure tells systems apart: p-values of all pairs, their curve, DP.

    ``source`` is judgments, with ``runs``; or alone a table with unit, system, measure and value,
    a folder written by ``--out``, or a result. ``measures`` are labels; of a table, some of its.

    DP is the sum of the p-values of all pairs, from ``draws`` sign flips that all pairs and
    measures share; ``significant`` the share of pairs with p at most 1 - ``level``. The interval
    of DP comes from ``resamples`` of the users, in which p is the normal one.
    ``resume`` is a folder for results so far: the same call goes on where it stopped.
    The other options are those of ``evaluate``.

    >>> import counterrank as cr
    >>> from counterrank.simulate import judged_world
    >>> world = judged_world(users=100)
    >>> result = cr.assess_power(world.judgments, world.runs, measures=["nDCG@10", "RR@10"],
    ...                          draws=2000, resamples=200)
    >>> [row.measure for row in result.estimates]
    ['nDCG@10', 'RR@10']
    """
    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    values = ValueRequest(source, runs, measures, policies, engine, columns, progress)
    plan = Plan(level=level, draws=draws, resamples=resamples, seed=seed)
    return pipeline.assess_power(ResamplingRequest(values, plan, resume))
