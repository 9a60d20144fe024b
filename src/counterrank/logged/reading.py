"""Log and target rankers through their doors, and in a bucket side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import polars as pl

from counterrank import logs
from counterrank.engine import Bucket, Buckets
from counterrank.errors import UsageError
from counterrank.logs import Log
from counterrank.schema import Door, Table
from counterrank.systems import Runs, names_and_tables, some_runs, split

LOGGED = "logged"  # the name of the ranker that was live


@dataclass(frozen=True)
class Tables:
    """What was read: the log, the targets, and what each logger would have shown."""

    log: Log
    targets: list[Table]
    loggers: list[Table]


@dataclass(frozen=True)
class Given:
    """The tables asked for, by the keys of their doors, with the names of the rankers.

    ``systems`` are the rankers of tables that hold several.
    """

    targets: dict[str, str]
    loggers: dict[str, str]
    systems: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def tables(self, held: Mapping[str, Table]) -> Tables:
        """The tables of a bucket, or their heads, a ranker each; text items as categories."""
        sides = (self.rankers(held, side) for side in (self.targets, self.loggers))
        return Tables(self.log(held), *sides)

    def log(self, held: Mapping[str, Table]) -> Log:
        """The log alone."""
        log = _coded(held["log"])
        assert isinstance(log, Log)
        return log

    def rankers(self, held: Mapping[str, Table], side: Mapping[str, str]) -> list[Table]:
        """The tables of one side, ``targets`` or ``loggers``."""
        return [part for key, name in side.items() for part in self._apart(key, name, held[key])]

    def _apart(self, key: str, name: str, table: Table) -> list[Table]:
        """The rankers of one table; in a bucket some may have no rows."""
        table = _coded(table)
        there = {part.system: part for part in split(table, name)}
        if key not in self.systems:
            return list(there.values())
        none = replace(table, frame=table.frame.clear())
        named = [f"{name}/{own}" if name else own for own in self.systems[key]]
        return [there.get(own, replace(none, system=own)) for own in named]


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
    sides: list[dict[str, str]] = []
    found = {"log": logs.log_door(log, rewards=rewards, contexts=contexts, columns=columns)}
    for kind, given in (("target", runs), ("logger", loggers)):
        side = {}
        for place, (name, table) in enumerate(names_and_tables(given) if some_runs(given) else ()):
            key = f"{kind}-{place}"
            found[key] = logs.target_door(table, name=name, columns=columns)
            side[key] = name
        sides.append(side)
    return found, Given(sides[0], sides[1])


def named(given: Given, held: Buckets) -> Given:
    """With the rankers of tables that hold several, each once."""
    several = [k for k in (*given.targets, *given.loggers) if "system" in held.heads[k].frame]
    if several:
        parts = held.mapped(partial(_systems, several), "looking for rankers")
        found = {k: sorted({name for part in parts for name in part[k]}) for k in several}
        given = replace(given, systems={k: tuple(names) for k, names in found.items()})
    tables = given.tables(held.heads)
    _refuse_names([table.system for table in tables.targets], taken=[LOGGED])
    _refuse_names([table.system for table in tables.loggers], taken=[])
    return given


def _systems(keys: Sequence[str], bucket: Bucket) -> dict[str, list[str]]:
    return {
        key: bucket.tables[key].frame["system"].cast(pl.String).unique().to_list() for key in keys
    }


def _coded(table: Table) -> Table:
    """Items that are text as categories, whose numbers the join compares."""
    if table.frame.schema["item"] != pl.String:
        return table
    return replace(table, frame=table.frame.with_columns(pl.col("item").cast(pl.Categorical)))


def _refuse_names(names: list[str], taken: list[str]) -> None:
    for name in names:
        if [*names, *taken].count(name) > 1:
            raise UsageError(
                f'Two rankers are named "{name}".',
                todo=f'Name them apart: new=path. "{LOGGED}" is the ranker of the log.',
            )
