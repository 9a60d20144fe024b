"""Where buckets come from and where they run. Nothing else knows the back-end."""

from counterrank.engine.bucket import Bucket, Buckets
from counterrank.engine.choice import bucketed
from counterrank.engine.engines import Engine, Local, Spark, engine, room
from counterrank.engine.lists import Part, aligned, walked

__all__ = [
    "Bucket", "Buckets", "Engine", "Local", "Part", "Spark", "aligned", "bucketed", "engine",
    "room", "walked",
]  # fmt: skip
