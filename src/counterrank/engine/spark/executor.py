"""What runs on executors: rows are cut by unit, meet in a partition, and its results become bytes.

Cuts travel as rows: a key, the tag of the table, how many rows, and these as bytes; what a schema
refused as bytes under a key of its own. Results travel as rows, too: a key, the number of the
partition they are from, and pieces of bytes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from counterrank.core import faults
from counterrank.core.errors import CounterrankError, InputError, UsageError
from counterrank.core.parallel import one_thread
from counterrank.data.ids import partition_ids
from counterrank.data.schema import Table
from counterrank.data.sources.dataframes import from_arrow
from counterrank.data.sources.source import batches as read_batches
from counterrank.engine.disk import cast_ids, joined
from counterrank.engine.partitions import Partition, deal, merge_in_turn
from counterrank.engine.wire import pack, unpack

Batches = Iterator[pa.RecordBatch]
TAG = "tag"
FAULTS = -1  # the key of faults
CUT = "key bigint, tag tinyint, rows bigint, data binary"
COUNTED = "tag tinyint, rows bigint, refused boolean"
SENT = "key bigint, part int, piece int, data binary"
TOGETHER = 32 << 20  # bytes that are cut at once: small cuts cost more than they hold
ROWS = 1 << 20  # the same in rows, where executors read files themselves
PIECE = 16 << 20  # bytes of a row: the JVM holds some of them at a time


def _binary(data: Sequence[bytes]) -> pa.Array:
    """Bytes as a column; ``pa.array`` takes 20 ns for each byte of them."""
    ends = np.cumsum([0, *map(len, data)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.binary(), len(data), buffers)


def text_hash() -> int:
    """What this version of Polars makes of a text."""
    return int(pl.Series(["text"]).hash(0).item())


@dataclass(frozen=True)
class Lane:
    """One table on its way: its tag, its schema's check, and the table without rows.

    It is cut by the column ``unit``; the columns ``ids`` get the types of the ``head``. ``mark`` is
    what the driver makes of a text by the hash that cuts: all must make the same of it.
    """

    tag: int
    name: str
    check: Callable[[pl.DataFrame], pl.DataFrame]
    head: Table
    unit: str
    ids: tuple[str, ...]
    mark: int = field(default_factory=text_hash)

    def cut(self, rows: pl.DataFrame, keys: Sequence[int]) -> pa.RecordBatch:
        """Rows through the schema, those of each partition as bytes under its key."""
        try:
            if self.mark != text_hash():
                raise UsageError(
                    "An executor of Spark does not hash text as the machine does that started it.",
                    found=f"It has Polars {pl.__version__}.",
                    todo="Install one version of Polars on all machines.",
                )
            frame = cast_ids(self.check(rows), self.head, self.ids)
        except CounterrankError as error:
            return self.refused(error, rows.height)
        cuts = list(deal(frame, partition_ids(frame[self.unit], len(keys)), len(keys)))
        data = [cut.write_ipc_stream(None, compression="lz4").getvalue() for _, cut in cuts]
        return self._batch([keys[n] for n, _ in cuts], [cut.height for _, cut in cuts], data)

    def refused(self, error: CounterrankError, rows: int = 0) -> pa.RecordBatch:
        """What is wrong with some rows, in their place."""
        return self._batch([FAULTS], [rows], [pack(Refusals([Refusal.of(error, self.name)]))])

    def _batch(self, keys: list[int], rows: list[int], data: list[bytes]) -> pa.RecordBatch:
        columns = [
            pa.array(keys, pa.int64()),
            pa.array([self.tag] * len(keys), pa.int8()),
            pa.array(rows, pa.int64()),
            _binary(data),
        ]
        return pa.record_batch(columns, ["key", TAG, "rows", "data"])


@dataclass(frozen=True)
class Share:
    """``rows`` rows of a Parquet file from ``start`` on; ``columns`` are those to read, by role."""

    lane: Lane
    file: Path
    columns: Mapping[str, tuple[str, pl.DataType]]
    start: int
    rows: int

    def read(self) -> Iterator[pl.DataFrame]:
        """The rows, some at a time."""
        if not self.file.exists():
            raise InputError(
                f'"{self.file}" is not there on an executor of Spark.',
                found="The machine that started the work has it.",
                todo="Put it where all machines find it under this name, or give the address of a"
                " lake (s3a://...), or a Spark frame.",
            )
        scan = pl.scan_parquet(self.file, glob=False).slice(self.start, self.rows)
        asked = [pl.col(c).cast(kind).alias(role) for role, (c, kind) in self.columns.items()]
        yield from read_batches(self.file, scan.select(asked), ROWS)


@dataclass(frozen=True)
class Refusal:
    """A `CounterrankError` on its way to the driver; ``table`` is the one whose schema refused.

    ``data`` has the numbers of a `DataError`, so that the driver can merge them.
    """

    kind: str
    wrong: str
    found: str
    todo: str
    table: str | None
    data: faults.Fault | None = None

    @classmethod
    def of(cls, error: CounterrankError, table: str | None = None) -> Refusal:
        """Rows have no numbers here: no order is relied on."""
        said = faults.without_row(error)
        data = said.fault if isinstance(said, faults.DataError) else None
        return cls(type(said).__name__, said.wrong, said.found, said.todo, table, data)


@dataclass(frozen=True)
class Refusals:
    """What a partition sends in place of a result."""

    all: list[Refusal]


def on_files(
    shares: Sequence[Sequence[Share]], keys: Sequence[int]
) -> Callable[[Batches], Batches]:
    """What executors read themselves, cut; the rows that Spark brings name the shares to read.

    Spark moves and keeps rows one by one; cuts are few, and are never taken apart.
    """

    def run(batches: Batches) -> Batches:
        ready()
        with one_thread():
            numbers = (number.as_py() for batch in batches for number in batch["id"])
            for share in (share for number in numbers for share in shares[number]):
                try:
                    for rows in share.read():
                        yield share.lane.cut(rows, keys)
                except CounterrankError as error:
                    yield share.lane.refused(error)

    return run


def on_departure(lane: Lane, keys: Sequence[int]) -> Callable[[Batches], Batches]:
    """A table that Spark reads, cut before the shuffle."""

    def run(batches: Batches) -> Batches:
        ready()
        with one_thread():
            for rows in _together(batches):
                yield lane.cut(rows, keys)

    return run


def _together(batches: Batches) -> Iterator[pl.DataFrame]:
    waiting: list[pl.DataFrame] = []
    size = 0
    for batch in batches:
        waiting.append(from_arrow(batch))
        size += batch.nbytes
        if size >= TOGETHER:
            yield pl.concat(waiting)
            waiting, size = [], 0
    if size:
        yield pl.concat(waiting)


def on_count(batches: Batches) -> Batches:
    """How many rows there are of each table, and whether some were refused."""
    for batch in batches:
        count = (
            from_arrow(batch)
            .group_by(TAG)
            .agg(pl.col("rows").sum(), (pl.col("key") == FAULTS).any().alias("refused"))
        )
        yield from count.to_arrow().to_batches()


def ready() -> None:
    """Leave what is in memory by now, which is modules, out of the collector's sight for good.

    Spark has each process collect garbage after each task: 30 ms to look through all modules.
    """
    gc.freeze()


def on_partition(
    lanes: Mapping[str, Lane],
    needs: str,
    work: Callable[[Partition], Any],
    key: Callable[[int], int] | None,
) -> Callable[[Batches], Batches]:
    """``work`` on a partition, as Spark calls it, unless the table ``needs`` has no rows there.

    The result stands under the ``key`` of the partition's number; without one it is pieces by key.
    """

    def run(batches: Batches) -> Batches:
        ready()
        with one_thread():
            parts = _by_table(lanes, batches)
            if not (parts[needs] if needs else any(parts.values())):
                return
            number, result = _number(), _tried(lambda: work(_partition(lanes, parts)))
            if isinstance(result, Refusals):
                pieces = {FAULTS: result}
            else:
                pieces = result if key is None else {key(number): result}
            for place, piece in pieces.items():
                yield from _rows(place, number, pack(piece))

    return run


def on_key(then: Callable[[Any], Any]) -> Callable[[Batches], Batches]:
    """``then`` on what the pieces of each key make up; rows come sorted by key, part and piece."""

    def run(batches: Batches) -> Batches:
        ready()
        with one_thread():
            for key, rows in groupby(_in_turn(batches), itemgetter(0)):
                parts = (own for _, own in groupby(rows, itemgetter(1)))
                values = (unpack(b"".join(data for _, _, data in own)) for own in parts)
                yield from _rows(key, 0, pack(_tried(partial(_finished, then, values))))

    return run


def _finished(then: Callable[[Any], Any], values: Iterator[Any]) -> Any:
    whole = merge_in_turn(values)
    return whole if isinstance(whole, Refusals) else then(whole)


def _in_turn(batches: Batches) -> Iterator[tuple[int, int, bytes]]:
    for batch in batches:
        for key, part, data in zip(batch["key"], batch["part"], batch["data"], strict=True):
            yield key.as_py(), part.as_py(), data.as_py()


def _by_table(lanes: Mapping[str, Lane], batches: Batches) -> dict[str, list[bytes]]:
    """The partition's cuts by table."""
    parts: dict[str, list[bytes]] = {name: [] for name in lanes}
    names = {lane.tag: name for name, lane in lanes.items()}
    for batch in batches:
        for tag, data in zip(batch[TAG], batch["data"], strict=True):
            parts[names[tag.as_py()]].append(data.as_py())
    return parts


def _partition(lanes: Mapping[str, Lane], parts: dict[str, list[bytes]]) -> Partition:
    """The tables of a partition; cuts are let go of as they are read."""
    tables = {}
    for name, lane in lanes.items():
        cuts = parts.pop(name)
        tables[name] = replace(lane.head, frame=joined(cuts)) if cuts else lane.head
    return Partition(tables)


def _tried(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except CounterrankError as error:
        return Refusals([Refusal.of(error)])


def _number() -> int:
    """The number of the partition that is worked on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0


def _rows(key: int, part: int, data: bytes) -> Batches:
    """Bytes as rows that are not too large, one to a batch."""
    for place, start in enumerate(range(0, len(data), PIECE)):
        columns = [
            pa.array([key], pa.int64()),
            pa.array([part], pa.int32()),
            pa.array([place], pa.int32()),
            _binary([data[start : start + PIECE]]),
        ]
        yield pa.record_batch(columns, ["key", "part", "piece", "data"])
