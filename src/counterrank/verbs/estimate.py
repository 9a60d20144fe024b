"""``estimate``: a log and target rankers in, what each would have earned out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from counterrank.compare import Plan
from counterrank.errors import one_of
from counterrank.estimation import Estimation
from counterrank.exposure import ByContext, Exposure
from counterrank.exposure import position_bias as as_model
from counterrank.inference import RESAMPLES
from counterrank.lifts import refuse_plan
from counterrank.logged import (
    CLIPS,
    DEFAULTS,
    INNER,
    LOGGED,
    PER,
    SWEEP,
    Basis,
    Estimator,
    Regressor,
    Sessions,
    Target,
    Work,
    balanced,
    chosen,
    estimated,
    estimator,
    futures,
    helped,
    models,
    read,
    refuse_lists,
    refuse_scores,
    refuse_slates,
    refuse_unseen,
    settled,
    swept,
    valued,
)
from counterrank.progress import Progress, quiet
from counterrank.schema import Named
from counterrank.systems import Runs
from counterrank.trust.targets import grounds


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
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Estimation:
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
    """
    wanted = tuple(dict.fromkeys(estimator(label) for label in _listed(estimators)))
    plan = _plan(baseline, test, correct, level, interval, resamples, seed)
    one_of("per", per, PER)
    one_of("missing", missing, ("error", "skip", "logged"))
    one_of("disjoint", disjoint, ("auto", "error", "zero"))
    one_of("sweep", sweep, ("none", "clip"))
    one_of("scores", scores, ("order", "plackett_luce"))
    position = None if position_bias is None else as_model(position_bias)
    by = [] if position is None or position.column is None else [position.column]
    named = Named(columns)
    tables = read(
        log,
        runs,
        loggers,
        rewards=_listed(rewards),
        contexts=[*_listed(contexts), *by],
        columns=named,
    )
    named.refuse_unmet()
    basis = chosen(tables.log, tables.targets, logged=logged, views=views, model=position)
    sessions = Sessions.of(tables.log, gaps="allow" if views == "rows" else "error")
    basis = settled(basis, sessions)
    refuse_unseen(wanted, basis)
    refuse_scores(scores, basis, tables.targets)
    plan.pairs([LOGGED, *(table.system for table in tables.targets)])  # the baseline is there
    targets = {
        table.system: Target.of(table, sessions.units, scores=scores) for table in tables.targets
    }
    served = {
        table.system: Target.of(
            table, sessions.units, scores=scores if table.order == "score" else "order"
        )
        for table in tables.loggers
    }
    if served:
        sessions, basis = balanced(sessions, basis, served)
    if disjoint == "auto":
        disjoint = "error" if basis.logged == "rank" else "zero"
    refuse_lists(wanted, targets, missing=missing)
    refuse_slates(wanted, basis, sessions, targets, loggers=tuple(served))
    computed = helped(wanted, sweep=sweep)
    with_model = any("model" in e.needs for e in computed)
    work = Work(
        estimators=computed,
        rewards=tables.log.rewards,
        models=models(sessions, basis, tables.log.rewards, model) if with_model else {},
        per=per,
        missing=missing,
        disjoint=disjoint,
        clips=CLIPS if sweep == "clip" else (float("inf"),),
    )
    with_future = any("future" in e.needs for e in wanted)
    done = {}
    for name, target in progress(list(targets.items()), "joining log and rankers"):
        own = work
        if with_future:
            own = replace(work, futures=futures(sessions, basis, target, work, model))
        done[name] = valued(sessions, basis, target, own)
    found, kept = estimated(sessions, basis, done, work)
    return Estimation(
        systems=(LOGGED, *targets),
        estimators=wanted,
        rewards=tables.log.rewards,
        found={key: e for key, e in found.items() if key[1] in ("OnPolicy", *map(str, wanted))},
        kept=kept,
        diagnoses=grounds(done, found, basis, replace(work, estimators=wanted), sessions, targets),
        plan=plan,
        protocol=_protocol(plan, basis, work, sessions, targets),
        inputs=tuple(table.input() for table in tables.all),
        sweep=[
            row
            for name, part in done.items()
            for reward in (tables.log.rewards if sweep == "clip" else ())
            for row in swept(
                name,
                reward,
                {str(e): found[name, str(e), reward] for e in SWEEP},
                part.weights,
                level,
            )
        ],
        weights=[row for name, part in done.items() for row in part.weights.spread(name)],
    )


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, (str, Estimator)) else list(given)


def _plan(
    baseline: str,
    test: str,
    correct: str,
    level: float,
    interval: str,
    resamples: int,
    seed: int,
) -> Plan:
    refuse_plan(test, correct, interval)
    return Plan(
        baseline=baseline, test=test, correct=correct, level=level, interval=interval,
        resamples=resamples, seed=seed,
    )  # fmt: skip


def _protocol(
    plan: Plan, basis: Basis, work: Work, sessions: Sessions, targets: Mapping[str, Target]
) -> dict[str, Any]:
    """All choices behind the numbers."""
    return {
        "unit": "session",
        "per": work.per,
        "cluster": "user" if sessions.cluster is not None else "session",
        "estimators": {str(e): e.formula for e in work.estimators if e.name not in INNER},
        "logged_exposure": basis.logged,
        "views": basis.views,
        "position_bias": None if basis.model is None else str(basis.model),
        "scores": next((t.scores for t in targets.values()), "order"),
        "missing": work.missing,
        "disjoint": work.disjoint,
        "contexts": list(sessions.log.contexts),
        "interval": plan.interval,
        "level": plan.level,
        "test": plan.test,
        "correction": plan.correction,
        "resamples": plan.resamples,
        "seed": plan.seed,
        "baseline": plan.baseline,
        "engine": "local",
    }
