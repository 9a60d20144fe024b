"""Tables on a Spark cluster: shuffled by their unit, and the work on a partition sent there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from counterrank.core import errors
from counterrank.core.errors import CounterrankError
from counterrank.core.faults import DataError, merged
from counterrank.core.progress import Progress
from counterrank.data.checks import some_rows
from counterrank.data.schema import Input
from counterrank.data.sources.lake import spoken
from counterrank.engine.partitions import Partition, Partitions, Tables, merge_in_turn
from counterrank.engine.spark.executor import (
    SENT,
    TAG,
    Lane,
    Refusal,
    Refusals,
    on_key,
    on_partition,
)
from counterrank.engine.spark.frames import shuffle
from counterrank.engine.spark.session import session_of
from counterrank.engine.wire import unpacked

if TYPE_CHECKING:
    from counterrank.engine.engines import Spark

A = TypeVar("A")
B = TypeVar("B")
P = TypeVar("P")


@contextmanager
def cut_on_spark(engine: Spark, tables: Tables, progress: Progress) -> Iterator[Partitions]:
    """The tables in partitions on a cluster, which keeps them until the context ends."""
    session = session_of(engine)
    with spoken("looking at the tables"):
        count = engine.partitions or int(session.conf.get("spark.sql.shuffle.partitions"))
        rows, lanes = shuffle(session, tables, count)
        rows = rows.persist()
    try:
        inputs = _inputs(rows, lanes, tables, progress)
        yield OnSpark(rows, lanes, count, inputs, tables.needs, progress)
    finally:
        with suppress(Exception):  # a cluster that is gone has let go already
            rows.unpersist()


def _inputs(
    rows: Any, lanes: Mapping[str, Lane], tables: Tables, progress: Progress
) -> dict[str, Input]:
    """What results remember of the tables; the count also brings the rows together."""
    schemas = tables.schemas
    with ThreadPoolExecutor(1) as aside:
        sums = aside.submit(lambda: {name: s.source.sha256() for name, s in schemas.items()})
        for _ in progress([0], "Shuffling"):
            with spoken("bringing the rows of each unit together"):
                heights = dict(rows.groupBy(TAG).sum("rows").collect())
    inputs = {}
    for name, lane in lanes.items():
        height = heights.get(lane.tag, 0)
        if not height:
            some_rows(lane.head.frame, lane.head.name)
        inputs[name] = Input(lane.head.name, height, sums.result()[name])
    return inputs


class OnSpark(Partitions):
    """Partitions on a cluster; what ``work`` and ``then`` yield are rows there until the end."""

    engine = "spark"

    def __init__(
        self,
        rows: Any,
        lanes: Mapping[str, Lane],
        count: int,
        inputs: Mapping[str, Input],
        needs: str,
        progress: Progress,
    ) -> None:
        self.rows, self.lanes, self.count, self.inputs = rows, lanes, count, inputs
        self.needs, self.progress = needs, progress
        self.heads = {name: lane.head for name, lane in lanes.items()}

    def map(self, work: Callable[[Partition], A], label: str) -> list[A]:
        """``work`` on every partition, on the executors."""
        return self._run(work, lambda number: number, label)

    def reduce(self, work: Callable[[Partition], A | None], label: str) -> A:
        """Neighbours are merged on the executors first: the driver gets few."""
        count, groups = self.count, max(round(self.count**0.5), 1)
        parts = self._run(
            work, lambda number: number * groups // count, label, lambda part: part, groups
        )
        return cast(A, merge_in_turn(parts))

    def exchange(
        self, work: Callable[[Partition], Mapping[int, P]], then: Callable[[P], B], label: str
    ) -> B:
        """Pieces are shuffled by their key."""
        return cast(B, merge_in_turn(self._run(work, None, label, then, self.count)))

    def _run(
        self,
        work: Callable[[Partition], Any],
        key: Callable[[int], int] | None,
        label: str,
        then: Callable[[Any], Any] | None = None,
        count: int = 0,
    ) -> list[Any]:
        """The results in the order of keys: of ``work``, or of ``then`` on what met under a key.

        ``count`` is how many Spark partitions the keys are shuffled to.
        """
        with spoken(label):
            sent = self.rows.mapInArrow(on_partition(self.lanes, self.needs, work, key), SENT)
            if then is not None:
                near = sent.repartition(count, "key").sortWithinPartitions("key", "part", "piece")
                sent = near.mapInArrow(on_key(then), SENT)
        for _ in self.progress([0], label):
            with spoken(f"{label[:1].lower()}{label[1:]}"):
                table = sent.toArrow()
        values: dict[tuple[int, int], dict[int, Any]] = {}
        columns = (table[name] for name in ("key", "part", "piece", "data"))
        for number, part, piece, data in zip(*columns, strict=True):
            own = values.setdefault((number.as_py(), part.as_py()), {})
            own[piece.as_py()] = data.as_buffer()
        results = [
            unpacked(b"".join(own[i] for i in sorted(own))) for _, own in sorted(values.items())
        ]
        faults = [fault for value in results if isinstance(value, Refusals) for fault in value.all]
        if faults:
            raise self._error(faults)
        return results

    def _error(self, faults: Sequence[Refusal]) -> CounterrankError:
        """One error; what a schema refused comes first, table by table."""
        order = [name for name in self.lanes if any(f.table == name for f in faults)]
        table = order[0] if order else None
        alike = [_error(fault) for fault in faults if fault.table == table]
        return merged(alike, rows=self.inputs[table].rows if table else None)


def _error(fault: Refusal) -> CounterrankError:
    if fault.data is not None:
        return DataError(fault.data)
    kind: type[CounterrankError] = getattr(errors, fault.kind, CounterrankError)
    return kind(fault.wrong, found=fault.found, todo=fault.todo)
