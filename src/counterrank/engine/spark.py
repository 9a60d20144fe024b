"""Tables on a Spark cluster: shuffled by their unit, and the work of a bucket sent there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from counterrank.engine.bucket import Buckets
from counterrank.engine.engines import Spark
from counterrank.progress import Progress
from counterrank.schema import Door


def on_spark(
    chosen: Spark, doors: Mapping[str, Door], by: str, ids: Sequence[str], progress: Progress
) -> AbstractContextManager[Buckets]:
    """The tables in buckets on a cluster."""
    raise NotImplementedError
