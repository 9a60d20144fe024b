"""Dataframes the caller already has: pandas, Polars, PyArrow, DuckDB, all through Narwhals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import polars as pl

from counterrank.core.errors import CounterrankError, InputError, UsageError, first_line

ONE_AT_A_TIME = Lock()  # a DuckDB connection serves one thread at a time


def from_memory(table: object, name: str, choose: Callable[[list[str]], list[str]]) -> pl.DataFrame:
    """The chosen columns as Polars; the caller's table stays as it is."""
    if is_spark(table):
        raise UsageError(
            f"{name} is a Spark frame, and the local engine does not read these.",
            todo='Use engine="spark", or auto; or collect the frame first: frame.toArrow().',
        )
    with ONE_AT_A_TIME, convertible(name):
        frame = _narwhal(table, name)
        names = frame.collect_schema().names()
        odd = [n for n in names if not isinstance(n, str)]
        if odd:
            raise InputError(f"{name} has a column named {odd[0]!r}.", todo="Name columns by text.")
        columns = choose(names)
        frame = frame.select(columns)
        if hasattr(frame, "collect"):
            collected: pl.DataFrame = frame.collect(backend="polars").to_native()
            return collected
        return pl.DataFrame([_column(frame[column], name) for column in columns])


def memory_columns(table: object, name: str) -> list[str]:
    """Names of a dataframe's columns."""
    if is_spark(table):
        return list(table.columns)  # type: ignore[attr-defined]
    with ONE_AT_A_TIME, convertible(name):
        names: list[str] = _narwhal(table, name).collect_schema().names()
    return names


def is_spark(table: object) -> bool:
    """Whether a table is a Spark frame, classic or Connect; without importing Spark."""
    kind = type(table)
    return kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame"


def _narwhal(table: object, name: str) -> Any:
    import narwhals as nw  # only here: files do not need it

    try:
        return nw.from_native(table)
    except TypeError as error:
        raise InputError(
            f"{name} cannot be read as a table.",
            found=f"It is a {type(table).__module__}.{type(table).__qualname__}.",
            todo="Pass a path, or a pandas, Polars, PyArrow or DuckDB table.",
        ) from error


@contextmanager
def convertible(name: str) -> Iterator[None]:
    """Whatever a dataframe library throws, in words; panics are no ordinary exceptions."""
    try:
        yield
    except CounterrankError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        reason = first_line(error)
        raise InputError(
            f"{name} cannot be read as a table.",
            found=f"Its library says: {reason[:200]}",
            todo="Check its columns and types, or write it to Parquet first.",
        ) from error


def _column(column: Any, name: str) -> pl.Series:
    """One column. Python objects (pandas) are taken one by one: whole numbers keep every digit."""
    if str(column.dtype) != "Object":
        converted: pl.Series = column.to_polars()
        return converted
    values = column.to_list()
    if all(type(value) is int for value in values):
        values = [str(value) for value in values]
    try:
        return pl.Series(column.name, values, strict=True)
    except (TypeError, pl.exceptions.PolarsError) as error:
        kinds = sorted({type(value).__name__ for value in values})
        raise InputError(
            f'Column "{column.name}" of {name} mixes types.',
            found=f"It holds {', '.join(kinds)}.",
            todo="Give the column one type.",
        ) from error
