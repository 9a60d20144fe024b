"""Runs read side by side and aligned, whatever is then made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeVar

import numpy as np
import polars as pl

from counterrank.core.arrays import workers
from counterrank.core.errors import UsageError
from counterrank.core.faults import DataError, Fault
from counterrank.core.progress import Progress
from counterrank.data import schema
from counterrank.data.policies import Policies
from counterrank.data.runs import Runs, named_tables, split_systems, validate_names
from counterrank.data.schema import Input, Table
from counterrank.matching.hits import Coverage, Hits, Pool
from counterrank.matching.walk import aligned
from counterrank.metrics import Measure


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
    named = list(named_tables(runs))
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
    validate_names([system.name for system in systems])
    return known.result(), [read for read, _ in done], systems


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
    return read, [work(part, truth.result(), threads) for part in split_systems(run, name)]


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


def _some(ids: pl.Series) -> str:
    shown = ", ".join(repr(i) for i in ids.unique().sort().head(3))
    return f"{shown}, ... ({ids.dtype})"
