"""Tables in a lake (s3a://, hdfs://, ...), which only Spark can read."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from counterrank.core.errors import CounterrankError, InputError, UsageError, first_line
from counterrank.data.sources.files import PARQUET, SEPARATORS, ending


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
    """Parquet, or text with a header: text files give text, types are settled at the door."""
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
