"""Log and target rankers through the door, side by side, with ids of one kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import polars as pl

from counterrank import logs
from counterrank.arrays import workers
from counterrank.blocks import one_kind
from counterrank.errors import UsageError
from counterrank.logs import Log
from counterrank.schema import Table
from counterrank.systems import Runs, names_and_tables, split

LOGGED = "logged"  # the name of the ranker that was live


@dataclass(frozen=True)
class Tables:
    """What was read: the log, the targets, and what each logger would have shown."""

    log: Log
    targets: list[Table]
    loggers: list[Table]

    @property
    def all(self) -> list[Table]:
        """Every table."""
        return [self.log, *self.targets, *self.loggers]


def read(
    log: object,
    runs: Runs,
    loggers: Runs | None,
    *,
    rewards: Sequence[str],
    contexts: Sequence[str],
    columns: Mapping[str, str] | None,
) -> Tables:
    """All tables, read in threads."""
    named = list(names_and_tables(runs))
    more = list(names_and_tables(loggers)) if loggers else []
    with ThreadPoolExecutor(workers()) as team:
        first = team.submit(logs.log, log, rewards=rewards, contexts=contexts, columns=columns)
        jobs = [
            (name, team.submit(logs.target, table, name=name, columns=columns))
            for name, table in (*named, *more)
        ]
        found = first.result()
        parts = [list(split(job.result(), name)) for name, job in jobs]
    targets = [table for part in parts[: len(named)] for table in part]
    shown = [table for part in parts[len(named) :] for table in part]
    _refuse_names([table.system for table in targets], taken=[LOGGED])
    _refuse_names([table.system for table in shown], taken=[])
    frames = [table.frame for table in (found, *targets, *shown)]
    for column in ("session", "item"):
        frames = one_kind(frames, column)
    if frames[0].schema["item"] == pl.String:
        frames = [frame.with_columns(pl.col("item").cast(pl.Categorical)) for frame in frames]
    targets = [replace(t, frame=f) for t, f in zip(targets, frames[1:], strict=False)]
    shown = [replace(t, frame=f) for t, f in zip(shown, frames[1 + len(targets) :], strict=True)]
    return Tables(replace(found, frame=frames[0]), targets, shown)


def _refuse_names(names: list[str], taken: list[str]) -> None:
    for name in names:
        if [*names, *taken].count(name) > 1:
            raise UsageError(
                f'Two rankers are named "{name}".',
                todo=f'Name them apart: new=path. "{LOGGED}" is the ranker of the log.',
            )
