"""Partitions of tables, wherever they are. Nothing else knows where that is."""

from counterrank.engine.bucket import Bucket, Buckets, bucketed
from counterrank.engine.engines import Engine, Local, Spark, engine
from counterrank.engine.partitions import Partition, Partitions, Tables, split

__all__ = [
    "Bucket", "Buckets", "Engine", "Local", "Partition", "Partitions", "Spark", "Tables",
    "bucketed", "engine", "split",
]  # fmt: skip
