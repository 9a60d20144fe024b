"""A rehearsal: which tables a verb would read, by which columns, and about what that would take."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from counterrank.core.parallel import Progress, quiet
from counterrank.data.schema import Schema
from counterrank.data.sources.source import count_source_rows
from counterrank.engine.engines import Engine
from counterrank.engine.partitions import Partitions, Tables

HELD = 120  # bytes that a row takes in memory while it is worked on, about
LIBRARIES = 200 * 10**6  # bytes before any row is read


@dataclass(frozen=True)
class TablePlan:
    """A table that would be read: its rows, about, and the column of each role."""

    name: str
    rows: int
    columns: Mapping[str, str]

    @classmethod
    def of(cls, schema: Schema) -> TablePlan:
        """By its schema; a column that is missing is refused, as it would be."""
        there = schema.source.columns()
        chosen = schema.roles.choose(there)
        played = {column: role for role, column in schema.roles.played(there).items()}
        rows = count_source_rows(schema.source)
        return cls(schema.source.name, rows, {played.get(c, c): c for c in chosen})


class Rehearsed(Exception):  # noqa: N818
    """Ends a rehearsal, which is no error: the tables that would have been read."""

    def __init__(self, tables: list[TablePlan]) -> None:
        super().__init__("a rehearsal ends before anything is read")
        self.tables = tables

    @property
    def bytes(self) -> int:
        """Memory that the work would take, were all tables in memory."""
        return LIBRARIES + HELD * sum(table.rows for table in self.tables)


@dataclass(frozen=True)
class Rehearsal(Engine):
    """An engine that opens nothing: it says what it was asked to open."""

    name = "rehearsal"
    inference: str = "auto"

    @property
    def memory_budget(self) -> None:
        """Nothing is held."""
        return

    @property
    def in_memory(self) -> bool:
        """As if all were in memory."""
        return True

    def open(
        self, tables: Tables, progress: Progress = quiet
    ) -> AbstractContextManager[Partitions]:
        """Ends here."""
        raise Rehearsed([TablePlan.of(schema) for schema in tables.schemas.values()])
