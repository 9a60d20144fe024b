"""Partitions of tables, wherever they are. Nothing else knows where that is."""

from counterrank.engine.bucket import Bucket, Buckets, bucketed
from counterrank.engine.engines import Engine, Local, Spark, engine
from counterrank.engine.partitions import Partition, Partitions, Tables, split
from counterrank.matching.walk import Part, aligned, walked

__all__ = [
    "Bucket", "Buckets", "Engine", "Local", "Part", "Partition", "Partitions", "Spark", "Tables",
    "aligned", "bucketed", "engine", "split", "walked",
]  # fmt: skip
