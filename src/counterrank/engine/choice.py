"""Tables through their doors and into buckets, by the engine that was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from counterrank.engine.bucket import Buckets
from counterrank.engine.engines import Engine, Spark
from counterrank.engine.memory import whole
from counterrank.progress import Progress, quiet
from counterrank.schema import Door


def bucketed(
    chosen: Engine,
    doors: Mapping[str, Door],
    *,
    by: str,
    ids: Sequence[str],
    progress: Progress = quiet,
) -> AbstractContextManager[Buckets]:
    """The tables of ``doors``, cut by the column ``by``; columns ``ids`` of one type in all.

    What was set aside on disk or on a cluster is let go when the context ends, however it ends.
    """
    if isinstance(chosen, Spark):
        from counterrank.engine.spark import on_spark

        return on_spark(chosen, doors, by, ids, progress)
    if chosen.whole:
        return whole(doors, ids)
    from counterrank.engine.spill import spilled

    return spilled(chosen, doors, by, ids, progress)
