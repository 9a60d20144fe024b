"""Runs: tables of lists, of one system each or of several in a column ``system``.

`run_schemas` takes them as a caller gives them, `RunTables` finds every system's lists in a
partition. Where a table has a column ``system``, one pass over the partitions (`systems_in`) says
which systems there are: a partition may hold rows of some of them only. `Policies` say what becomes
of lists that do not fit the judgments.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from counterrank.core.errors import UsageError
from counterrank.core.input_files import ENDINGS
from counterrank.data.schema import Schema, Table

TIES = ("id", "id32", "file", "expected")


@dataclass(frozen=True)
class Policies:
    """The defaults never shrink the denominator.

    ``missing``: judged users without a list. ``no_relevant``: users with nothing to find.
    ``unjudged``: listed users without judgments. ``duplicates``: an item twice in a list.
    ``ties``: the order of equal scores.
    """

    missing: str = "zero"
    no_relevant: str = "zero"
    unjudged: str = "ignore"
    duplicates: str = "error"
    ties: str = "id"


Runs = Mapping[str, object] | Sequence[object] | object


def has_runs(runs: Runs | None) -> bool:
    """Whether runs were given at all; a table is not asked for its truth."""
    return runs is not None and not (isinstance(runs, (Mapping, list, tuple)) and not len(runs))


def tables_of(runs: Runs | None) -> list[object]:
    """The tables alone, however they were given."""
    return [] if runs is None else [table for _, table in named_tables(runs)]


def named_tables(runs: Runs) -> Iterator[tuple[str, object]]:
    """Names (empty: from the file) and tables, however they were given."""
    if isinstance(runs, Mapping):
        given: Sequence[object] = list(runs.items())
    else:
        given = runs if isinstance(runs, (list, tuple)) else [runs]
    if not given:
        raise UsageError("No table was given.", todo="Give at least one: name=path.")
    for place, entry in enumerate(given, 1):
        name, table = entry if isinstance(entry, tuple) and len(entry) == 2 else ("", entry)
        if not name and not isinstance(table, (str, os.PathLike)) and len(given) > 1:
            name = f"run{place}"
        yield str(name), table


def run_schemas(
    runs: Runs | None, schema: Callable[[object, str], Schema], kind: str = "run"
) -> tuple[dict[str, Schema], dict[str, str]]:
    """The schemas of all runs by key (``run 0``, ``run 1``, ...), and the names given to them.

    ``schema`` makes that of one table and its name.
    """
    given = list(named_tables(runs)) if has_runs(runs) else []
    names = {f"{kind} {place}": name for place, (name, _) in enumerate(given)}
    tables = (schema(table, name) for name, table in given)
    return dict(zip(names, tables, strict=True)), names


@dataclass(frozen=True)
class RunTables:
    """Tables of lists by key, and the names of their systems.

    ``names`` are the systems' names by table; where ``systems`` has a table, its rows name their
    systems: these, in order (none: not looked for yet), and the table's name comes before them.
    """

    names: Mapping[str, str]
    systems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Mapping[str, str], heads: Mapping[str, Table]) -> RunTables:
        """By the tables' columns; what has no name at all is called after its file."""
        several = {key: () for key in names if "system" in heads[key].frame.columns}
        named = {
            key: name or ("" if key in several else run_name(heads[key].name))
            for key, name in names.items()
        }
        return cls(named, several)

    def systems_in(self, tables: Mapping[str, Table]) -> dict[str, pl.Series]:
        """The names in the columns ``system`` of a partition: merge by ``by_key(union)``."""
        columns = {key: tables[key].frame["system"] for key in self.systems}
        return {key: names.unique().cast(pl.String).sort() for key, names in columns.items()}

    def with_systems(self, systems: Mapping[str, pl.Series]) -> RunTables:
        """With the systems of all partitions, as far as they are of these tables."""
        return replace(self, systems={k: tuple(x) for k, x in systems.items() if k in self.names})

    @property
    def labels(self) -> list[str]:
        """The names of all systems, table by table."""
        return [label for key in self.names for label in self._labels(key)]

    def validate(self, *checks: Callable[[list[str]], object]) -> None:
        """Refuse two systems of one name and, once all are known, what any of ``checks`` refuses.

        Before a pass over the tables it says what can be said so far.
        """
        validate_names(self.labels)
        for check in checks if all(self.systems.values()) else ():
            check(self.labels)

    def _labels(self, key: str) -> list[str]:
        name = self.names[key]
        if key not in self.systems:
            return [name]
        return [_label(name, system) for system in self.systems[key]]

    def lists(self, tables: Mapping[str, Table]) -> list[Table]:
        """Every system's lists in a partition, in the order of ``labels``; some may have none.

        Where systems were not looked for, those that the partition has.
        """
        return [own for key in self.names for own in self.lists_of(key, tables[key])]

    def lists_of(self, key: str, table: Table) -> list[Table]:
        """The same of one table."""
        own = split_systems(table, self.names[key])
        if not self.systems.get(key):
            return own
        there = {lists.system: lists for lists in own}
        none = replace(table, frame=table.frame.clear())
        return [there.get(label, replace(none, system=label)) for label in self._labels(key)]


def split_systems(run: Table, name: str) -> list[Table]:
    """The lists of each system of a table, by name, as rows may have no order."""
    if "system" not in run.frame.columns:
        return [replace(run, system=name or run_name(run.source.name))]
    frame = run.frame if "row" in run.frame.columns else run.frame.with_row_index("row")
    parts = frame.partition_by("system", maintain_order=True)
    tables = [replace(run, frame=x, system=_label(name, str(x["system"][0]))) for x in parts]
    return sorted(tables, key=lambda table: table.system)


def _label(name: str, system: str) -> str:
    return f"{name}/{system}" if name else system


def run_name(path: str) -> str:
    """A run's name from its path."""
    name = Path(path).name
    ending = next((e for e in ENDINGS if name.lower().endswith(e)), Path(name).suffix)
    return name[: len(name) - len(ending)] or path


def validate_names(names: Sequence[str]) -> None:
    """Refuse two systems of one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(
            f'Two runs are named "{twice[0]}".',
            todo='Name them apart: new=path (in Python {"new": table}).',
        )
