"""What runs on executors: rows are cut by unit, meet in a partition, and its results become bytes.

Results travel as rows: a key, the number of the partition they are from, and pieces of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import polars as pl
import pyarrow as pa

from counterrank.core import faults
from counterrank.core.errors import CounterrankError
from counterrank.core.parallel import one_thread
from counterrank.data.schema import Table
from counterrank.data.sources.dataframes import from_arrow
from counterrank.engine.partitions import Partition, merge_in_turn
from counterrank.engine.wire import pack, unpack

Batches = Iterator[pa.RecordBatch]
TAG, PLACE = "tag", "place of the unit"
FAULTS = -1  # the key of faults
CUT = "key bigint, tag tinyint, rows bigint, data binary"
SENT = "key bigint, part int, piece int, data binary"
TOGETHER = 32 << 20  # bytes that are cut at once: small cuts cost more than they hold
PIECE = 16 << 20  # bytes of a row: the JVM holds some of them at a time


@dataclass(frozen=True)
class Lane:
    """One table on its way: its tag, its schema, and what stands for it where it has no rows."""

    tag: int
    check: Callable[[pl.DataFrame], pl.DataFrame]
    made: Callable[[pl.DataFrame], Table]
    head: Table

    def table(self, parts: Sequence[pl.DataFrame]) -> Table:
        """The table's rows of this partition, through its schema."""
        if not parts:
            return self.head
        frame = self.check(pl.concat(parts, rechunk=True))
        if "item" in frame.columns:
            frame = frame.with_columns(pl.lit(None).alias("row"))  # rows have no number here
        return self.made(frame)


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


def on_departure(tag: int, keys: Sequence[int]) -> Callable[[Batches], Batches]:
    """A table's rows before the shuffle, cut by their place, the columns of each cut as bytes.

    Spark moves and keeps rows one by one; these are few, and are never taken apart.
    """

    def run(batches: Batches) -> Batches:
        waiting: list[pl.DataFrame] = []
        size = 0
        for batch in batches:
            waiting.append(from_arrow(batch))
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
        data.append(cut.write_ipc_stream(None, compression="lz4").getvalue())
    columns = [
        pa.array([keys[place] for (place,) in cuts], pa.int64()),
        pa.array([tag] * len(cuts), pa.int8()),
        pa.array([cut.height for cut in cuts.values()], pa.int64()),
        pa.array(data, pa.binary()),
    ]
    return pa.record_batch(columns, ["key", TAG, "rows", "data"])


def on_partition(
    lanes: Mapping[str, Lane],
    needs: str,
    work: Callable[[Partition], Any],
    key: Callable[[int], int] | None,
) -> Callable[[Batches], Batches]:
    """``work`` on a partition, as Spark calls it; only refusals where the table ``needs`` is empty.

    The result stands under the ``key`` of the partition's number; without one it is pieces by key.
    """

    def run(batches: Batches) -> Batches:
        with one_thread():
            parts = _by_table(lanes, batches)
            if not any(parts.values()):
                return
            wanted = not needs or len(parts[needs]) > 0
            number, result = _number(), _result(lanes, parts, work if wanted else None)
            if isinstance(result, Refusals):
                pieces = {FAULTS: result}
            elif not wanted:
                return
            else:
                pieces = result if key is None else {key(number): result}
            for place, piece in pieces.items():
                yield from _rows(place, number, pack(piece))

    return run


def on_key(then: Callable[[Any], Any]) -> Callable[[Batches], Batches]:
    """``then`` on what the pieces of each key make up; rows come sorted by key, part and piece."""

    def run(batches: Batches) -> Batches:
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


def _by_table(lanes: Mapping[str, Lane], batches: Batches) -> dict[str, list[pl.DataFrame]]:
    """The partition's rows by table."""
    parts: dict[str, list[pl.DataFrame]] = {name: [] for name in lanes}
    names = {lane.tag: name for name, lane in lanes.items()}
    for batch in batches:
        for tag, data in zip(batch[TAG], batch["data"], strict=True):
            parts[names[tag.as_py()]].append(pl.read_ipc_stream(data.as_py()))
    return parts


def _result(
    lanes: Mapping[str, Lane],
    parts: dict[str, list[pl.DataFrame]],
    work: Callable[[Partition], Any] | None,
) -> Any:
    """What comes of the work on a partition; or which schema refused its rows, and why."""
    tables = {}
    for name, lane in lanes.items():
        try:
            tables[name] = lane.table(parts.pop(name))  # let go of as it is read
        except CounterrankError as error:
            return Refusals([Refusal.of(error, name)])
    return None if work is None else _tried(lambda: work(Partition(tables)))


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
            pa.array([data[start : start + PIECE]], pa.binary()),
        ]
        yield pa.record_batch(columns, ["key", "part", "piece", "data"])
