"""Partitions of tables, wherever they are. Nothing else knows where that is."""

from counterrank.engine.engines import Engine, Local, Spark, engine
from counterrank.engine.partitions import Partition, Partitions, Tables, split
from counterrank.matching.walk import Part, aligned, walked

__all__ = [
    "Engine", "Local", "Part", "Partition", "Partitions", "Spark", "Tables",
    "aligned", "engine", "split", "walked",
]  # fmt: skip
