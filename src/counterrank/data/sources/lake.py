"""Tables in a lake (s3a://, hdfs://, ...), which only Spark can read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from counterrank.core.errors import UsageError
from counterrank.data.sources.files import PARQUET, SEPARATORS, ending
from counterrank.data.sources.spark_errors import spoken


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
