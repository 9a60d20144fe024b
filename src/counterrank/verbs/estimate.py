"""``estimate``: a log and target rankers in, what each would have earned out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from counterrank.compare import Plan
from counterrank.data.runs import Runs, tables_of
from counterrank.engine import Engine, bucketed
from counterrank.engine import engine as engine_of
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
    Asked,
    Basis,
    Estimator,
    Known,
    Regressor,
    Tables,
    Target,
    Work,
    chosen,
    doors,
    estimator,
    helped,
    named,
    refuse_lists,
    refuse_scores,
    refuse_slates,
    refuse_unseen,
    settled,
    shares,
    swept,
)
from counterrank.moments import kept
from counterrank.progress import Progress, quiet
from counterrank.schema import Named
from counterrank.trust.targets import grounds, mixture
from counterrank.verbs.log_passes import (
    audits_of,
    columns_of,
    looked_at,
    ran_by,
    reward_models,
    weighed,
    with_future,
)


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
    Where it runs: ``engine`` is local, spark, or one of `counterrank.Local` and `counterrank.Spark`
    with what they may use; auto is Spark for Spark frames.
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
    names = Named(columns)
    chosen_engine = engine_of(engine, [log, *tables_of(runs), *tables_of(loggers)])
    entries, given = doors(
        log,
        runs,
        loggers,
        rewards=_listed(rewards),
        contexts=[*_listed(contexts), *by],
        columns=names,
    )
    with bucketed(
        chosen_engine, entries, by="session", ids=("session", "item"), progress=progress
    ) as held:
        names.refuse_unmet()
        given = named(given, held)
        tables = given.tables(held.heads)
        basis = chosen(tables.log, tables.targets, logged=logged, views=views, model=position)
        scope = "whole" if held.whole else "part"
        asked = Asked(given, "allow" if views == "rows" else "error", scores, scope)
        shared = looked_at(held, asked, tables.log)
        basis = settled(basis, shared)
        refuse_unseen(wanted, basis)
        refuse_scores(scores, basis, tables.targets)
        plan.pairs([LOGGED, *(table.system for table in tables.targets)])  # the baseline is there
        served = [table.system for table in tables.loggers]
        known = Known(asked, shared, basis, shares(tables.log, shared, served) if served else {})
        if served:
            basis = replace(basis, logged="propensity" if basis.by_rank else "exposure")
        if disjoint == "auto":
            disjoint = "error" if basis.logged == "rank" else "zero"
        heads = [
            Target.of(replace(t, frame=t.frame.clear()), t.frame["session"].clear(), scores=scores)
            for t in tables.targets
        ]
        refuse_lists(wanted, heads, missing=missing)
        refuse_slates(wanted, basis, heads, loggers=served)
        computed = helped(wanted, sweep=sweep)
        work = Work(
            estimators=computed,
            rewards=tables.log.rewards,
            models={},
            per=per,
            missing=missing,
            disjoint=disjoint,
            scores=scores,
            clips=CLIPS if sweep == "clip" else (float("inf"),),
        )
        if any("model" in e.needs for e in computed):
            work = replace(work, models=reward_models(held, known, work, model))
        targets = [table.system for table in tables.targets]
        works = dict.fromkeys(targets, work)
        if any("future" in e.needs for e in wanted):
            works = {name: with_future(held, known, name, work, model) for name in targets}
        wide = columns_of(work, targets, shared.ranks)
        keep = kept(chosen_engine.inference, shared.sessions, wide, chosen_engine.memory_budget)
        done = weighed(held, known, works, plan, keep)
        rankers, found = done.earned.targets, done.found
        allowed = ["session without list"] if missing != "error" else []
        allowed += ["nothing logged"] if disjoint != "error" else []
        for table in tables.targets:
            rankers[table.system].faults.refuse(allowed)
        diagnoses = [
            *grounds(
                rankers, found, basis, replace(work, estimators=wanted), shared, tables.targets
            ),
            *mixture(shared, loggers=served),
            *audits_of(
                held, known, basis, work.rewards[0], users=done.users, rows=done.earned.sample
            ),
        ]
        inputs = tuple(held.inputs.values())
        ran = ran_by(chosen_engine, held, keep)
    return Estimation(
        systems=(LOGGED, *targets),
        estimators=wanted,
        rewards=work.rewards,
        found={key: e for key, e in found.items() if key[1] in ("OnPolicy", *map(str, wanted))},
        kept=done.kept,
        pairs=done.pairs,
        diagnoses=diagnoses,
        plan=plan,
        protocol={
            **_protocol(plan, basis, work, tables),
            **ran,
        },
        inputs=inputs,
        sweep=[
            row
            for name, part in rankers.items()
            for reward in (work.rewards if sweep == "clip" else ())
            for row in swept(
                name,
                reward,
                {str(e): found[name, str(e), reward] for e in SWEEP},
                part.weights,
                level,
            )
        ],
        weights=[row for name, part in rankers.items() for row in part.weights.spread(name)],
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


def _protocol(plan: Plan, basis: Basis, work: Work, tables: Tables) -> dict[str, Any]:
    """All choices behind the numbers."""
    return {
        "unit": "session",
        "per": work.per,
        "cluster": "user" if tables.log.has("user") else "session",
        "estimators": {str(e): e.formula for e in work.estimators if e.name not in INNER},
        "logged_exposure": basis.logged,
        "views": basis.views,
        "position_bias": None if basis.model is None else str(basis.model),
        "scores": work.scores,
        "missing": work.missing,
        "disjoint": work.disjoint,
        "contexts": list(tables.log.contexts),
        "interval": plan.interval,
        "level": plan.level,
        "test": plan.test,
        "correction": plan.correction,
        "resamples": plan.resamples,
        "seed": plan.seed,
        "baseline": plan.baseline,
    }
