"""The Spark engine by way of Spark Connect, in a process of its own: prints sums of two tables.

Spark allows one kind of session per process, and the other tests have a classic one.
"""

from __future__ import annotations

import json
import sys

import polars as pl

from counterrank.core.errors import InputError
from counterrank.data.schema import judgments_schema, run_schema
from counterrank.engine import Partition, Spark, Tables, split


def sums(part: Partition) -> list[float]:
    return [
        float(part[name].frame[column].sum())
        for name, column in (("truth", "rating"), ("run", "rank"))
    ]


def rows(part: Partition) -> dict[int, pl.DataFrame]:
    return split(part["truth"].frame.select("item", "rating"), "item", 3)


def by_item(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("item").agg(pl.col("rating").sum())


def refused(part: Partition) -> None:
    raise InputError("Refused.")


def main() -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote("local[2]").getOrCreate()
    assert "connect" in type(session).__module__
    frame = session.range(1000).selectExpr("id % 50 as user", "id div 50 as item", "1 as rating")
    run = session.range(1000).selectExpr("id % 50 as user", "id as item", "1 + id div 50 as rank")
    doors = {"truth": judgments_schema(frame), "run": run_schema(run, name="run")}
    chosen = Spark(session=session, partitions=3)
    with chosen.open(Tables(doors, "user", ("user", "item"))) as partitions:
        parts = partitions.map(sums, "Adding")
        items = partitions.exchange(rows, by_item, "Exchanging")
        try:
            partitions.map(refused, "Refusing")
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
