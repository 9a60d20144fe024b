"""``evaluate``: judgments and runs in, measures with intervals, comparisons and grounds out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from counterrank import schema
from counterrank.arrays import Bools, Floats
from counterrank.blocks import workers
from counterrank.compare import Plan
from counterrank.coverage import Coverage
from counterrank.engine import aligned
from counterrank.errors import InputError, UsageError, one_of
from counterrank.evaluation import Evaluation
from counterrank.hits import Hits, Pool
from counterrank.inference import DRAWS, INTERVALS, RESAMPLES
from counterrank.policies import Policies
from counterrank.pool import pooled
from counterrank.progress import Progress, quiet
from counterrank.ranking import DEFAULTS, Measure, measure
from counterrank.schema import Input, Table

Runs = Mapping[str, object] | Sequence[object] | object


def evaluate(
    judgments: object,
    runs: Runs,
    *,
    measures: Sequence[str | Measure] = DEFAULTS,
    baseline: str | None = None,
    level: float = 0.95,
    interval: str = "normal",
    test: str = "permutation",
    correct: str | None = None,
    family: str = "all",
    draws: int = DRAWS,
    resamples: int = RESAMPLES,
    seed: int = 0,
    missing: str = "zero",
    no_relevant: str = "zero",
    unjudged: str = "ignore",
    duplicates: str = "error",
    ties: str = "id",
    columns: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Evaluation:
    """Evaluate ranked lists against judgments.

    ``judgments`` and each run are a path (Parquet, CSV, TSV, TREC text; file, folder or glob) or a
    pandas, Polars, PyArrow or DuckDB table. ``runs`` maps names to runs, or lists paths named by
    their files, or is one table with a ``system`` column. ``columns`` maps roles to column names.

    The comparisons are computed when they are first asked for.
    """
    wanted = _measures(measures)
    one_of("interval", interval, INTERVALS)
    plan = Plan(baseline, test, correct, family, level, interval, draws, resamples, seed)
    policies = Policies(missing, no_relevant, unjudged, duplicates, ties)
    _refuse_ties(wanted, ties)
    pool, inputs, systems = _aligned_all(judgments, runs, wanted, policies, columns, progress)
    if baseline is not None:
        plan.pairs([s.name for s in systems])
    _refuse_empty(pool, wanted, systems, policies)
    values = np.stack([s.values for s in systems])
    return Evaluation(
        systems=tuple(s.name for s in systems),
        measures=tuple(wanted),
        pool=pool,
        values=values,
        coverage=tuple(s.coverage for s in systems),
        hits=tuple(s.hits for s in systems),
        plan=plan,
        policies=policies,
        inputs=tuple(inputs),
        orders={s.name: s.order for s in systems},
        progress=progress,
    )


@dataclass(frozen=True)
class _System:
    """One system's per-unit values (measures x units; NaN: left out by a policy)."""

    name: str
    order: str
    values: Floats
    coverage: Coverage
    hits: Hits


def _measures(labels: Sequence[str | Measure]) -> list[Measure]:
    if isinstance(labels, (str, Measure)):
        labels = [labels]
    wanted = list(dict.fromkeys(measure(label) for label in labels))
    if not wanted:
        raise UsageError("No measure was asked for.", todo=f"For example {DEFAULTS[1]}.")
    return wanted


def _refuse_ties(measures: list[Measure], ties: str) -> None:
    bent = [str(m) for m in measures if not m.linear]
    if ties == "expected" and bent:
        raise UsageError(
            "The mean over tie orders is exact only for measures that add up gain times exposure.",
            found=f"Not so: {', '.join(bent)}.",
            todo="Leave them out, or use --ties id; the ties diagnosis then gives best and worst.",
        )


def _aligned_all(
    judgments: object,
    runs: Runs,
    measures: list[Measure],
    policies: Policies,
    columns: Mapping[str, str] | None,
    progress: Progress,
) -> tuple[Pool, list[Input], list[_System]]:
    """Read everything once; runs are read and aligned side by side, judgments beside the first."""
    named = list(names_and_tables(runs))
    team = min(workers(), len(named))
    threads = 1 if team > 1 else 0
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(team) as rest:
        truth = first.submit(_judgments, judgments, columns)
        jobs = [
            rest.submit(_one_table, name, table, truth, measures, policies, columns, threads)
            for name, table in named
        ]
        judged, pool = truth.result()
        done = [job.result() for job in progress(jobs, "reading and aligning runs")]
    systems = [system for _, found in done for system in found]
    names = [system.name for system in systems]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(
            f'Two runs are named "{twice[0]}".', todo="Name them apart: new=path/to/run.parquet."
        )
    return pool, [judged, *(read for read, _ in done)], systems


def _judgments(table: object, columns: Mapping[str, str] | None) -> tuple[Input, Pool]:
    read = schema.judgments(table, columns=columns)
    return read.input(), pooled(read)


def _one_table(
    name: str,
    table: object,
    truth: Future[tuple[Input, Pool]],
    measures: list[Measure],
    policies: Policies,
    columns: Mapping[str, str] | None,
    threads: int,
) -> tuple[Input, list[_System]]:
    run = schema.run(table, name=name, columns=columns)
    pool = truth.result()[1]
    found = [_one_system(part, pool, measures, policies, threads) for part in _split(run, name)]
    return run.input(), found


def _split(run: Table, name: str) -> Iterator[Table]:
    """A table with a system column holds several runs."""
    if "system" not in run.frame.columns:
        yield replace(run, system=name or _stem(run.source.name))
        return
    for part in run.frame.partition_by("system", maintain_order=True):
        own = str(part["system"][0])
        yield replace(run, frame=part, system=f"{name}/{own}" if name else own)


def _one_system(
    run: Table, pool: Pool, measures: list[Measure], policies: Policies, threads: int
) -> _System:
    cuts = [m.k for m in measures]
    limit = None if None in cuts else max(k for k in cuts if k is not None)
    hits, seen = aligned(
        run, pool, ties=policies.ties, duplicates=policies.duplicates, limit=limit, threads=threads
    )
    if seen.covered_users == 0:
        raise InputError(
            f'"{run.name}" and the judgments have no user in common.',
            found=f"The run lists {_some(run.frame['user'])}; judged are {_some(pool.units)}.",
            todo="Check that both use the same ids for users (--columns user=NAME).",
        )
    if seen.unjudged_users and policies.unjudged == "error":
        raise InputError(
            f'"{run.name}" lists {seen.unjudged_users:,} users without judgments.',
            todo="Judge them, leave them out, or ignore them: --unjudged ignore.",
        )
    if seen.missing_users and policies.missing == "error":
        raise InputError(
            f'"{run.name}" has no list for {seen.missing_users:,} of {pool.n:,} judged users.',
            found=f"The first is {pool.units[int(np.argmin(hits.present))]!r}.",
            todo="Give each a list, or count them 0 (--missing zero) or leave them out (skip).",
        )
    for m in measures:
        m.refuse(pool)
    values = np.stack([_values(m, hits, pool, policies) for m in measures])
    return _System(run.system, run.order, values, seen, hits)


def _values(m: Measure, hits: Hits, pool: Pool, policies: Policies) -> Floats:
    """Per-unit values, NaN where a policy leaves the unit out."""
    x = m.per_unit(hits, pool)
    out: Bools = np.zeros(pool.n, bool)
    if policies.missing == "skip":
        out |= ~hits.present
    if policies.no_relevant == "skip":
        out |= ~m.defined(pool)
    return np.where(out, np.nan, x)


def _refuse_empty(
    pool: Pool, measures: list[Measure], systems: list[_System], policies: Policies
) -> None:
    for place, m in enumerate(measures):
        blank = ~m.defined(pool)
        if policies.no_relevant == "error" and blank.any():
            raise InputError(
                f"{blank.sum():,} of {pool.n:,} judged users have nothing to find for {m}.",
                found=f"The first is {pool.units[int(np.argmax(blank))]!r}.",
                todo="Leave them out (--no-relevant skip) or count them 0 (zero).",
            )
        for system in systems:
            if np.isnan(system.values[place]).all():
                raise InputError(
                    f"No user is left for {m} of {system.name}.",
                    found="Every judged user is missing or has nothing to find.",
                    todo="Check rel= against the ratings, or use --no-relevant zero.",
                )


def names_and_tables(tables: Runs) -> Iterator[tuple[str, object]]:
    """Names (empty: from the file) and tables, however they were given."""
    if isinstance(tables, Mapping):
        given: Sequence[object] = list(tables.items())
    else:
        given = tables if isinstance(tables, (list, tuple)) else [tables]
    if not given:
        raise UsageError("No table was given.", todo="Give at least one: name=path.")
    for entry in given:
        name, table = entry if isinstance(entry, tuple) else ("", entry)
        yield str(name), table


def _stem(path: str) -> str:
    """A run's name from its path."""
    return Path(os.path.basename(path.rstrip("/"))).name.split(".")[0] or path


def _some(ids: pl.Series) -> str:
    shown = ", ".join(repr(i) for i in ids.unique().sort().head(3))
    return f"{shown}, ... ({ids.dtype})"
