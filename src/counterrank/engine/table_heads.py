"""What a table looks like before it is read: its columns, and the types ids have in all tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from counterrank.core.errors import CounterrankError, InputError, first_line
from counterrank.core.faults import merged, moved
from counterrank.data.checks import some_rows
from counterrank.data.schema import Door, Table
from counterrank.data.sources.pieces import pieces
from counterrank.engine.partitions import Tables

GLANCE = 1000  # rows that show the types


@dataclass(frozen=True)
class Head:
    """A table without rows; the columns ``ids`` are of the type they are to have."""

    table: Table
    ids: tuple[str, ...]

    @property
    def frame(self) -> pl.DataFrame:
        """The empty frame."""
        return self.table.frame

    def cast(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows of the table with ids of these types."""
        kinds = self.frame.schema
        odd = set(frame.columns) ^ set(kinds)
        if odd:
            raise InputError(
                f'The files of "{self.table.name}" do not fit together.',
                found=f'Some have a column "{min(odd)}", others do not.',
                todo="Give every file the same columns.",
            )
        wanted = [c for c in self.ids if frame.schema[c] != kinds[c]]
        try:
            return frame.with_columns(pl.col(c).cast(kinds[c]) for c in wanted)
        except pl.exceptions.PolarsError as error:
            raise InputError(
                f'The parts of "{self.table.name}" do not fit together.',
                found=first_line(error),
                todo="Give a column the same type in every file.",
            ) from error


def read_heads(tables: Tables, scratch: Path) -> dict[str, Head]:
    """The heads of all tables, by a glance at their first rows."""
    heads = {name: _glance(schema, scratch) for name, schema in tables.schemas.items()}
    for column in tables.ids:
        kind = _common([head.frame.schema[column] for head in heads.values()])
        for name, head in heads.items():
            frame = head.frame.with_columns(pl.col(column).cast(kind))
            heads[name] = replace(head, frame=frame)
    return {name: Head(head, tables.ids) for name, head in heads.items()}


def _common(kinds: Sequence[pl.DataType]) -> pl.DataType:
    """The type of ids that several tables share: integers where all are, otherwise text."""
    if len(set(kinds)) == 1:
        return kinds[0]
    whole = all(kind.is_integer() and kind != pl.UInt64 for kind in kinds)
    return pl.Int64() if whole else pl.String()


def _glance(schema: Door, scratch: Path) -> Table:
    """The table of the first rows, which are let go."""
    there = schema.roles.choose(schema.source.columns())
    frame = schema.roles.renamed(pl.DataFrame(schema=dict.fromkeys(there, pl.Null())))
    for piece in pieces(schema.source, schema.roles.choose, rows=GLANCE, scratch=scratch):
        frame = schema.roles.renamed(piece)
        if frame.height:
            break
    some_rows(frame, schema.source.name)
    try:
        table = schema.part(frame)
    except CounterrankError as error:
        raise _counted(schema, scratch) from error
    return replace(table, frame=table.frame.clear())


def _counted(schema: Door, scratch: Path) -> CounterrankError:
    """The fault that the first rows have, counted over the whole table."""
    faults, rows = [], 0
    for piece in pieces(schema.source, schema.roles.choose, rows=GLANCE**2, scratch=scratch):
        try:
            schema.part(schema.roles.renamed(piece))
        except CounterrankError as error:
            faults.append(moved(error, rows))
        rows += piece.height
    return merged(faults, rows=rows)
