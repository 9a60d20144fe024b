"""The Spark engine by way of Spark Connect, in a process of its own: prints sums of two tables.

Spark allows one kind of session per process, and the other tests have a classic one.
"""

from __future__ import annotations

import json
import sys

import polars as pl

from counterrank.core.errors import InputError
from counterrank.data.schema import judgments_door, run_door
from counterrank.engine import Bucket, Spark, bucketed

SHAPE: dict[str, pl.DataType] = {"item": pl.Int64(), "rating": pl.Float64()}


def sums(bucket: Bucket) -> list[float]:
    return [
        float(bucket.tables[name].frame[column].sum())
        for name, column in (("truth", "rating"), ("run", "rank"))
    ]


def rows(bucket: Bucket) -> pl.DataFrame:
    return bucket.tables["truth"].frame.select("item", "rating")


def by_item(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("item").agg(pl.col("rating").sum())


def refused(bucket: Bucket) -> None:
    raise InputError("Refused.")


def main() -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote("local[2]").getOrCreate()
    assert "connect" in type(session).__module__
    frame = session.range(1000).selectExpr("id % 50 as user", "id div 50 as item", "1 as rating")
    run = session.range(1000).selectExpr("id % 50 as user", "id as item", "1 + id div 50 as rank")
    doors = {"truth": judgments_door(frame), "run": run_door(run, name="run")}
    chosen = Spark(session=session, partitions=3)
    with bucketed(chosen, doors, by="user", ids=("user", "item")) as buckets:
        parts = buckets.mapped(sums, "Adding")
        items = pl.concat(buckets.exchanged(rows, SHAPE, "item", by_item, "Exchanging"))
        try:
            buckets.mapped(refused, "Refusing")
        except InputError as error:
            said = str(error)
    found = {
        "sums": [sum(column) for column in zip(*parts, strict=True)],
        "items": items.sort("item")["rating"].to_list(),
        "said": said,
    }
    session.stop()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
