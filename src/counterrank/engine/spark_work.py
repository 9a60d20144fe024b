"""What runs on executors: rows are cut by unit, meet in a bucket, and its result becomes bytes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import polars as pl
import pyarrow as pa

from counterrank.arrays import one_thread
from counterrank.core import faults
from counterrank.engine.bucket import Bucket
from counterrank.engine.wire import packed, unpacked
from counterrank.errors import CounterrankError
from counterrank.schema import Table

Batches = Iterator[pa.RecordBatch]
TAG, PLACE, FAULT = "tag", "place of the unit", "fault"
CUT = "key bigint, tag tinyint, rows bigint, data binary"
SENT = "part int, piece int, pieces int, data binary"
TOGETHER = 32 << 20  # bytes that are cut at once: small cuts cost more than they hold
PIECE = 16 << 20  # bytes of a row: the JVM holds some of them at a time


@dataclass(frozen=True)
class Lane:
    """One table on its way: its tag, its door, and what stands for it where it has no rows."""

    tag: int
    check: Callable[[pl.DataFrame], pl.DataFrame]
    made: Callable[[pl.DataFrame], Table]
    head: Table

    def table(self, parts: Sequence[pl.DataFrame]) -> Table:
        """The table's rows of this partition, through its door."""
        if not parts:
            return self.head
        frame = self.check(pl.concat(parts, rechunk=True))
        if "item" in frame.columns:
            frame = frame.with_columns(pl.lit(None).alias("row"))  # rows have no number here
        return self.made(frame)


@dataclass(frozen=True)
class Fault:
    """A `CounterrankError` on its way to the driver; ``table`` is the one whose door refused.

    ``data`` has the numbers of a `DataError`, so that the driver can merge them.
    """

    kind: str
    wrong: str
    found: str
    todo: str
    table: str | None
    data: faults.Fault | None = None

    @classmethod
    def of(cls, error: CounterrankError, table: str | None = None) -> Fault:
        """Rows have no numbers here: no order is relied on."""
        said = faults.unnumbered(error)
        data = said.fault if isinstance(said, faults.DataError) else None
        return cls(type(said).__name__, said.wrong, said.found, said.todo, table, data)


@dataclass(frozen=True)
class Faults:
    """What a partition sends in place of a result."""

    all: list[Fault]


def on_departure(tag: int, keys: Sequence[int]) -> Callable[[Batches], Batches]:
    """A table's rows before the shuffle, cut by their place, the columns of each cut as bytes.

    Spark moves and keeps rows one by one; these are few, and are never taken apart.
    """

    def run(batches: Batches) -> Batches:
        waiting: list[pl.DataFrame] = []
        size = 0
        for batch in batches:
            waiting.append(_framed(batch))
            size += batch.nbytes
            if size >= TOGETHER:
                yield _cut(pl.concat(waiting), tag, keys)
                waiting, size = [], 0
        if size:
            yield _cut(pl.concat(waiting), tag, keys)

    return run


def _cut(rows: pl.DataFrame, tag: int, keys: Sequence[int]) -> pa.RecordBatch:
    cuts = rows.partition_by(PLACE, as_dict=True, include_key=False)
    data = []
    for cut in cuts.values():
        file = io.BytesIO()
        cut.write_ipc(file, compression="lz4")
        data.append(file.getvalue())
    columns = [
        pa.array([keys[place] for (place,) in cuts], pa.int64()),
        pa.array([tag] * len(cuts), pa.int8()),
        pa.array([cut.height for cut in cuts.values()], pa.int64()),
        pa.array(data, pa.binary()),
    ]
    return pa.record_batch(columns, ["key", TAG, "rows", "data"])


def on_bucket(
    lanes: Mapping[str, Lane], work: Callable[[Bucket], Any]
) -> Callable[[Batches], Batches]:
    """``work`` on a partition, as Spark calls it; a partition without rows is no bucket."""

    def run(batches: Batches) -> Batches:
        with one_thread():
            parts = _parted(lanes, batches)
            if any(parts.values()):
                yield from _pieces(packed(_outcome(lanes, parts, work)))

    return run


def on_bucket_rows(
    lanes: Mapping[str, Lane], first: Callable[[Bucket], pl.DataFrame], shape: pa.Schema
) -> Callable[[Batches], Batches]:
    """``first`` on a partition; its rows, or its fault, go on to another partition."""

    def run(batches: Batches) -> Batches:
        with one_thread():
            parts = _parted(lanes, batches)
            if any(parts.values()):
                yield from _rows(_outcome(lanes, parts, first), shape)

    return run


def on_rows(
    schema: Mapping[str, pl.DataType], second: Callable[[pl.DataFrame], Any]
) -> Callable[[Batches], Batches]:
    """``second`` on the rows that met in a partition."""

    def run(batches: Batches) -> Batches:
        with one_thread():
            frames = [_framed(batch) for batch in batches]
            if not frames:
                return
            rows = pl.concat(frames, rechunk=True)
            packets = rows.filter(pl.col(FAULT).is_not_null())[FAULT]
            if len(packets):
                found: Any = Faults([f for packet in packets for f in unpacked(packet).all])
            else:
                found = _tried(lambda: second(_back(rows, schema)))
            yield from _pieces(packed(found))

    return run


def on_results(batches: Batches) -> Batches:
    """Results of some partitions as one, added up in the order of partitions."""
    parts: dict[int, dict[int, bytes]] = {}
    for batch in batches:
        for part, piece, data in zip(batch["part"], batch["piece"], batch["data"], strict=True):
            parts.setdefault(part.as_py(), {})[piece.as_py()] = data.as_py()
    if parts:
        yield from _pieces(packed(total(list(_joined(parts)))))


def _joined(parts: dict[int, dict[int, bytes]]) -> Iterator[Any]:
    """One result after the other; each is let go of as the next one comes."""
    for number in sorted(parts):
        own = parts.pop(number)
        yield unpacked(b"".join(own[piece] for piece in sorted(own)))


def total(found: Sequence[Any]) -> Any:
    """The sum of all results; None adds nothing, and faults take the place of a sum."""
    refused = [fault for one in found if isinstance(one, Faults) for fault in one.all]
    if refused:
        return Faults(refused)
    some = [one for one in found if one is not None]
    return reduce(add, some) if some else None


def _parted(lanes: Mapping[str, Lane], batches: Batches) -> dict[str, list[pl.DataFrame]]:
    """The partition's rows by table."""
    parts: dict[str, list[pl.DataFrame]] = {name: [] for name in lanes}
    names = {lane.tag: name for name, lane in lanes.items()}
    for batch in batches:
        for tag, data in zip(batch[TAG], batch["data"], strict=True):
            parts[names[tag.as_py()]].append(pl.read_ipc(io.BytesIO(data.as_buffer())))
    return parts


def _outcome(
    lanes: Mapping[str, Lane], parts: dict[str, list[pl.DataFrame]], work: Callable[[Bucket], Any]
) -> Any:
    """What comes of the work on a bucket; or which door refused its rows, and why."""
    tables = {}
    for name, lane in lanes.items():
        try:
            tables[name] = lane.table(parts.pop(name))  # let go of as it is read
        except CounterrankError as error:
            return Faults([Fault.of(error, name)])
    return _tried(lambda: work(Bucket(tables)))


def _tried(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except CounterrankError as error:
        return Faults([Fault.of(error)])


def _pieces(data: bytes) -> Batches:
    """Bytes as rows that are not too large, one to a batch."""
    from pyspark import TaskContext

    context = TaskContext.get()
    part = context.partitionId() if context else 0
    count = max(-(-len(data) // PIECE), 1)
    for place in range(count):
        row = {"part": part, "piece": place, "pieces": count}
        numbers = [pa.array([value], pa.int32()) for value in row.values()]
        piece = pa.array([data[place * PIECE : (place + 1) * PIECE]], pa.binary())
        yield pa.record_batch([*numbers, piece], [*row, "data"])


def _rows(rows: pl.DataFrame | Faults, shape: pa.Schema) -> Batches:
    if isinstance(rows, Faults):
        empty = {name: [None] for name in shape.names} | {FAULT: [packed(rows)]}
        yield pa.RecordBatch.from_pydict(empty, shape)
        return
    table = _there(rows).with_columns(pl.lit(None, pl.Binary).alias(FAULT)).to_arrow()
    yield from table.select(shape.names).cast(shape).to_batches(max_chunksize=1 << 17)


def sparkable(kind: pl.DataType) -> pl.DataType:
    """The type that Spark knows: it has no unsigned integers."""
    return pl.Int64() if kind.is_unsigned_integer() else kind


def _there(rows: pl.DataFrame) -> pl.DataFrame:
    """Columns in types that Spark knows; 64 unsigned bits keep their pattern."""
    return rows.with_columns(
        pl.col(name).reinterpret(signed=True)
        if kind == pl.UInt64
        else pl.col(name).cast(sparkable(kind))
        for name, kind in rows.schema.items()
    )


def _back(rows: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    return rows.select(
        pl.col(name).reinterpret(signed=False) if kind == pl.UInt64 else pl.col(name).cast(kind)
        for name, kind in schema.items()
    )


def _framed(batch: pa.RecordBatch) -> pl.DataFrame:
    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame
