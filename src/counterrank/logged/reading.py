"""Log and target rankers through their doors, and in a bucket side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from counterrank import logs
from counterrank.core.merge import by_key, union
from counterrank.data.ids import as_categories
from counterrank.data.runs import Runs, RunTables, run_schemas
from counterrank.engine import Bucket, Buckets
from counterrank.errors import UsageError
from counterrank.logs import Log
from counterrank.schema import Door, Table

LOGGED = "logged"  # the name of the ranker that was live


@dataclass(frozen=True)
class Tables:
    """What was read: the log, the targets, and what each logger would have shown."""

    log: Log
    targets: list[Table]
    loggers: list[Table]


@dataclass(frozen=True)
class Given:
    """The tables asked for: those of the target rankers, and of the loggers."""

    targets: RunTables
    loggers: RunTables

    def tables(self, held: Mapping[str, Table]) -> Tables:
        """The tables of a bucket, or their heads, a ranker each; text items as categories."""
        return Tables(self.log(held), rankers(self.targets, held), rankers(self.loggers, held))

    def log(self, held: Mapping[str, Table]) -> Log:
        """The log alone."""
        log = held["log"]
        assert isinstance(log, Log)
        return replace(log, frame=as_categories(log.frame))


def rankers(side: RunTables, held: Mapping[str, Table]) -> list[Table]:
    """Every ranker's lists of one side, targets or loggers; in a bucket some may have no rows."""
    tables = {key: replace(held[key], frame=as_categories(held[key].frame)) for key in side.names}
    return side.lists(tables)


def doors(
    log: object,
    runs: Runs,
    loggers: Runs | None,
    *,
    rewards: Sequence[str],
    contexts: Sequence[str],
    columns: Mapping[str, str] | None,
) -> tuple[dict[str, Door], Given]:
    """The doors of all tables, and what is behind them."""

    def door(table: object, name: str) -> Door:
        return logs.target_door(table, name=name, columns=columns)

    own = {"log": logs.log_door(log, rewards=rewards, contexts=contexts, columns=columns)}
    targets, names = run_schemas(runs, door, "target")
    more, more_names = run_schemas(loggers, door, "logger")
    return own | targets | more, Given(RunTables(names), RunTables(more_names))


def named(given: Given, held: Buckets) -> Given:
    """With the rankers of tables that hold several, each once."""
    sides = [RunTables.of(side.names, held.heads) for side in (given.targets, given.loggers)]
    if any(side.systems for side in sides):
        parts = held.mapped(partial(_systems, sides), "looking for rankers")
        systems = [by_key(union)(list(side)) for side in zip(*parts, strict=True)]
        sides = [side.with_systems(x) for side, x in zip(sides, systems, strict=True)]
    _refuse_names(sides[0].labels, taken=[LOGGED])
    _refuse_names(sides[1].labels, taken=[])
    return Given(*sides)


def _systems(sides: Sequence[RunTables], bucket: Bucket) -> list[dict[str, pl.Series]]:
    return [side.systems_in(bucket.tables) for side in sides]


def _refuse_names(names: list[str], taken: list[str]) -> None:
    for name in names:
        if [*names, *taken].count(name) > 1:
            raise UsageError(
                f'Two rankers are named "{name}".',
                todo=f'Name them apart: new=path. "{LOGGED}" is the ranker of the log.',
            )
