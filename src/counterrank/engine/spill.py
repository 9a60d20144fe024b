"""Tables larger than memory: cut by a hash of the unit into files, and read back bucket by bucket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from counterrank.engine.bucket import Buckets
from counterrank.engine.engines import Local
from counterrank.progress import Progress
from counterrank.schema import Door


def spilled(
    chosen: Local, doors: Mapping[str, Door], by: str, ids: Sequence[str], progress: Progress
) -> AbstractContextManager[Buckets]:
    """The tables in buckets on disk."""
    raise NotImplementedError
