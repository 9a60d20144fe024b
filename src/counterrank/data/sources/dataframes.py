"""Dataframes of other libraries: pandas, Polars, PyArrow and DuckDB, all through Narwhals.

And tables in a lake (s3a://, hdfs://, ...), which only Spark can read.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from counterrank.core.errors import CounterrankError, InputError, UsageError, first_line
from counterrank.core.input_files import PARQUET
from counterrank.data.sources.files import SEPARATORS, ending

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


def from_arrow(table: Any) -> pl.DataFrame:
    """A table or a batch of Arrow's."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


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


def is_address(table: object) -> bool:
    """Whether a table is given by an address that names how it is reached."""
    return isinstance(table, str) and "://" in table


def frame_at(address: str) -> Any:
    """The table as a Spark frame, by the session that runs."""
    session = _running()
    if session is None:
        raise UsageError(
            f'"{address}" can be read by Spark alone.', todo="Add --engine spark (engine='spark')."
        )
    with spoken(f"reading {address}"):
        return frame_of(session, [address], ending(Path(address)) or PARQUET[0])


def frame_of(session: Any, paths: Sequence[str], kind: str) -> Any:
    """Parquet, or text with a header: text files give text, types are settled by schemas."""
    if kind not in SEPARATORS:
        return session.read.parquet(*paths)
    return session.read.csv(
        list(paths), sep=SEPARATORS[kind], header=True, inferSchema=False, enforceSchema=False,
        escape='"', mode="FAILFAST", maxCharsPerColumn=-1,
    )  # fmt: skip


def _running() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None
    return SparkSession.getActiveSession()


NEEDS = "Python of the driver's version with numpy, scipy, polars, pyarrow, pandas and narwhals"
CAUSE = re.compile(r"^\s*(?:Caused by: )?(?:[\w$]+\.)*(\w*(?:Error|Exception)\b: .*\S)\s*$", re.M)
WRAPPED = ("SparkException", "PythonException", "Py4JJavaError")
PANDAS = "PySpark does not yet fully support pandas"  # of which nothing is used here


@contextmanager
def spoken(doing: str) -> Iterator[None]:
    """Turn whatever Spark throws into a message."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=PANDAS, category=FutureWarning)
            yield
    except CounterrankError:
        raise
    except AnalysisException as error:
        raise InputError(
            "Spark cannot read a table as it is.", found=f"It says: {_line(str(error))}"
        ) from error
    except (PySparkException, Py4JError, ConnectionError, RuntimeError) as error:
        text = str(error)
        raise CounterrankError(
            f"Spark failed while {doing}.", found=f"It says: {_line(text)}", todo=_advice(text)
        ) from error


def _line(text: str) -> str:
    """The line that names the cause, which may stand deep in a trace."""
    causes = [cause for cause in CAUSE.findall(text) if not cause.startswith(WRAPPED)]
    line = causes[0] if causes else first_line(RuntimeError(text))
    return line if len(line) <= 300 else f"{line[:297]}..."


def _advice(text: str) -> str:
    if "ModuleNotFoundError" in text or "PYTHON_VERSION_MISMATCH" in text:
        return f"Every executor needs {NEEDS}; PYSPARK_PYTHON names the one it uses."
    if re.search(r"OutOfMemory|ExecutorLost|exited unexpectedly|MemoryError|exit code 137", text):
        return (
            "Give executors more memory (spark.executor.memory, memoryOverhead), or more"
            " partitions (--partitions)."
        )
    if "maxResultSize" in text:
        return (
            "Let only moments reach the driver (--inference moments), or raise"
            " spark.driver.maxResultSize."
        )
    return "Look at the cluster's own log; docs/guide/spark.md says what executors need."
