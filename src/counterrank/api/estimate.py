"""``estimate``: what target rankers would have earned, from a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from counterrank.api import verb as v
from counterrank.core.parallel import quiet

if TYPE_CHECKING:
    from counterrank.nuisance.own_model import Model
    from counterrank.results.result import Result


@v.verb
def estimate(
    log: v.Table,
    runs: v.Lists,
    *,
    reward: v.Several = (),
    position_bias: v.PositionBias = None,
    estimator: v.Estimators = v.ESTIMATORS,
    per: Literal["session", "impression"] = "session",
    baseline: str = "logged",
    decide_by: str = "",
    min_lift: v.MinLift = 0.0,
    margin: v.Margin = 0.02,
    guard: v.Guards = None,
    level: v.Level = 0.95,
    interval: v.Interval = "t",
    test: v.Test = "t",
    correct: v.Correct = "holm",
    resamples: v.Resamples = v.RESAMPLES,
    seed: v.Seed = 0,
    scores: Literal["order", "plackett_luce"] = "order",
    logged: Literal["auto", "rank", "exposure", "propensity", "propensity_above"] = "auto",
    views: v.Views = "auto",
    missing: Literal["error", "skip", "logged"] = "error",
    disjoint: Literal["auto", "error", "zero"] = "auto",
    context: v.Several = (),
    logger: v.MoreLists = None,
    model: Annotated[Literal["means"] | Model, "python"] = "means",
    sweep: v.Sweep = "none",
    winsorise: v.Winsorise = None,
    bounds: Literal["auto", "none"] = "auto",
    allow: v.Guards = None,
    horizon: v.Horizon = None,
    columns: v.Columns = None,
    progress: v.Bar = quiet,
    **where: Unpack[v.Where],
) -> Result:
    """Estimate what rankers would have earned, from a log of what another one showed.

    ``log`` has session, item, rank and rewards; each run has session, item and rank or score (or
    ``exposure``, or samples marked by ``draw``). ``position_bias`` says how likely a rank is seen:
    a model as text, or a file written by ``counterrank exposure``, whose error is then in every
    interval; or a method (``views``, ``depth``, ``harvest``, ``swap``, ``em``), which learns it
    from this log and the first reward, ``context`` being that within which items keep their worth.
    ``scores`` of a run order its items, or are those of a ``plackett_luce`` ranker, which draws
    lists by them; its expected exposures are then computed exactly.

    What is estimated: the ``reward`` (one column or several; if none is named, all that are there
    of reward, click, like, conversion, dwell and revenue, the first of which decides) per session
    or impression, by each ``estimator``, such as ``IPS``, ``IPS(clip=200)``, ``SNIPS``, ``DR``. The
    reward ``model`` of DM and DR is ``means`` (shrunken means by item and the columns ``context``),
    a model of your own with ``fit`` and ``predict``, or a column ``predicted`` of the run.
    ``sweep="clip"`` repeats IPS and DR over a range of clips. ``winsorise=0.995`` estimates the
    mean of rewards cut to the size that 99.5 % of those other than 0 do not exceed.
    What is compared: every ranker with ``baseline``, the logged one or another (``test``,
    ``correct``). What decides: ``decide_by`` (the first reward) and ``min_lift``; others:
    ``margin``, ``guard``.
    What the log holds: ``logged`` is how the logger's exposure is known (rank, exposure,
    propensity), ``views`` what is known of views (observed, rows: only viewed rows were logged,
    latent). ``logger`` has the lists of several loggers, for the balance heuristic.
    What does not fit: ``missing`` (error, skip, logged) is for logged sessions without a list,
    ``disjoint`` (error, zero) for lists of which nothing was logged.
    What the log cannot rule out: ``bounds`` adds a second interval, ``allow`` (``trust=0.2``) says
    how far where the log tells nothing, ``horizon`` how many days after the log a claim is about.
    Where it runs: ``engine`` is local, spark or auto (Spark for Spark frames), with ``memory``,
    ``partitions``, ``scratch`` and ``inference``, or a `counterrank.Local` or `counterrank.Spark`.
    """
    from counterrank.core.errors import UsageError
    from counterrank.data.schema import ColumnNames
    from counterrank.engine.partitions import Tables
    from counterrank.ope import pipeline
    from counterrank.ope.estimators import estimator as as_estimator
    from counterrank.ope.request import EstimateRequest, allowed, log_schemas
    from counterrank.ope.reward_model import as_learner
    from counterrank.position.model_file import METHODS
    from counterrank.position.model_file import position_bias as as_model
    from counterrank.stats.plan import Plan

    if not (wanted := tuple(dict.fromkeys(map(as_estimator, v.as_list(estimator))))):
        raise UsageError("No estimator was asked for.", todo="For example DR.")
    plan = Plan(
        baseline, test, correct, level=level, interval=interval, resamples=resamples, seed=seed,
        rule=v.decision_rule(decide_by, min_lift, margin, guard, names=v.as_list(reward)),
    )  # fmt: skip
    engine, names = v.engine_for(where, log, runs, logger, plan=plan), ColumnNames.of(columns)
    within = v.as_list(context)
    asked: dict[str, Any] = {"rewards": v.as_list(reward), "columns": names}
    method = position_bias if isinstance(position_bias, str) and position_bias in METHODS else ""
    position = None if method or position_bias is None else as_model(position_bias)
    learned = None
    if method or (position is not None and position.error is not None):
        from counterrank.ope.learn_curve import learn_curve

        how: dict[str, Any] = {"contexts": within, "engine": engine, "progress": progress}
        position, learned = learn_curve(position or method, log, **how, **asked)
    within = within + ([] if position is None or not position.column else [position.column])
    schemas, tables = log_schemas(
        log, runs, logger, contexts=within, **asked,
        beside=() if learned is None else learned.request.columns,
    )  # fmt: skip
    request = EstimateRequest(
        tables, wanted, position, plan, per, scores, logged, views, missing, disjoint, sweep,
        winsorise, bounds, allowed(v.shares(allow, "allow", "trust")), horizon, learned=learned,
    )  # fmt: skip
    opened = Tables(schemas, "session", ("session", "item"))
    return pipeline.estimate(request, opened, engine, as_learner(model), progress)
