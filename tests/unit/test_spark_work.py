"""What runs on Spark's executors, without Spark: batches in, batches out."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from counterrank.core.errors import InputError
from counterrank.core.faults import DataError, Fault
from counterrank.core.parallel import quiet, workers
from counterrank.data.schema import judgments_schema, run_schema
from counterrank.data.sources.dataframes import _advice, _line
from counterrank.engine import Partition, Spark
from counterrank.engine.partitions import Tables
from counterrank.engine.spark import cluster, executor
from counterrank.engine.spark.executor import (
    PLACE,
    Lane,
    Refusals,
    on_departure,
    on_key,
    on_partition,
)
from counterrank.engine.wire import unpack

TRUTH = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "rating": [1, 0, 2]})
RUN = pl.DataFrame({"user": [2, 3], "item": [7, 7], "rank": [1, 1]})


def lanes() -> dict[str, Lane]:
    doors = {"truth": judgments_schema(TRUTH), "run": run_schema(RUN, name="run")}
    heads = {"truth": TRUTH.clear(), "run": RUN.clear()}
    return {
        name: Lane(tag, door.check, door.made, door.part(heads[name]))
        for tag, (name, door) in enumerate(doors.items())
    }


def departed(frame: pl.DataFrame, tag: int) -> list[pa.RecordBatch]:
    placed = frame.with_columns(pl.col("user").mod(2).alias(PLACE))
    batches = placed.to_arrow().to_batches(max_chunksize=1)
    return list(on_departure(tag, [40, 41])(iter(batches)))


def answers(batches: list[pa.RecordBatch]) -> object:
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [row["piece"] for row in rows] == list(range(len(rows)))
    return unpack(b"".join(row["data"] for row in rows))


def arrived(key: int) -> list[pa.RecordBatch]:
    """The cuts of both tables that the shuffle would bring to one partition."""
    cuts = [cut for tag, frame in enumerate((TRUTH, RUN)) for cut in departed(frame, tag)]
    return [cut.filter(pa.compute.equal(cut["key"], key)) for cut in cuts]


def worked(work, batches, *, needs="", key=lambda number: number) -> list[pa.RecordBatch]:
    return list(on_partition(lanes(), needs, work, key)(iter(batches)))


def test_rows_are_cut_by_place_and_meet_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(executor, "PIECE", 100)

    def both(part: Partition) -> list[pl.DataFrame]:
        assert workers() == 1
        frames = [table.frame for table in part.tables.values()]
        assert all(frame["row"].is_null().all() for frame in frames), "no row has a number"
        return [frame.drop("row") for frame in frames]

    truth, run = answers(worked(both, arrived(40)))
    assert_frame_equal(truth, TRUTH.filter(user=2).cast({"rating": pl.Float64}))
    assert_frame_equal(run, RUN.filter(user=2))
    truth, run = answers(worked(both, arrived(41)))
    assert_frame_equal(run, RUN.filter(user=3))
    assert workers() >= 1


def test_a_table_without_rows_has_its_types():
    def kinds(part: Partition) -> list[int]:
        assert part.tables["run"].order == "rank"
        assert part.tables["run"].frame.schema == RUN.schema
        return [table.frame.height for table in part.tables.values()]

    batches = [cut.filter(pa.compute.equal(cut["key"], 40)) for cut in departed(TRUTH, 0)]
    assert answers(worked(kinds, batches)) == [1, 0]


def test_no_rows_at_all_are_no_partition():
    assert worked(lambda part: 1, []) == []


def test_a_refusal_is_an_answer():
    def refusing(part: Partition) -> int:
        raise DataError(Fault("missing value", "t", "item", 2, 3, {"row": 7, "value": 1}))

    found = answers(worked(refusing, arrived(40)))
    assert isinstance(found, Refusals)
    assert found.all[0].found == "Found 2 of 3 rows (first: value 1)."
    assert found.all[0].data == Fault("missing value", "t", "item", 2, 3, {"value": 1})


def test_a_partition_without_the_table_that_is_needed_is_left_out():
    assert worked(lambda part: 1, departed(TRUTH, 0), needs="run") == []
    assert answers(worked(lambda part: 1, departed(TRUTH, 0), needs="truth")) == 1
    bad = departed(TRUTH.with_columns(rating=pl.lit(float("nan"))), 0)
    found = answers(worked(lambda part: 1, bad, needs="run"))
    assert isinstance(found, Refusals), "what is wrong with the rows is told all the same"


def test_pieces_of_a_key_meet(monkeypatch: pytest.MonkeyPatch):
    """In the order of partitions; faults stand under a key of their own and go on as they are."""
    monkeypatch.setattr(executor, "PIECE", 40)
    sent = []
    for number in (0, 1, 2):
        monkeypatch.setattr(executor, "_number", lambda number=number: number)
        sent += worked(lambda part, n=number: {5: [n], n: [7]}, arrived(40), key=None)
    sent += worked(refuse, arrived(40), key=None)
    rows = pa.Table.from_batches(sent).sort_by([(c, "ascending") for c in ("key", "part", "piece")])
    back = pa.Table.from_batches(on_key(tuple)(iter(rows.to_batches())))
    found = {}
    for row in back.to_pylist():
        found[row["key"]] = found.get(row["key"], b"") + row["data"]
    values = {key: unpack(data) for key, data in found.items()}
    assert isinstance(values.pop(-1), Refusals)
    assert values == {0: (7,), 1: (7,), 2: (7,), 5: (0, 1, 2)}


def refuse(part: Partition) -> dict[int, int]:
    raise InputError("No.")


def test_doors_are_sent_without_their_tables():
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    big = pl.DataFrame({"user": range(100_000), "item": range(100_000), "rating": 1.0})
    door = judgments_schema(big)
    assert door.source.table is big
    sent = cloudpickle.dumps((door.check, door.made))
    assert len(sent) < 10_000
    check, made = cloudpickle.loads(sent)
    assert made(check(TRUTH)).name == "the judgments"


TRACE = """An error occurred while calling o1.collect.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 0.0 failed
\tat org.apache.spark.X
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
ModuleNotFoundError: No module named 'polars'
"""


def test_the_cause_is_found_in_a_trace():
    assert _line(TRACE) == "ModuleNotFoundError: No module named 'polars'"
    assert "Every executor needs" in _advice(TRACE)
    assert _line("Connection refused\n\tat x") == "Connection refused"
    assert "more memory" in _advice("Python worker exited unexpectedly (crashed)")


def test_a_cluster_that_keeps_nothing_works_all_the_same(monkeypatch):
    """Serverless ones refuse: "PERSIST TABLE is not supported on serverless compute"."""
    from pyspark.errors import AnalysisException

    class Rows:
        def persist(self):
            raise AnalysisException("PERSIST TABLE is not supported on serverless compute.")

    rows = Rows()
    monkeypatch.setattr(cluster, "session_of", lambda _: None)
    monkeypatch.setattr(cluster, "shuffle", lambda *_: (rows, {}))
    monkeypatch.setattr(cluster, "_inputs", lambda *_: {})
    asked = Tables({}, unit="session", ids=())
    with cluster.cut_on_spark(Spark(partitions=2), asked, quiet) as found:
        assert found.rows is rows
