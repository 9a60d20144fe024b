"""Seconds of an estimate in memory and on Spark, in a process that has done both before: as JSON.

``bare`` is what Spark takes to read both tables and hand their rows to Python, which counts them.
Usage: ``warm_spark.py FOLDER PARTITIONS REPEATS``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import counterrank as cr


def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch([pa.array([sum(batch.num_rows for batch in batches)])], ["rows"])


def main() -> None:
    folder, partitions, repeats = sys.argv[1:]
    tables = [str((Path(folder) / name).resolve()) for name in ("log", "new")]
    asked = {"estimator": ["IPS", "SNIPS"], "reward": "click", "position_bias": "log2"}
    engines = {"local": cr.Local(), "spark": cr.Spark("local[2]", partitions=int(partitions))}
    took: dict[str, list[float]] = {"local": [], "spark": [], "bare": []}
    for _ in range(int(repeats) + 1):
        for name in took:
            began = time.perf_counter()
            if name == "bare":
                session = SparkSession.getActiveSession()
                for table in tables:
                    session.read.parquet(f"file://{table}").mapInArrow(count, "rows long").collect()
            else:
                cr.estimate(tables[0], {"new": tables[1]}, engine=engines[name], **asked)
            took[name].append(time.perf_counter() - began)
    print(json.dumps({name: min(times[1:]) for name, times in took.items()}))


if __name__ == "__main__":
    main()
