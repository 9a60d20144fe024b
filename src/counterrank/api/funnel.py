"""``funnel``: what recommenders would have sold, from what was shown, clicked and bought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Unpack

from counterrank.api import verb as v
from counterrank.core.parallel import quiet

if TYPE_CHECKING:
    from counterrank.results.result import Result


@v.verb
def funnel(
    funnel: v.Table,
    runs: v.Lists,
    *,
    reward: v.Several = (),
    estimand: Literal["auto", "sales", "if-clicked"] = "auto",
    position_bias: v.PositionBias = None,
    measure: v.ConversionMeasures = (),
    estimator: v.Estimators = ("Naive", "IPS", "SNIPS", "DR"),
    predictions: v.MoreTable = None,
    ctr: v.PairModels = "column",
    cvr: v.PairModels = "column",
    exposure: v.PairModels = "column",
    views: Literal["observed", "latent"] = "observed",
    user_features: v.MoreTable = None,
    item_features: v.MoreTable = None,
    floor: Annotated[float, v.Between(0, 1, "high")] = 0.0,
    pairs: Literal["all", "rows"] = "all",
    users: Literal["auto", "table", "all"] = "auto",
    baseline: str | None = None,
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
    missing: Literal["zero", "error"] = "zero",
    duplicates: v.Duplicates = "error",
    ties: Literal["id", "id32", "file"] = "id",
    columns: v.Columns = None,
    progress: v.Bar = quiet,
    **where: Unpack[v.Where],
) -> Result:
    """Estimate what recommenders would have sold, from what was shown, clicked and bought.

    ``funnel`` has user, item, click, conversion; ``shown`` (1: the user saw it) and ``exposure``
    (how likely that was) if you have them, and the predicted ``ctr`` (chance of a click when seen)
    and ``cvr`` (chance of a conversion after one). Or it is a table of events: user, item, event
    (view, click, purchase), time. Each run has user, item and rank or score. ``predictions`` is a
    further table of user, item, ctr, cvr, exposure; a run may have columns ctr and cvr of its own.
    Instead of columns, ``ctr``, ``cvr`` and ``exposure`` may name models that are fitted to the
    funnel, out of fold: rates, factors, or logistic, which needs ``user_features``,
    ``item_features`` or both: tables with a row per user or item, and columns of numbers, of yes
    or no, or of text. In Python they may also be a model of your own, with ``fit`` and ``predict``
    or ``predict_proba``, or its class.

    What is estimated: the ``reward`` (columns beside or instead of conversion, such as spend) as
    **sales** of the lists, which need ``position_bias``, how likely a rank is seen, and either
    ``shown`` or a column ctr in every run. Otherwise, or with ``estimand="if-clicked"``, what all
    listed items would bring if they were clicked, weighted by their ranks: ``measure`` is DCG@10,
    CG@10, Hits@10 (conversions among the first 10), P@10, RBP, RankSum, or a position model as
    text. That is not sales and decides nothing. ``views`` says whether what was ``shown`` was seen
    (observed), or only as likely as its column rank tells (latent). ``estimator`` is Naive, IPS,
    SNIPS, DM, DR, SNDR, with (clip=...) on 1/exposure, or if clicked on 1/ctr. ``floor`` raises
    smaller ones to it.
    Who could click: with ``pairs`` all, a pair without a row was not clicked; with rows, it could
    not be. ``users`` is who counts: those of the table, all with lists, or auto: all if the table
    holds nothing but clicks.
    What is compared: every run with ``baseline``, the first run if none is named; ``test`` is t,
    bootstrap or none, ``correct`` is holm, bh or none.
    What decides: ``decide_by``, a measure or reward (the first), must reach ``min_lift``; every
    other may lose at most ``margin`` of the baseline, or what ``guard`` says of it.
    What does not fit: ``missing`` (zero, error) is for users without a list, ``duplicates`` (error,
    first) for an item twice in a list, ``ties`` (id, id32, file) for equal scores.
    Where it runs: ``engine`` is local, spark or auto (Spark for Spark frames), with ``memory``,
    ``partitions``, ``scratch`` and ``inference``, or a `counterrank.Local` or `counterrank.Spark`.
    """
    from counterrank.conversions.conversion_estimators import weight_of
    from counterrank.conversions.pipeline import estimate_conversions
    from counterrank.conversions.request import FunnelInputs, funnel_request, reward_columns
    from counterrank.position import position_bias as as_model
    from counterrank.stats.plan import Plan

    both = {"user": user_features, "item": item_features}
    features = {of: table for of, table in both.items() if table is not None}
    labels = {str(m): str(weight_of(m)) for m in v.as_list(measure)}
    names = [*reward_columns(v.as_list(reward)), *(labels.values() or ("sales", "DCG@10"))]
    rule = v.decision_rule(
        decide_by, min_lift, margin, guard, names=names, label=lambda x: labels.get(str(x), str(x))
    )
    plan = Plan(
        baseline, test, correct, level=level, interval=interval, resamples=resamples, seed=seed,
        rule=rule,
    )  # fmt: skip
    request = funnel_request(
        rewards=v.as_list(reward), measures=v.as_list(measure), estimators=v.as_list(estimator),
        features=features, plan=plan, estimand=estimand, ctr=ctr, cvr=cvr, exposure=exposure,
        views=views, position=None if position_bias is None else as_model(position_bias),
        floor=floor, pairs=pairs, users=users, missing=missing, duplicates=duplicates, ties=ties,
    )  # fmt: skip
    engine = v.engine_for(where, funnel, runs, predictions, ties=ties, plan=plan)
    request.validate_engine(engine)
    inputs = FunnelInputs.of(
        funnel, runs, predictions, rewards=request.rewards, features=features, columns=columns
    )
    return estimate_conversions(request, inputs, engine, progress)
