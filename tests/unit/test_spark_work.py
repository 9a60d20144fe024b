"""What runs on Spark's executors, without Spark: batches in, batches out."""

from __future__ import annotations

from pathlib import Path

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
    Lane,
    Refusals,
    Share,
    on_count,
    on_departure,
    on_files,
    on_key,
    on_partition,
)
from counterrank.engine.wire import unpack

TRUTH = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "rating": [1, 0, 2]})
INF = float("inf")
RUN = pl.DataFrame({"user": [2, 3], "item": [7, 7], "rank": [1, 1]})


def lanes() -> dict[str, Lane]:
    doors = {"truth": judgments_schema(TRUTH), "run": run_schema(RUN, name="run")}
    heads = {"truth": TRUTH.clear(), "run": RUN.clear()}
    return {
        name: Lane(tag, name, door.check, door.part(heads[name]), "user", ("user", "item"))
        for tag, (name, door) in enumerate(doors.items())
    }


def departed(frame: pl.DataFrame, tag: int) -> list[pa.RecordBatch]:
    batches = frame.to_arrow().to_batches(max_chunksize=1)
    return list(on_departure(list(lanes().values())[tag], [40, 41])(iter(batches)))


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


def counted(batches: list[pa.RecordBatch]) -> list[tuple[int, int, bool]]:
    cuts = (batch.select(["key", "tag", "rows"]) for batch in batches)
    return [tuple(row.values()) for batch in on_count(cuts) for row in batch.to_pylist()]


def test_what_a_schema_refuses_is_told_and_counted_all_the_same():
    rating = pl.when(pl.col("user") == 2).then(INF).otherwise(1.0).alias("rating")
    cuts = departed(TRUTH.with_columns(rating), 0)
    assert counted(departed(TRUTH, 0) + cuts) == [(0, 3, False), (0, 3, True)]
    found = unpack(cuts[0]["data"][0].as_py())
    assert isinstance(found, Refusals)
    assert found.all[0].table == "truth"
    assert found.all[0].data == Fault("not finite", "the judgments", "rating", 1, 3, {"value": INF})


def test_executors_that_hash_otherwise_are_refused(monkeypatch: pytest.MonkeyPatch):
    """Or a unit would be in two partitions."""
    lane = lanes()["truth"]
    monkeypatch.setattr(executor, "text_hash", lambda: lane.mark + 1)
    [refusal] = unpack(lane.cut(TRUTH, [40, 41])["data"][0].as_py()).all
    assert refusal.todo == "Install one version of Polars on all machines."


def shares(path: Path, rows: list[tuple[int, int]]) -> list[Share]:
    columns = {
        "user": ("who", pl.Int64),
        "item": ("item", pl.Int64),
        "rating": ("rating", pl.Int64),
    }
    return [Share(lanes()["truth"], path, columns, start, count) for start, count in rows]


def read(dealt: list[list[Share]]) -> list[pa.RecordBatch]:
    numbers = pa.record_batch([pa.array(range(len(dealt)))], ["id"])
    return list(on_files(dealt, [40, 41])(iter([numbers])))


def test_executors_read_parquet_themselves(tmp_path: Path):
    """By rows, under the names of roles and in the types that all files have in common."""
    path = tmp_path / "truth [1].parquet"
    TRUTH.rename({"user": "who"}).cast(pl.Int8).write_parquet(path)
    whole, parts = (read([shares(path, rows)]) for rows in ([(0, 3)], [(0, 1), (1, 2)]))
    assert [len(whole), len(parts)] == [1, 2]
    for key in (40, 41):
        there = [[b.filter(pa.compute.equal(b["key"], key)) for b in cut] for cut in (whole, parts)]
        own = [answers(worked(lambda part: part["truth"].frame, cut)) for cut in there]
        assert own[0].drop("row").schema == lanes()["truth"].head.frame.schema
        assert_frame_equal(*own)
        assert own[0]["user"].unique().to_list() == [{40: 2, 41: 1}[key]]


def test_a_file_that_an_executor_does_not_find_is_named(tmp_path: Path):
    [cut] = read([shares(tmp_path / "nowhere.parquet", [(0, 3)]), []])
    [refusal] = unpack(cut["data"][0].as_py()).all
    assert refusal.wrong == f'"{tmp_path}/nowhere.parquet" is not there on an executor of Spark.'
    assert "under this name" in refusal.todo
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    [cut] = read([shares(tmp_path / "broken.parquet", [(0, 3)])])
    [refusal] = unpack(cut["data"][0].as_py()).all
    assert "cannot be read as Parquet" in refusal.wrong


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
