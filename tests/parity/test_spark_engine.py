"""Partitions on a real Spark cluster: whole units, whatever the partitions, and whoever dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from counterrank.core.errors import CounterrankError, InputError, UsageError
from counterrank.data.logs import log_schema
from counterrank.data.schema import Schema, judgments_schema, run_schema
from counterrank.engine import Engine, Local, Partition, Partitions, Spark, Tables, engine, split
from spark_cluster import HOST, LIGHT

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def _sent_by_value(spark: Any) -> None:
    """Executors cannot import this file."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])


def judged(users: int = 300, seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), random.integers(1, 9, users))
    return pl.DataFrame(
        {
            "user": user,
            "item": np.arange(len(user)) % 97,
            "rating": random.integers(0, 5, len(user)),
        }
    )


def listed(users: int = 310, seed: int = 2) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    user = np.repeat(np.arange(10, users), 5)
    rank = np.tile(np.arange(1, 6), users - 10)
    return pl.DataFrame({"user": user, "item": random.permutation(len(user)), "rank": rank})


def doors(truth: object, run: object) -> dict[str, Schema]:
    return {"truth": judgments_schema(truth), "run": run_schema(run, name="new")}


def opened(
    chosen: Engine, schemas: dict[str, Schema], unit: str = "user"
) -> AbstractContextManager[Partitions]:
    return chosen.open(Tables(schemas, unit, (unit, "item")))


def per_user(part: Partition) -> pl.DataFrame:
    """Sums by user over both tables: right only where all rows of a user are here."""
    truth, run = (part[name].frame for name in ("truth", "run"))
    left = truth.group_by("user").agg(pl.col("rating").sum(), pl.len().alias("judged"))
    right = run.group_by("user").agg(pl.col("rank").sum().cast(pl.Int64), pl.len().alias("listed"))
    return left.join(right, on="user", how="full", coalesce=True)


def in_one(parts: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts).sort("user")


def expected(truth: object, run: object) -> pl.DataFrame:
    with opened(Local(), doors(truth, run)) as partitions:
        return in_one(partitions.map(per_user, "Adding"))


@pytest.mark.parametrize("count", [1, 7, 64])
def test_every_unit_is_whole_in_one_partition(spark: Any, count: int):
    truth, run = judged(), listed()
    given = doors(spark.createDataFrame(truth.to_arrow()), spark.createDataFrame(run.to_arrow()))
    chosen = Spark(session=spark, partitions=count)
    with opened(chosen, given) as partitions:
        assert partitions.count == count
        parts = partitions.map(per_user, "Adding")
        assert [i.rows for i in partitions.inputs.values()] == [truth.height, run.height]
        assert partitions.inputs["truth"].sha256 is None
        assert partitions.heads["truth"].frame.schema == {
            "user": pl.Int64, "item": pl.Int64, "rating": pl.Float64,
        }  # fmt: skip
        assert partitions.heads["run"].system == "new"
    assert len(parts) <= count
    assert sum(part.height for part in parts) == pl.concat(parts)["user"].n_unique()
    assert_frame_equal(in_one(parts), expected(truth, run))


@pytest.mark.parametrize("kind", ["parquet", "csv", "folder", "trec", "pandas"])
def test_every_kind_of_table(spark: Any, tmp_path: Path, kind: str):
    truth, run = judged(40), listed(50)
    given: list[object] = []
    for name, frame in (("truth", truth), ("run [1]", run)):
        path = tmp_path / f"{name}.{'csv' if kind == 'csv' else 'parquet'}"
        if kind == "parquet":
            frame.write_parquet(path)
        elif kind == "csv":
            frame.write_csv(path)
        elif kind == "folder":
            path = tmp_path / name
            path.mkdir()
            half = frame.height // 2
            frame[:half].write_parquet(path / "a.parquet")
            frame[half:].select(*reversed(frame.columns)).cast(pl.Int32).write_parquet(
                path / "b.parquet"
            )
        elif kind == "trec":
            path = tmp_path / f"{name}.txt"
            rows = (
                f"{u}\t0 {i}  {x}" if name == "truth" else f"{u} Q0 {i} {x} {100 - x} tag of it"
                for u, i, x in frame.iter_rows()
            )
            path.write_text("\ufeff# made up\n" + "\r\n".join(rows) + "\n\n")
        given.append(frame.to_pandas() if kind == "pandas" else path)
    chosen = Spark(session=spark, partitions=3)
    columns = {"rank": "position"} if kind == "trec" else None
    tables = {"truth": judgments_schema(given[0]), "run": run_schema(given[1], columns=columns)}
    with opened(chosen, tables) as partitions:
        found = in_one(partitions.map(per_user, "Adding"))
        sums = [source.sha256 for source in partitions.inputs.values()]
    text = kind in ("csv", "trec")
    wanted = expected(truth, run)
    wanted = wanted.with_columns(pl.col("user").cast(pl.String)).sort("user") if text else wanted
    assert_frame_equal(found, wanted)
    assert all(sums) == (kind != "pandas")


def test_a_lake_is_read_by_its_address(spark: Any, tmp_path: Path):
    judged(40).write_parquet(tmp_path / "truth.parquet")
    listed(50).write_csv(tmp_path / "run.csv")
    truth, run = (f"file://{tmp_path}/{name}" for name in ("truth.parquet", "run.csv"))
    chosen = engine(Spark(partitions=2), [truth, run])
    with opened(chosen, doors(truth, run)) as partitions:
        found = in_one(partitions.map(per_user, "Adding"))
        assert partitions.inputs["truth"].name == truth
    assert found.height == expected(judged(40), listed(50)).height
    with pytest.raises(InputError, match="PATH_NOT_FOUND"):
        judgments_schema(f"file://{tmp_path}/nowhere.parquet")


def kinds(part: Partition) -> dict[str, list[str]]:
    frames = {name: table.frame.drop("row") for name, table in part.tables.items()}
    return {name: [str(t) for t in frame.dtypes] for name, frame in frames.items()}


def test_ids_have_one_type_and_other_columns_their_own(spark: Any):
    truth = judged(40).with_columns(pl.col("user").cast(pl.String))
    run = listed(50).cast({"user": pl.Int32, "item": pl.Int16, "rank": pl.Int8})
    with opened(Spark(session=spark, partitions=2), doors(truth, run)) as partitions:
        found = partitions.map(kinds, "Looking")
        heads = {name: [str(t) for t in h.frame.dtypes] for name, h in partitions.heads.items()}
    assert found[0] == heads
    assert heads["truth"] == ["String", "Int64", "Float64"]
    assert heads["run"] == ["String", "Int64", "Int8"]


def test_a_partition_may_lack_a_table(spark: Any):
    truth = pl.DataFrame({"user": ["a"], "item": ["x"], "rating": [1]})
    run = pl.DataFrame({"user": ["b", "c"], "item": ["x", "y"], "rank": [1, 1]})
    with opened(Spark(session=spark, partitions=7), doors(truth, run)) as partitions:
        found = in_one(partitions.map(per_user, "Adding"))
    assert found["user"].to_list() == ["a", "b", "c"]


def test_what_doors_refuse_on_executors_reads_as_in_memory(spark: Any, tmp_path: Path):
    truth = judged().with_columns(
        rating=pl.when(pl.col("item") == 3).then(float("nan")).otherwise(pl.col("rating"))
    )
    bad = truth["rating"].is_nan().sum()
    path = tmp_path / "truth.parquet"
    truth.write_parquet(path, row_group_size=100)
    chosen = Spark(session=spark, partitions=7)
    with pytest.raises(InputError) as caught, opened(chosen, doors(truth, listed())):
        pass
    with pytest.raises(InputError) as of_file, opened(chosen, doors(path, listed())):
        pass
    assert of_file.value.found == caught.value.found
    assert caught.value.wrong == 'Column "rating" of "the judgments" must be finite.'
    assert caught.value.found == f"Found {bad} of {truth.height:,} rows (first: value nan)."


def refusing(word: str, part: Partition) -> int:
    raise UsageError(f"No {word}.", todo="Leave it.")


def failing(part: Partition) -> int:
    return 1 // (part["run"].frame.height * 0)


def test_errors_of_work(spark: Any):
    with opened(Spark(session=spark, partitions=3), doors(judged(), listed())) as partitions:
        with pytest.raises(UsageError, match=r"^No luck\. Leave it\.$"):
            partitions.map(partial(refusing, "luck"), "Trying")
        with pytest.raises(CounterrankError, match="ZeroDivisionError") as caught:
            partitions.map(failing, "Trying")
        assert "\n" not in str(caught.value)


def test_errors_before_any_work(spark: Any, tmp_path: Path):
    empty = spark.createDataFrame(judged().to_arrow()).limit(0)
    chosen = Spark(session=spark, partitions=2)
    with (
        pytest.raises(InputError, match=r'"the judgments" has no rows\.'),
        opened(chosen, doors(empty, listed())),
    ):
        pass
    floats = listed().with_columns(pl.col("user").cast(pl.Float64))
    with (
        pytest.raises(InputError, match=r"must hold ids: text or whole numbers\. .*Float64"),
        opened(chosen, doors(judged(), floats)),
    ):
        pass
    ranks = listed().with_columns(pl.col("rank") / 2)
    with (
        pytest.raises(InputError, match=r"must hold whole numbers\. It is of type Float64\."),
        opened(chosen, doors(judged(), ranks)),
    ):
        pass
    (tmp_path / "run.txt").write_text("1 Q0 2 1 0.5 x\n1 Q0 3\n")
    with (
        pytest.raises(InputError, match="is not TREC text of 6 fields"),
        opened(chosen, doors(judged(), tmp_path / "run.txt")),
    ):
        pass


def item_rows(pieces: int, part: Partition) -> dict[int, pl.DataFrame]:
    frame = part["truth"].frame
    if "raise" in frame["item"].cast(pl.String):
        raise InputError("It said raise.")
    mark = pl.lit((1 << 64) - 1, pl.UInt64)
    rows = frame.group_by("item").agg(pl.col("rating").sum(), pl.len().alias("n"))
    return split(rows.with_columns(mark=mark), "item", pieces)


def by_item(rows: pl.DataFrame) -> pl.DataFrame:
    assert rows["mark"].dtype == pl.UInt64
    assert rows["n"].dtype == pl.UInt32
    assert (rows["mark"] == (1 << 64) - 1).all()
    return rows.group_by("item").agg(pl.col("rating").sum(), pl.col("n").sum())


def test_rows_are_exchanged_by_another_key(spark: Any):
    truth = judged()
    with opened(Spark(session=spark, partitions=5), doors(truth, listed())) as partitions:
        work = partial(item_rows, partitions.pieces)
        found = partitions.exchange(work, by_item, "Exchanging")
    assert found["item"].n_unique() == found.height
    wanted = truth.group_by("item").agg(
        pl.col("rating").sum().cast(pl.Float64), pl.len().alias("n").cast(pl.UInt32)
    )
    assert_frame_equal(found.sort("item"), wanted.sort("item"))


def test_faults_are_exchanged_too(spark: Any):
    truth = judged().with_columns(pl.col("item").cast(pl.String))
    truth = truth.with_columns(
        item=pl.when(pl.col("item") == "5").then(pl.lit("raise")).otherwise("item")
    )
    with (
        opened(Spark(session=spark, partitions=5), doors(truth, listed())) as partitions,
        pytest.raises(InputError, match=r"^It said raise\.$"),
    ):
        partitions.exchange(partial(item_rows, partitions.pieces), by_item, "Exchanging")


def sums(part: Partition) -> dict[str, float]:
    log = part["log"].frame
    return {
        "rows": log.height,
        "click": log["click"].sum(),
        "most": log["session"].value_counts()["count"].max(),
    }


def test_a_user_with_a_million_rows_does_not_kill_an_executor(spark: Any):
    """Executors have 512 MB; the other users share the rest of the partitions."""
    rows = spark.range(1_400_000).selectExpr(
        "if(id < 1000000, 'one who clicks a lot', concat('session ', id div 10)) as session",
        "concat('item ', id) as item", "int(id % 50 + 1) as rank", "id % 7 = 0 as click",
        "0.5d as exposure", "'some longer text that is a context' as context",
        "timestamp_seconds(id) as timestamp",
    )  # fmt: skip
    given = {"log": log_schema(rows, contexts=["context"])}
    with opened(Spark(session=spark, partitions=3), given, "session") as partitions:
        found = partitions.map(sums, "Adding")
    assert sum(part["rows"] for part in found) == 1_400_000
    assert sum(part["click"] for part in found) == 200_000
    assert max(part["most"] for part in found) == 1_000_000


def slow(part: Partition) -> pl.DataFrame:
    time.sleep(0.5)
    return per_user(part)


def test_a_worker_killed_in_mid_job_changes_nothing(spark: Any, cluster: Any):
    truth, run = judged(), listed()
    given = doors(spark.createDataFrame(truth.to_arrow()), spark.createDataFrame(run.to_arrow()))
    with opened(Spark(session=spark, partitions=16), given) as partitions:
        killer = threading.Timer(2, cluster.kill_worker)
        killer.start()
        began = time.monotonic()
        parts = partitions.map(slow, "Adding")
        killer.join()
        assert time.monotonic() - began > 2, "the job was over before the worker died"
        cluster.start_worker()
        again = partitions.map(per_user, "Adding")
    assert_frame_equal(in_one(parts), expected(truth, run))
    assert_frame_equal(in_one(again), expected(truth, run))


def test_spark_connect_gives_the_same(cluster: Any):
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio (pyspark[connect])")
    script = Path(__file__).resolve().parents[1] / "spark_connect.py"
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ
        | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": HOST, "JAVA_TOOL_OPTIONS": LIGHT},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {"sums": [1000, 10500], "items": [50] * 20, "said": "Refused."}


OWN_SESSION = """
import polars as pl
from counterrank.engine import Spark, Tables
from counterrank.core.errors import UsageError
from counterrank.data.schema import judgments_schema

def height(part):
    from counterrank.core.parallel import workers
    return [part["truth"].frame.height, workers()]

frame = pl.DataFrame({"user": [1, 2, 3], "item": [1, 1, 1], "rating": [1, 0, 1]})
tables = Tables({"truth": judgments_schema(frame)}, "user", ("user", "item"))
one = Spark(master="local[1]", partitions=2)
for _ in range(2):  # the second time the session is there
    with one.open(tables) as partitions:
        found = partitions.map(height, "Counting")
try:
    Spark(master="local[2]").open(tables).__enter__()
except UsageError as error:
    print(partitions.count, sum(rows for rows, _ in found), {n for _, n in found}, error)
"""


def test_a_session_is_started_for_a_master(cluster: Any):
    done = subprocess.run(
        [sys.executable, "-c", OWN_SESSION],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith(
        "2 3 {1} Spark already runs on local[1] in this process, not on local[2]."
    )
