"""``estimate``: a log and target rankers in, what each would have earned out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from counterrank.core.parallel import Progress, quiet
from counterrank.data.runs import Runs, tables_of
from counterrank.data.schema import ColumnNames
from counterrank.engine import Engine
from counterrank.engine import engine as choose_engine
from counterrank.engine.partitions import Tables
from counterrank.ope import pipeline
from counterrank.ope.estimators import DEFAULTS, estimator
from counterrank.ope.estimators.ips import Estimator
from counterrank.ope.request import LOGGED, EstimateRequest, log_schemas
from counterrank.ope.reward_model import Regressor
from counterrank.position import ByContext, Exposure
from counterrank.position import position_bias as position_model
from counterrank.results.result import Result
from counterrank.stats.compare import Plan
from counterrank.stats.inference import RESAMPLES


def estimate(
    log: object,
    runs: Runs,
    *,
    rewards: str | Sequence[str] = (),
    position_bias: str | Path | Exposure | ByContext | None = None,
    estimators: Sequence[str | Estimator] = DEFAULTS,
    per: str = "session",
    baseline: str = LOGGED,
    level: float = 0.95,
    interval: str = "normal",
    test: str = "t",
    correct: str = "holm",
    resamples: int = RESAMPLES,
    seed: int = 0,
    scores: str = "order",
    logged: str = "auto",
    views: str = "auto",
    missing: str = "error",
    disjoint: str = "auto",
    contexts: str | Sequence[str] = (),
    loggers: Runs | None = None,
    model: str | Regressor = "means",
    sweep: str = "none",
    engine: str | Engine = "auto",
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Result:
    """Estimate what rankers would have earned, from a log of what another one showed.

    ``log`` has session, item, rank and rewards; each run has session, item and rank or score (or
    ``exposure``, or samples marked by ``draw``). ``position_bias`` says how likely a rank is seen:
    a model as text, or a file written by ``counterrank exposure``.

    ``scores`` of a run order its items, or are those of a ``plackett_luce`` ranker, which draws
    lists by them; its expected exposures are then computed exactly.

    What is estimated: the ``rewards`` (columns) per session or per impression, by ``estimators``
    such as ``IPS``, ``IPS(clip=200)``, ``SNIPS``, ``DR``. The reward model of DM and DR is
    ``means`` (shrunken means by item and by the columns ``contexts``), a scikit-learn regressor, or
    a column ``predicted`` of the run. ``sweep="clip"`` repeats IPS and DR over a range of clips.
    What is compared: every ranker with ``baseline``, the logged one or another; ``test`` is t,
    bootstrap or none, ``correct`` is holm, bh or none.
    What the log holds: ``logged`` is how the logger's exposure is known (rank, exposure,
    propensity), ``views`` what is known of views (observed, rows: only viewed rows were logged,
    latent). ``loggers`` are the lists of several loggers, for the balance heuristic.
    What does not fit: ``missing`` (error, skip, logged) is for logged sessions without a list,
    ``disjoint`` (error, zero) for lists of which nothing was logged.
    Where it runs: ``engine`` is local, spark, or one of `counterrank.Local` and `counterrank.Spark`
    with what they may use; auto is Spark for Spark frames.
    """
    wanted = tuple(dict.fromkeys(estimator(label) for label in listed(estimators)))
    plan = Plan(
        baseline=baseline,
        test=test,
        correct=correct,
        level=level,
        interval=interval,
        resamples=resamples,
        seed=seed,
    )
    position = None if position_bias is None else position_model(position_bias)
    by = [] if position is None or position.column is None else [position.column]
    chosen = choose_engine(engine, [log, *tables_of(runs), *tables_of(loggers)])
    schemas, tables = log_schemas(
        log,
        runs,
        loggers,
        rewards=listed(rewards),
        contexts=[*listed(contexts), *by],
        columns=ColumnNames(columns),
    )
    request = EstimateRequest(
        tables, wanted, position, plan, per, scores, logged, views, missing, disjoint, sweep
    )
    open_source = Tables(schemas, "session", ("session", "item"))
    return pipeline.estimate(request, open_source, chosen, model, progress)


def listed(given: Any) -> list[Any]:
    """One word or several, as a list."""
    return [given] if isinstance(given, (str, Estimator)) else list(given)
