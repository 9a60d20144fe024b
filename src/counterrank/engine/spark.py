"""Tables on a Spark cluster: shuffled by their unit, and the work of a bucket sent there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

import polars as pl

from counterrank import errors
from counterrank.checks import some_rows
from counterrank.core.faults import DataError, merged
from counterrank.engine.bucket import Bucket, Buckets
from counterrank.engine.engines import Spark
from counterrank.engine.spark_session import session_of
from counterrank.engine.spark_tables import united
from counterrank.engine.spark_work import (
    FAULT,
    SENT,
    TAG,
    Fault,
    Faults,
    Lane,
    on_bucket,
    on_bucket_rows,
    on_results,
    on_rows,
    sparkable,
    total,
)
from counterrank.engine.wire import unpacked
from counterrank.errors import CounterrankError
from counterrank.progress import Progress
from counterrank.schema import Door, Input
from counterrank.tables.spark_errors import spoken

A = TypeVar("A")
B = TypeVar("B")


@contextmanager
def on_spark(
    chosen: Spark, doors: Mapping[str, Door], by: str, ids: Sequence[str], progress: Progress
) -> Iterator[Buckets]:
    """The tables in buckets on a cluster, which keeps them until the context ends."""
    session = session_of(chosen)
    with spoken("looking at the tables"):
        count = chosen.partitions or int(session.conf.get("spark.sql.shuffle.partitions"))
        rows, lanes = united(session, doors, by, ids, count)
        rows = rows.persist()
    try:
        inputs = _counted(rows, lanes, doors, progress)
        yield OnSpark(rows, lanes, count, inputs, progress)
    finally:
        with suppress(Exception):  # a cluster that is gone has let go already
            rows.unpersist()


def _counted(
    rows: Any, lanes: Mapping[str, Lane], doors: Mapping[str, Door], progress: Progress
) -> dict[str, Input]:
    """What results remember of the tables; the count also brings the rows together."""
    with ThreadPoolExecutor(1) as aside:
        sums = aside.submit(lambda: {name: door.source.sha256() for name, door in doors.items()})
        for _ in progress([0], "Shuffling"):
            with spoken("bringing the rows of each unit together"):
                found = rows.groupBy(TAG).sum("rows").collect()
    by_tag = dict(found)
    inputs = {}
    for name, lane in lanes.items():
        height = by_tag.get(lane.tag, 0)
        if not height:
            some_rows(lane.head.frame, lane.head.name)
        inputs[name] = Input(lane.head.name, height, sums.result()[name])
    return inputs


class OnSpark(Buckets):
    """Partitions of whole units on a cluster."""

    def __init__(
        self,
        rows: Any,
        lanes: Mapping[str, Lane],
        count: int,
        inputs: dict[str, Input],
        progress: Progress,
    ) -> None:
        self.rows, self.lanes, self.partitions, self.progress = rows, lanes, count, progress
        self.heads = {name: lane.head for name, lane in lanes.items()}
        self.inputs = inputs

    @property
    def count(self) -> int:
        """Number of partitions; those without rows are passed over."""
        return self.partitions

    def mapped(self, work: Callable[[Bucket], A], word: str) -> list[A]:
        """``work`` on every partition, on the executors."""
        with spoken(word):
            sent = self.rows.mapInArrow(on_bucket(self.lanes, work), SENT)
        return self._results(sent, word)

    def folded(self, work: Callable[[Bucket], A | None], word: str) -> A:
        """Added up on the executors first, some partitions together: the driver gets few."""
        from pyspark.sql import functions as F  # noqa: N812

        groups = max(round(self.partitions**0.5), 1)
        with spoken(word):
            sent = self.rows.mapInArrow(on_bucket(self.lanes, work), SENT)
            near = sent.withColumn("group", F.col("part") % groups).repartition(groups, "group")
            sent = near.drop("group").mapInArrow(on_results, SENT)
        return cast(A, total(self._results(sent, word)))

    def exchanged(
        self,
        first: Callable[[Bucket], pl.DataFrame],
        schema: Mapping[str, pl.DataType],
        key: str,
        second: Callable[[pl.DataFrame], B],
        word: str,
        *,
        parts: int | None = None,
    ) -> list[B]:
        """Rows of ``first``, shuffled by ``key``, then ``second`` on each partition of them."""
        types = {name: sparkable(kind) for name, kind in schema.items()} | {FAULT: pl.Binary()}
        with spoken(word):
            session = self.rows.sparkSession
            shape = session.createDataFrame(pl.DataFrame(schema=types).clear(1).to_arrow()).limit(0)
            there = on_bucket_rows(self.lanes, first, shape.toArrow().schema)
            rows = self.rows.mapInArrow(there, shape.schema)
            rows = rows.repartition(parts or self.partitions, key)
            sent = rows.mapInArrow(on_rows(schema, second), SENT)
        return self._results(sent, word)

    def _results(self, sent: Any, word: str) -> list[Any]:
        for _ in self.progress([0], word):
            with spoken(f"{word[:1].lower()}{word[1:]}"):
                table = sent.toArrow()
        parts: dict[int, dict[int, bytes]] = {}
        for part, piece, data in zip(*(table[c] for c in ("part", "piece", "data")), strict=True):
            parts.setdefault(part.as_py(), {})[piece.as_py()] = data.as_buffer()
        found = [
            unpacked(b"".join(part[i] for i in sorted(part))) for _, part in sorted(parts.items())
        ]
        faults = [fault for value in found if isinstance(value, Faults) for fault in value.all]
        if faults:
            raise self._merged(faults)
        return found

    def _merged(self, faults: Sequence[Fault]) -> CounterrankError:
        """One error; what a door refused comes first, table by table."""
        order = [name for name in self.lanes if any(f.table == name for f in faults)]
        table = order[0] if order else None
        alike = [_error(fault) for fault in faults if fault.table == table]
        return merged(alike, rows=self.inputs[table].rows if table else None)


def _error(fault: Fault) -> CounterrankError:
    if fault.data is not None:
        return DataError(fault.data)
    kind: type[CounterrankError] = getattr(errors, fault.kind, CounterrankError)
    return kind(fault.wrong, found=fault.found, todo=fault.todo)
