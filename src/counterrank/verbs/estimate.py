"""``estimate``: a log and target rankers in, what each would have earned out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from counterrank import logs
from counterrank.arrays import Floats, Ints, workers
from counterrank.compare import Plan
from counterrank.errors import UsageError, one_of
from counterrank.estimates import Estimate
from counterrank.estimation import LOGGED, Estimation, Key
from counterrank.exposure import Exposure
from counterrank.inference import INTERVALS, RESAMPLES
from counterrank.logged import (
    DEFAULTS,
    PER,
    Basis,
    Estimator,
    MeanWeight,
    OnPolicy,
    Sessions,
    Target,
    Valued,
    Work,
    chosen,
    estimator,
    futures,
    models,
    on_policy,
    refuse_slates,
    settled,
    valued,
)
from counterrank.logged.codes import one_kind
from counterrank.logs import Log
from counterrank.progress import Progress, quiet
from counterrank.ranking.grammar import exposure
from counterrank.schema import Table
from counterrank.systems import Runs, names_and_tables, split
from counterrank.text import parse
from counterrank.trust import weights as about
from counterrank.trust.diagnosis import Diagnosis

TESTS = ("t", "bootstrap", "none")
CORRECTIONS = ("none", "holm", "bh")


def estimate(
    log: object,
    runs: Runs,
    *,
    rewards: str | Sequence[str] = (),
    position_bias: str | Exposure | None = None,
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
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Estimation:
    """Estimate what rankers would have earned, from a log of what another one showed.

    ``log`` has session, item, rank and rewards; each run has session, item and rank or score (or
    ``exposure``, or samples marked by ``draw``). ``position_bias`` says how likely a rank is seen:
    a model as text, or a file written by ``counterrank exposure``.

    What is estimated: the ``rewards`` (columns) per session or per impression, by ``estimators``
    such as ``IPS``, ``IPS(clip=200)``, ``SNIPS``, ``DR``. ``contexts`` are columns the reward
    model may use.
    What is compared: every ranker with ``baseline``, the logged one or another; ``test`` is t,
    bootstrap or none, ``correct`` is holm, bh or none.
    What the log holds: ``logged`` is how the logger's exposure is known (rank, exposure,
    propensity), ``views`` what is known of views (observed, rows: only viewed rows were logged,
    latent).
    What does not fit: ``missing`` (error, skip, logged) is for logged sessions without a list,
    ``disjoint`` (error, zero) for lists of which nothing was logged.
    """
    wanted = tuple(dict.fromkeys(estimator(label) for label in _listed(estimators)))
    plan = _plan(baseline, test, correct, level, interval, resamples, seed)
    one_of("per", per, PER)
    one_of("missing", missing, ("error", "skip", "logged"))
    one_of("disjoint", disjoint, ("auto", "error", "zero"))
    model = _position_model(position_bias)
    read, tables = _read(log, runs, _listed(rewards), _listed(contexts), columns)
    basis = chosen(read, tables, logged=logged, views=views, model=model)
    sessions = Sessions.of(read, gaps="allow" if views == "rows" else "error")
    basis = settled(basis, read, sessions.blocks.length)
    if disjoint == "auto":
        disjoint = "error" if basis.logged == "rank" else "zero"
    targets = {table.system: Target.of(table, sessions.units) for table in tables}
    _refuse_lists(wanted, targets)
    refuse_slates(wanted, basis, sessions, targets)
    with_model = any("model" in e.needs for e in wanted)
    work = Work(
        estimators=(*(e for e in wanted if not isinstance(e, OnPolicy)), MeanWeight()),
        rewards=read.rewards,
        models=models(sessions, basis, read.rewards) if with_model else {},
        per=per,
        missing=missing,
        disjoint=disjoint,
    )
    with_future = any("future" in e.needs for e in wanted)
    done = {}
    for name, target in progress(list(targets.items()), "joining log and rankers"):
        ahead = (
            futures(sessions, basis, target, read.rewards, missing=missing) if with_future else {}
        )
        done[name] = valued(sessions, basis, target, replace(work, futures=ahead))
    found, kept = _estimates(sessions, basis, done, work)
    return Estimation(
        systems=(LOGGED, *targets),
        estimators=wanted,
        rewards=read.rewards,
        found={key: e for key, e in found.items() if key[1] != "MeanWeight"},
        kept=kept,
        diagnoses=_diagnoses(done, found, basis, work),
        valued=done,
        plan=plan,
        basis=basis,
        protocol=_protocol(plan, basis, work, sessions),
        inputs=tuple(table.input() for table in (read, *tables)),
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


def _position_model(given: str | Exposure | None) -> Exposure | None:
    return exposure(parse(given)) if isinstance(given, str) else given


def _read(
    log: object,
    runs: Runs,
    rewards: list[str],
    contexts: list[str],
    columns: Mapping[str, str] | None,
) -> tuple[Log, list[Table]]:
    """Log and runs through the door, side by side, with ids of one kind."""
    named = list(names_and_tables(runs))
    with ThreadPoolExecutor(workers()) as team:
        first = team.submit(logs.log, log, rewards=rewards, contexts=contexts, columns=columns)
        jobs = [
            (name, team.submit(logs.target, table, name=name, columns=columns))
            for name, table in named
        ]
        read = first.result()
        tables = [part for name, job in jobs for part in split(job.result(), name)]
    names = [table.system for table in tables]
    for name in names:
        if names.count(name) > 1 or name == LOGGED:
            raise UsageError(
                f'Two rankers are named "{name}".',
                todo=f'Name them apart: new=path. "{LOGGED}" is the ranker of the log.',
            )
    frames = [read.frame, *(table.frame for table in tables)]
    for column in ("session", "item"):
        frames = one_kind(frames, column)
    frames = [
        f.with_columns(pl.col("item").cast(pl.Categorical)) if f.schema["item"] == pl.String else f
        for f in frames
    ]
    tables = [replace(table, frame=f) for table, f in zip(tables, frames[1:], strict=True)]
    return replace(read, frame=frames[0]), tables


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
    done: Mapping[str, Valued], found: Mapping[Key, Estimate], basis: Basis, work: Work
) -> list[Diagnosis]:
    """What each ranker's numbers rest on."""
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
    return out


def _protocol(plan: Plan, basis: Basis, work: Work, sessions: Sessions) -> dict[str, Any]:
    """All choices behind the numbers."""
    return {
        "unit": "session",
        "per": work.per,
        "cluster": "user" if sessions.cluster is not None else "session",
        "estimators": {str(e): e.formula for e in work.estimators if e.name != "MeanWeight"},
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
