"""Runs read side by side and aligned, whatever is then made of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import polars as pl

from counterrank import schema
from counterrank.arrays import workers
from counterrank.core.faults import DataError, Fault
from counterrank.coverage import Coverage
from counterrank.engine import aligned
from counterrank.errors import UsageError
from counterrank.hits import Hits, Pool
from counterrank.policies import Policies
from counterrank.progress import Progress
from counterrank.ranking import Measure
from counterrank.schema import Input, Table
from counterrank.tables.files import ENDINGS

Runs = Mapping[str, object] | Sequence[object] | object


class Named(Protocol):
    """What is made of one system: it knows its name."""

    @property
    def name(self) -> str:
        """The system's name, unlike that of any other."""


T = TypeVar("T")
S = TypeVar("S", bound=Named)


def in_one_pass(
    truth: Callable[[], T],
    runs: Runs,
    work: Callable[[Table, T, int], S],
    columns: Mapping[str, str] | None,
    progress: Progress,
) -> tuple[T, list[Input], list[S]]:
    """Read every table once: runs side by side, what they are held against beside the first.

    ``work`` makes something of one system's run; it gets the truth and how many threads it may
    use (0: all).
    """
    named = list(names_and_tables(runs))
    team = min(workers(), len(named))
    threads = 1 if team > 1 else 0
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(team) as rest:
        known = first.submit(truth)
        jobs = [
            rest.submit(_one_table, name, table, known, work, columns, threads)
            for name, table in named
        ]
        known.result()
        done = [job.result() for job in progress(jobs, "reading and aligning runs")]
    systems = [system for _, found in done for system in found]
    refuse_twice([system.name for system in systems])
    return known.result(), [read for read, _ in done], systems


def refuse_twice(names: Sequence[str]) -> None:
    """Refuse two systems of one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(
            f'Two runs are named "{twice[0]}".',
            todo='Name them apart: new=path (in Python {"new": table}).',
        )


def _one_table(
    name: str,
    table: object,
    truth: Future[T],
    work: Callable[[Table, T, int], S],
    columns: Mapping[str, str] | None,
    threads: int,
) -> tuple[Input, list[S]]:
    run = schema.run(table, name=name, columns=columns)
    read = run.input()  # hashed while the judgments are still being sorted
    return read, [work(part, truth.result(), threads) for part in split(run, name)]


def split(run: Table, name: str) -> Iterator[Table]:
    """A table with a system column holds several runs: by name, as rows may have no order."""
    if "system" not in run.frame.columns:
        yield replace(run, system=name or stem(run.source.name))
        return
    frame = run.frame if "row" in run.frame.columns else run.frame.with_row_index("row")
    for part in sorted(frame.partition_by("system", maintain_order=True), key=_system):
        own = _system(part)
        yield replace(run, frame=part, system=f"{name}/{own}" if name else own)


def _system(part: pl.DataFrame) -> str:
    return str(part["system"][0])


def listed(
    run: Table, pool: Pool, limit: int | None, policies: Policies, threads: int
) -> tuple[Hits, Coverage]:
    """The hits of one run up to rank ``limit``, unless the policies refuse it."""
    hits, seen = aligned(
        run, pool, ties=policies.ties, duplicates=policies.duplicates, limit=limit, threads=threads
    )
    first = lambda: pool.units[int(np.argmin(hits.present))]  # noqa: E731
    refuse_coverage(run.name, seen, policies, run.frame["user"], pool.units, first)
    return hits, seen


def refuse_coverage(
    name: str,
    seen: Coverage,
    policies: Policies,
    listed: pl.Series,
    judged: pl.Series,
    missing: Callable[[], object],
) -> None:
    """Lists and judgments that do not meet, and what the policies call an error.

    ``listed`` and ``judged`` are ids of users to show, ``missing`` gives the first without a list.
    """
    many, of = seen.missing_users, seen.judged_users
    if seen.covered_users == 0:
        some = {"listed": _some(listed), "judged": _some(judged)}
        raise DataError(Fault("no user in common", name, count=many, of=of, more=some))
    if seen.unjudged_users and policies.unjudged == "error":
        raise DataError(Fault("user not judged", name, count=seen.unjudged_users))
    if many and policies.missing == "error":
        what, first = "judged user without list", {"id": missing()}
        raise DataError(Fault(what, name, count=many, of=of, first=first))


def refuse_ties(measures: list[Measure], ties: str) -> None:
    """Refuse the mean over tie orders for measures that have no exact one."""
    bent = [str(m) for m in measures if not m.linear]
    if ties == "expected" and bent:
        raise UsageError(
            "The mean over tie orders is exact only for measures that add up gain times exposure.",
            found=f"Not so: {', '.join(bent)}.",
            todo="Leave them out, or use --ties id; the ties diagnosis then gives best and worst.",
        )


def some_runs(runs: Runs | None) -> bool:
    """Whether runs were given at all; a table is not asked for its truth."""
    return runs is not None and not (isinstance(runs, (Mapping, list, tuple)) and not len(runs))


def tables_of(runs: Runs | None) -> list[object]:
    """The tables alone, however they were given."""
    return [] if runs is None else [table for _, table in names_and_tables(runs)]


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


def stem(path: str) -> str:
    """A run's name from its path."""
    name = Path(path).name
    ending = next((e for e in ENDINGS if name.lower().endswith(e)), Path(name).suffix)
    return name[: len(name) - len(ending)] or path


def _some(ids: pl.Series) -> str:
    shown = ", ".join(repr(i) for i in ids.unique().sort().head(3))
    return f"{shown}, ... ({ids.dtype})"
