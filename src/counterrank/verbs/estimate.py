"""``estimate``: a log and target rankers in, what each would have earned out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from counterrank.arrays import Floats, Ints
from counterrank.compare import Plan
from counterrank.errors import UsageError, one_of
from counterrank.estimates import Estimate
from counterrank.estimation import Estimation, Key
from counterrank.exposure import ByContext, Exposure
from counterrank.exposure import position_bias as as_model
from counterrank.inference import INTERVALS, RESAMPLES
from counterrank.logged import (
    CLIPS,
    DEFAULTS,
    LOGGED,
    PER,
    SWEEP,
    Basis,
    Clipped,
    Estimator,
    MeanWeight,
    OnPolicy,
    Regressor,
    Sessions,
    SlateWeight,
    Target,
    Valued,
    Work,
    balanced,
    chosen,
    estimator,
    futures,
    models,
    on_policy,
    read,
    refuse_slates,
    settled,
    swept,
    valued,
)
from counterrank.progress import Progress, quiet
from counterrank.systems import Runs
from counterrank.trust import weights as about
from counterrank.trust.audits import log_audits
from counterrank.trust.diagnosis import Diagnosis

INNER = ("MeanWeight", "SlateWeight")  # computed for diagnoses
TESTS = ("t", "bootstrap", "none")
CORRECTIONS = ("none", "holm", "bh")


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
    position = None if position_bias is None else as_model(position_bias)
    by = [] if position is None or position.column is None else [position.column]
    tables = read(
        log,
        runs,
        loggers,
        rewards=_listed(rewards),
        contexts=[*_listed(contexts), *by],
        columns=columns,
    )
    basis = chosen(tables.log, tables.targets, logged=logged, views=views, model=position)
    sessions = Sessions.of(tables.log, gaps="allow" if views == "rows" else "error")
    basis = settled(basis, sessions)
    targets = {table.system: Target.of(table, sessions.units) for table in tables.targets}
    served = {table.system: Target.of(table, sessions.units) for table in tables.loggers}
    if served:
        sessions, basis = balanced(sessions, basis, served)
    if disjoint == "auto":
        disjoint = "error" if basis.logged == "rank" else "zero"
    _refuse_lists(wanted, targets)
    if missing == "logged" and any("predicted" in t.frame.columns for t in tables.targets):
        raise UsageError(
            "Logged lists have no predictions.",
            found='A run has a column "predicted", and some sessions keep their logged list.',
            todo="Leave such sessions out (--missing skip), or give every session a list.",
        )
    refuse_slates(wanted, basis, sessions, targets, loggers=tuple(served))
    computed = (*(e for e in wanted if not isinstance(e, OnPolicy)), MeanWeight())
    computed += tuple(_weight(e) for e in _cut(wanted))
    computed += (SlateWeight(),) if any("chances" in e.needs for e in wanted) else ()
    computed += SWEEP if sweep == "clip" else ()
    with_model = any("model" in e.needs for e in computed)
    work = Work(
        estimators=tuple(dict.fromkeys(computed)),
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
    found, kept = _estimates(sessions, basis, done, work)
    return Estimation(
        systems=(LOGGED, *targets),
        estimators=wanted,
        rewards=tables.log.rewards,
        found={key: e for key, e in found.items() if key[1] in ("OnPolicy", *map(str, wanted))},
        kept=kept,
        diagnoses=_diagnoses(done, found, basis, replace(work, estimators=wanted), sessions),
        valued=done,
        plan=plan,
        basis=basis,
        protocol=_protocol(plan, basis, work, sessions),
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
    one_of("test", test, TESTS)
    one_of("correct", correct, CORRECTIONS)
    one_of("interval", interval, [kind for kind in INTERVALS if kind != "bernstein"])
    return Plan(
        baseline=baseline, test=test, correct=correct, level=level, interval=interval,
        resamples=resamples, seed=seed,
    )  # fmt: skip


def _refuse_lists(wanted: Sequence[Estimator], targets: Mapping[str, Target]) -> None:
    """Classical DCG needs one list per session, not chances or samples of lists."""
    listed = [str(e) for e in wanted if "lists" in e.needs]
    for name, target in targets.items():
        if listed and target.stochastic:
            raise UsageError(
                f"{listed[0]} needs one list per session.",
                found=f'"{name}" gives samples, exposures or propensities.',
                todo="Ask for IPS, SNIPS or DR, or give one list per session.",
            )


def _estimates(
    sessions: Sessions, basis: Basis, done: Mapping[str, Valued], work: Work
) -> tuple[dict[Key, Estimate], dict[str, Ints]]:
    """Influence values of every system, estimator and reward."""
    everyone = np.arange(sessions.n)
    kept = {LOGGED: everyone, **{name: part.kept for name, part in done.items()}}
    tables: dict[Key, tuple[Floats, Estimator]] = {}
    for reward, columns in on_policy(sessions, basis, work).items():
        tables[LOGGED, "OnPolicy", reward] = (columns, OnPolicy())
    for name, part in done.items():
        for reward in work.rewards:
            for e in work.estimators:
                tables[name, str(e), reward] = (part.columns[reward, str(e)], e)
    found = {}
    for key, (columns, e) in tables.items():
        places = kept[key[0]]
        whole = len(places) == sessions.n
        units = sessions.units if whole else sessions.units.gather(places)
        cluster = sessions.cluster
        if cluster is not None and not whole:
            cluster = np.unique(cluster[places], return_inverse=True)[1]
        found[key] = Estimate.of_columns(columns, units, e.combined(work.per), cluster)
    return found, kept


def _diagnoses(
    done: Mapping[str, Valued],
    found: Mapping[Key, Estimate],
    basis: Basis,
    work: Work,
    sessions: Sessions,
) -> list[Diagnosis]:
    """What each ranker's numbers rest on, and the audits of the log by the first reward."""
    out = []
    for name, part in done.items():
        ratio = found[name, "MeanWeight", work.rewards[0]]
        chance = "none" if basis.logged == "rank" and basis.views != "rows" else "some"
        out += [
            about.support(name, part.weights, chance=chance),
            about.mean_weight(name, ratio),
            about.effective_size(name, part.weights),
            about.largest_weight(name, part.weights),
            about.tail(name, part.weights),
        ]
        slates = found.get((name, "SlateWeight", work.rewards[0]))
        out += [] if slates is None else [about.effective_slates(name, slates)]
        for e in _cut(work.estimators):
            if e.name not in INNER and (name, str(e), work.rewards[0]) in found:
                kept = found[name, str(_weight(e)), work.rewards[0]]
                value = found[name, str(e), work.rewards[0]].value
                out.append(about.clipped(name, str(e), kept, value))
    return out + log_audits(sessions, basis, work.rewards[0])


def _cut(estimators: Sequence[Estimator]) -> list[Clipped]:
    """Those that clip."""
    return [e for e in estimators if isinstance(e, Clipped) and e.clip < float("inf")]


def _weight(e: Clipped) -> Clipped:
    """What tells how much of the weight an estimator keeps when it clips."""
    return SlateWeight(clip=e.clip) if "chances" in e.needs else MeanWeight(clip=e.clip)


def _protocol(plan: Plan, basis: Basis, work: Work, sessions: Sessions) -> dict[str, Any]:
    """All choices behind the numbers."""
    return {
        "unit": "session",
        "per": work.per,
        "cluster": "user" if sessions.cluster is not None else "session",
        "estimators": {str(e): e.formula for e in work.estimators if e.name not in INNER},
        "logged_exposure": basis.logged,
        "views": basis.views,
        "position_bias": None if basis.model is None else str(basis.model),
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
