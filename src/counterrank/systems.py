"""Judgments and runs read side by side, aligned, and every measure computed for every unit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from counterrank import schema
from counterrank.arrays import Floats, workers
from counterrank.coverage import Coverage
from counterrank.engine import aligned
from counterrank.errors import InputError, UsageError
from counterrank.hits import Hits, Pool
from counterrank.policies import Policies
from counterrank.pool import pooled
from counterrank.progress import Progress
from counterrank.ranking import Measure, beside, deepest, values
from counterrank.schema import Input, Table
from counterrank.tables.files import ENDINGS

Runs = Mapping[str, object] | Sequence[object] | object


@dataclass(frozen=True)
class System:
    """One system's per-unit values (measures x units; NaN: left out by a policy).

    ``beside`` has those of measures that only the diagnoses look at.
    """

    name: str
    order: str
    values: Floats
    beside: dict[Measure, Floats]
    coverage: Coverage
    hits: Hits


def gathered(
    judgments: object,
    runs: Runs,
    measures: list[Measure],
    policies: Policies,
    columns: Mapping[str, str] | None,
    progress: Progress,
) -> tuple[Pool, list[Input], list[System]]:
    """Read everything once; runs are read and aligned side by side, judgments beside the first."""
    named = list(names_and_tables(runs))
    extra = beside(measures, systems=len(named))
    team = min(workers(), len(named))
    threads = 1 if team > 1 else 0
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(team) as rest:
        truth = first.submit(_judgments, judgments, columns)
        jobs = [
            rest.submit(_one_table, name, table, truth, measures, extra, policies, columns, threads)
            for name, table in named
        ]
        judged, pool = truth.result()
        done = [job.result() for job in progress(jobs, "reading and aligning runs")]
    systems = [system for _, found in done for system in found]
    names = [system.name for system in systems]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(
            f'Two runs are named "{twice[0]}".',
            todo='Name them apart: new=path (in Python {"new": table}).',
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
    extra: list[Measure],
    policies: Policies,
    columns: Mapping[str, str] | None,
    threads: int,
) -> tuple[Input, list[System]]:
    run = schema.run(table, name=name, columns=columns)
    read = run.input()  # hashed while the judgments are still being sorted
    pool = truth.result()[1]
    return read, [
        _one_system(part, pool, measures, extra, policies, threads) for part in split(run, name)
    ]


def split(run: Table, name: str) -> Iterator[Table]:
    """A table with a system column holds several runs."""
    if "system" not in run.frame.columns:
        yield replace(run, system=name or _stem(run.source.name))
        return
    for part in run.frame.with_row_index("row").partition_by("system", maintain_order=True):
        own = str(part["system"][0])
        yield replace(run, frame=part, system=f"{name}/{own}" if name else own)


def _one_system(
    run: Table,
    pool: Pool,
    measures: list[Measure],
    extra: list[Measure],
    policies: Policies,
    threads: int,
) -> System:
    limit = deepest(measures)
    hits, seen = aligned(
        run, pool, ties=policies.ties, duplicates=policies.duplicates, limit=limit, threads=threads
    )
    _refuse_coverage(run, pool, hits, seen, policies)
    for m in measures:
        m.refuse(pool)
    both = [*measures, *extra]
    x = unit_values(both, hits, pool, policies, threads=threads or workers())
    cut = len(measures)
    return System(
        run.system, run.order, x[:cut], dict(zip(extra, x[cut:], strict=True)), seen, hits
    )


def _refuse_coverage(
    run: Table, pool: Pool, hits: Hits, seen: Coverage, policies: Policies
) -> None:
    """Lists and judgments that do not meet, and what the policies call an error."""
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


def refuse_ties(measures: list[Measure], ties: str) -> None:
    """Refuse the mean over tie orders for measures that have no exact one."""
    bent = [str(m) for m in measures if not m.linear]
    if ties == "expected" and bent:
        raise UsageError(
            "The mean over tie orders is exact only for measures that add up gain times exposure.",
            found=f"Not so: {', '.join(bent)}.",
            todo="Leave them out, or use --ties id; the ties diagnosis then gives best and worst.",
        )


def refuse_empty(
    pool: Pool, measures: list[Measure], systems: list[System], policies: Policies
) -> None:
    """Refuse users with nothing to find where that is an error, and measures without any user."""
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


def unit_values(
    measures: Sequence[Measure], hits: Hits, pool: Pool, policies: Policies, *, threads: int = 1
) -> Floats:
    """Per-unit values (measures x units), NaN where a policy leaves the unit out."""
    x = values(measures, hits, pool, threads=threads)
    if policies.missing == "skip":
        x[:, ~hits.present] = np.nan
    if policies.no_relevant == "skip":
        for row, m in enumerate(measures):
            x[row, ~m.defined(pool)] = np.nan
    return x


def names_and_tables(tables: Runs) -> Iterator[tuple[str, object]]:
    """Names (empty: from the file) and tables, however they were given."""
    if isinstance(tables, Mapping):
        given: Sequence[object] = list(tables.items())
    else:
        given = tables if isinstance(tables, (list, tuple)) else [tables]
    if not given:
        raise UsageError("No table was given.", todo="Give at least one: name=path.")
    for place, entry in enumerate(given, 1):
        name, table = entry if isinstance(entry, tuple) and len(entry) == 2 else ("", entry)
        if not name and not isinstance(table, (str, os.PathLike)) and len(given) > 1:
            name = f"run{place}"
        yield str(name), table


def _stem(path: str) -> str:
    """A run's name from its path."""
    name = Path(path).name
    ending = next((e for e in ENDINGS if name.lower().endswith(e)), Path(name).suffix)
    return name[: len(name) - len(ending)] or path


def _some(ids: pl.Series) -> str:
    shown = ", ".join(repr(i) for i in ids.unique().sort().head(3))
    return f"{shown}, ... ({ids.dtype})"
