"""The checks of schemas. Each names the column, counts the rows and shows the first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from counterrank.core.errors import InputError
from counterrank.core.faults import DataError, Fault

LARGEST_RANK = 1 << 31
LARGEST = 1e70  # numbers whose fourth powers, as in an interval of a lift, are floats
ROUNDING = 1e-9  # by which probabilities that were added up may miss 1
EXACT = 1 << 53  # integers up to this are exact as floats


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
        refuse_rows(frame, column, frame[column].is_null(), table, "missing value")


def no_gaps(frame: pl.DataFrame, column: str, table: str) -> None:
    """Refuse missing values of a column whose values are groups; NaN is one, equal to nothing."""
    no_missing(frame, column, table)
    if frame.schema[column].is_float():
        refuse_rows(frame, column, frame[column].is_nan(), table, "missing value")


def groups(frame: pl.DataFrame, column: str, table: str) -> pl.DataFrame:
    """A column whose values are groups: text, numbers or dates, none missing."""
    no_gaps(frame, column, table)
    kind = frame.schema[column]
    if kind.is_nested() or kind in (pl.Object, pl.Duration, pl.Binary):
        raise InputError(
            f'Column "{column}" of "{table}" must hold text, numbers or dates.',
            found=f"It is of type {kind}.",
            todo="Cast it to text where the table is made.",
        )
    wide = kind in (pl.Int128, pl.UInt128)
    return frame.with_columns(pl.col(column).cast(pl.String)) if wide else frame


def texts(frame: pl.DataFrame, columns: Iterable[str], table: str) -> pl.DataFrame:
    """Columns of names as text."""
    for column in columns:
        frame = groups(frame, column, table).with_columns(pl.col(column).cast(pl.String))
    return frame


def identifiers(frame: pl.DataFrame, columns: Iterable[str], table: str) -> pl.DataFrame:
    """Ids as text or as 64-bit integers; integers wider than that become text."""
    for column in columns:
        kind = frame.schema[column]
        no_missing(frame, column, table)
        if kind == pl.String:
            refuse_rows(frame, column, frame[column] == "", table, "empty id")
        if isinstance(kind, (pl.Categorical, pl.Enum)) or kind in (pl.Int128, pl.UInt128):
            frame = frame.with_columns(pl.col(column).cast(pl.String))
        elif isinstance(kind, pl.Decimal) and kind.scale == 0:
            frame = frame.with_columns(pl.col(column).cast(pl.Int128).cast(pl.String))
        elif not (kind == pl.String or kind.is_integer()):
            todo = "Cast it to integers or text where the table is made."
            if isinstance(kind, (pl.List, pl.Array)):
                todo = "One row per user and item is needed: explode the lists."
            elif kind.is_float():
                todo = "Missing values make pandas turn integers into floats: cast them back."
            raise InputError(
                f'Column "{column}" of "{table}" must hold ids: text or whole numbers.',
                found=f"It is of type {kind}.",
                todo=todo,
            )
    return frame


def numbers(frame: pl.DataFrame, column: str, table: str) -> pl.DataFrame:
    """A column of floating point numbers; text from CSV or TREC files is parsed strictly."""
    no_missing(frame, column, table)
    kind = frame.schema[column]
    if kind == pl.String:
        parsed = frame[column].str.strip_chars().cast(pl.Float64, strict=False)
        refuse_rows(frame, column, parsed.is_null(), table, "not a number")
        whole = frame[column].str.strip_chars().cast(pl.Int64, strict=False)
        parsed = parsed if whole.null_count() else _exact(whole)
        return frame.with_columns(parsed.alias(column))
    if kind in (pl.Float32, pl.Float64):
        return frame
    if kind.is_integer():
        most = max(abs(int(str(x or 0))) for x in (frame[column].min(), frame[column].max()))
        if most >= 1 << 63:
            high = frame[column].cast(pl.Float64).abs() >= 2.0**63
            refuse_rows(frame, column, high, table, "beyond 64 bits")
        return frame.with_columns(pl.col(column).cast(pl.Float64 if most <= EXACT else pl.Int64))
    if kind.is_numeric() or kind == pl.Boolean:
        return frame.with_columns(pl.col(column).cast(pl.Float64))
    raise InputError(
        f'Column "{column}" of "{table}" must hold numbers.',
        found=f"It is of type {kind}.",
        todo="Cast it to a number where the table is made, or name another column.",
    )


def _exact(whole: pl.Series) -> pl.Series:
    """Floats, unless some integers are too large to be exact as floats."""
    return whole.cast(pl.Float64) if whole.is_between(-EXACT, EXACT).all() else whole


def finite(frame: pl.DataFrame, column: str, table: str) -> pl.DataFrame:
    """Numbers without NaN and infinity, which have no place in an order."""
    frame = numbers(frame, column, table)
    if not (frame.schema[column].is_integer() or math.isfinite(frame[column].sum())):
        # a sum over NaN or infinity is not finite; nor is one that overflows, so look
        refuse_rows(frame, column, ~frame[column].is_finite(), table, "not finite")
    return frame


def real(frame: pl.DataFrame, column: str, table: str) -> pl.DataFrame:
    """Finite numbers whose squares can be added up, as floats."""
    frame = finite(frame, column, table).with_columns(pl.col(column).cast(pl.Float64))
    refuse_rows(frame, column, frame[column].abs() > LARGEST, table, "too large")
    return frame


def shares(frame: pl.DataFrame, column: str, table: str) -> pl.DataFrame:
    """Probabilities that weights divide by: above 0, at most 1 but for the rounding of a sum."""
    frame = real(frame, column, table)
    bad = (frame[column] < 1 / LARGEST) | (frame[column] > 1 + ROUNDING)
    refuse_rows(frame, column, bad, table, "not above 0 and up to 1")
    return frame.with_columns(pl.col(column).clip(upper_bound=1.0))


def not_negative(frame: pl.DataFrame, column: str, table: str) -> pl.DataFrame:
    """Expected exposures or chances of a target, which may be 0."""
    frame = real(frame, column, table)
    refuse_rows(frame, column, frame[column] < 0, table, "negative")
    refuse_rows(frame, column, frame[column] > 1 + ROUNDING, table, "above 1")
    small = (frame[column] > 0) & (frame[column] < 1 / LARGEST)
    refuse_rows(frame, column, small, table, "too small")
    return frame


def certainty(table: str, rows: int, column: str = "propensity") -> DataError:
    """The message for a table whose chances are all 1, so that nothing was left to chance."""
    return DataError(Fault(f"every {column} 1", table, column, rows, rows))


def zero_or_one(frame: pl.DataFrame, column: str, table: str) -> pl.DataFrame:
    """A yes or no: 0 or 1, or a Boolean."""
    frame = numbers(frame, column, table).with_columns(pl.col(column).cast(pl.Float64))
    refuse_rows(frame, column, ~frame[column].is_in([0.0, 1.0]), table, "not 0 or 1")
    return frame


def whole_ranks(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """Ranks are whole numbers from 1."""
    no_missing(frame, "rank", table)
    if frame.schema["rank"] == pl.String:
        parsed = frame["rank"].str.strip_chars().cast(pl.Int64, strict=False)
        refuse_rows(frame, "rank", parsed.is_null(), table, "not a whole number")
        frame = frame.with_columns(parsed.alias("rank"))
    if not frame.schema["rank"].is_integer():
        first = f", first value {frame['rank'][0]!r}" if frame.height else ""
        raise InputError(
            f'Column "rank" of "{table}" must hold whole numbers.',
            found=f"It is of type {frame.schema['rank']}{first}.",
            todo="Cast it to integers, or drop it and give a score.",
        )
    rank = frame["rank"]
    if (rank < 1).any():
        refuse_rows(frame, "rank", rank < 1, table, "rank below 1", least=rank.min())
    if int(str(rank.max() or 0)) > LARGEST_RANK:
        high = rank.cast(pl.Float64) > LARGEST_RANK
        refuse_rows(frame, "rank", high, table, "rank too large")
    wide = frame.schema["rank"] in (pl.Int128, pl.UInt128)
    return frame.with_columns(pl.col("rank").cast(pl.Int64)) if wide else frame


def refuse_rows(
    frame: pl.DataFrame,
    column: str,
    bad: pl.Series,
    table: str,
    what: str,
    facts: Mapping[str, str] | None = None,
    **more: Any,
) -> None:
    """Raise if rows are bad: their count, and the first of them (rows count from 1).

    ``facts`` are what else is told of it, by column; if not given, its value.
    """
    if bad.any():
        row = int(bad.arg_true()[0])
        shown = {"value": column} if facts is None else facts
        first = {"row": row + 1} | {fact: frame[name][row] for fact, name in shown.items()}
        raise DataError(Fault(what, table, column, int(bad.sum()), frame.height, first, more))
