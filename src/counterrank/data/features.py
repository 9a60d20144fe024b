"""Features: what is known of every user, or of every item."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import polars as pl

from counterrank.core.errors import InputError
from counterrank.data.checks import identifiers, no_missing, real, refuse_rows
from counterrank.data.schema import Roles, Schema, Table, label
from counterrank.data.sources import open_source

KEYS = ("user", "item")


def feature_schema(table: object, *, of: str, columns: Mapping[str, str] | None = None) -> Schema:
    """A row per user, or per item: its id, and columns of numbers, of yes or no, or of text.

    ``of`` is user or item. Text in which every value is a number, or true or false, is taken as
    such, as a CSV file holds nothing but text. Nothing may be missing.
    """
    source = open_source(table, trec=(), name=label(table, f"the {of} features"))
    there = source.columns()
    key = Roles(source.name, (of,), (), columns)
    own = tuple(name for name in there if name != key.column(of, there))
    _refuse_pairs(there, of, source.name, columns)
    if there and not own:
        raise InputError(
            f'"{source.name}" has no features.',
            found=f'Its only column is "{there[0]}".',
            todo=f"Give further columns: what is known of each {of}.",
        )
    roles = Roles(source.name, (of,), (), columns, own)
    return Schema(source, roles, partial(_checked, of, source.name), partial(Table, source))


def _checked(of: str, name: str, frame: pl.DataFrame) -> pl.DataFrame:
    frame = identifiers(frame, (of,), name)
    refuse_rows(frame, of, ~frame[of].is_first_distinct(), name, "features twice", {of: of})
    for column in frame.columns[1:]:
        frame = _settled(frame, column, name)
    return frame


def _settled(frame: pl.DataFrame, column: str, table: str) -> pl.DataFrame:
    """Numbers as floats, text as text."""
    no_missing(frame, column, table)
    kind = frame.schema[column]
    if isinstance(kind, (pl.Categorical, pl.Enum)):
        frame = frame.with_columns(pl.col(column).cast(pl.String))
        kind = frame.schema[column]
    if kind == pl.String:
        text = frame[column].str.strip_chars()
        refuse_rows(frame, column, text == "", table, "empty feature", {})
        if text.str.to_lowercase().is_in(["true", "false"]).all():
            return frame.with_columns((text.str.to_lowercase() == "true").cast(pl.Float64))
        if text.cast(pl.Float64, strict=False).null_count():
            return frame
    elif not (kind.is_numeric() or kind == pl.Boolean):
        raise InputError(
            f'Column "{column}" of "{table}" is no feature: numbers, yes or no, or text are.',
            found=f"It is of type {kind}.",
            todo="Make it a number (such as days since) or text, or leave it out.",
        )
    return real(frame, column, table)


def _refuse_pairs(there: list[str], of: str, table: str, columns: Mapping[str, str] | None) -> None:
    """A table of pairs is something else."""
    other = KEYS[1 - KEYS.index(of)]
    named = (columns or {}).get(other, other)
    if {named, other} & set(there):
        raise InputError(
            f'"{table}" has a column "{named if named in there else other}".',
            found=f"Features of {of}s say something of a {of} alone.",
            todo=f"Give one row per {of} and leave that column out.",
        )
