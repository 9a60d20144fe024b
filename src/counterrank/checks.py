"""The checks at the door. Each names the column, counts the rows and shows the first."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from counterrank.errors import InputError


def some_rows(frame: pl.DataFrame, table: str) -> None:
    """Refuse a table without rows."""
    if frame.height == 0:
        raise InputError(
            f'"{table}" has no rows.',
            found=f"Only the columns {', '.join(frame.columns)}.",
            todo="Check the step that wrote it: an empty table cannot be evaluated.",
        )


def no_missing(frame: pl.DataFrame, column: str, table: str) -> None:
    """Refuse missing values."""
    if frame[column].null_count():
        _refuse(frame, column, pl.col(column).is_null(), table, "has missing values")


def identifiers(frame: pl.DataFrame, columns: Iterable[str], table: str) -> pl.DataFrame:
    """Ids as text or as 64-bit integers; integers wider than that become text."""
    for column in columns:
        kind = frame.schema[column]
        no_missing(frame, column, table)
        if isinstance(kind, (pl.Categorical, pl.Enum)) or kind in (pl.Int128, pl.UInt128):
            frame = frame.with_columns(pl.col(column).cast(pl.String))
        elif isinstance(kind, pl.Decimal) and kind.scale == 0:
            frame = frame.with_columns(pl.col(column).cast(pl.Int128).cast(pl.String))
        elif not (kind == pl.String or kind.is_integer()):
            raise InputError(
                f'Column "{column}" of "{table}" must hold ids: text or whole numbers.',
                found=f"It is of type {kind}, first value {frame[column][0]!r}.",
                todo="Cast it to integers or text where the table is made (fractions round).",
            )
    return frame


def numbers(frame: pl.DataFrame, column: str, table: str) -> pl.DataFrame:
    """A column of floating point numbers; text from CSV or TREC files is parsed strictly."""
    no_missing(frame, column, table)
    kind = frame.schema[column]
    if kind == pl.String:
        parsed = frame[column].str.strip_chars().cast(pl.Float64, strict=False)
        bad = parsed.is_null()
        if bad.any():
            _refuse(frame, column, bad, table, "must hold numbers")
        return frame.with_columns(parsed.alias(column))
    if kind in (pl.Float32, pl.Float64):
        return frame
    if kind.is_numeric() or kind == pl.Boolean:
        return frame.with_columns(pl.col(column).cast(pl.Float64))
    raise InputError(
        f'Column "{column}" of "{table}" must hold numbers.',
        found=f"It is of type {kind}, first value {frame[column][0]!r}.",
        todo="Cast it to a number where the table is made, or name another column.",
    )


def finite(frame: pl.DataFrame, column: str, table: str) -> None:
    """Refuse NaN and infinity: they have no place in an order."""
    bad = ~frame[column].is_finite()
    if bad.any():
        _refuse(frame, column, bad, table, "must be finite")


def whole_ranks(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """Ranks are whole numbers from 1."""
    no_missing(frame, "rank", table)
    if frame.schema["rank"] == pl.String:
        parsed = frame["rank"].str.strip_chars().cast(pl.Int64, strict=False)
        if parsed.null_count():
            _refuse(frame, "rank", parsed.is_null(), table, "must hold whole numbers")
        frame = frame.with_columns(parsed.alias("rank"))
    if not frame.schema["rank"].is_integer():
        raise InputError(
            f'Column "rank" of "{table}" must hold whole numbers.',
            found=f"It is of type {frame.schema['rank']}, first value {frame['rank'][0]!r}.",
            todo="Cast it to integers, or drop it and give a score.",
        )
    low = frame["rank"] < 1
    if low.any():
        _refuse(frame, "rank", low, table, "must count from 1")
    return frame


def _refuse(
    frame: pl.DataFrame, column: str, bad: pl.Series | pl.Expr, table: str, wrong: str
) -> None:
    """Raise with the count and the first row that is wrong (rows count from 1)."""
    rows = frame.with_row_index("row", offset=1).filter(bad)
    raise InputError(
        f'Column "{column}" of "{table}" {wrong}.',
        found=f"Found {rows.height:,} of {frame.height:,} rows"
        f" (first: row {rows['row'][0]}, value {rows[column][0]!r}).",
        todo="Mend or leave out these rows where the table is made.",
    )
