"""Partitions of tables, wherever they are. Nothing else knows where that is."""

from counterrank.engine.engines import Engine, Local, Spark, engine
from counterrank.engine.partitions import Partition, Partitions, Tables, split

__all__ = [
    "Engine", "Local", "Partition", "Partitions", "Spark", "Tables", "engine", "split",
]  # fmt: skip
