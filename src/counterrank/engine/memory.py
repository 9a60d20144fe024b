"""Tables that fit in memory: one bucket, which is all there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import polars as pl

from counterrank.arrays import workers
from counterrank.data.ids import unify_id_columns
from counterrank.engine.bucket import Bucket, Buckets
from counterrank.schema import Door, Table

A = TypeVar("A")
B = TypeVar("B")


class Whole(Buckets):
    """All tables, read at once."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self.heads = dict(tables)
        self.inputs = {name: table.input() for name, table in tables.items()}
        self.bucket = Bucket(self.heads)

    @property
    def count(self) -> int:
        """One."""
        return 1

    @property
    def whole(self) -> bool:
        """It is."""
        return True

    def mapped(self, work: Callable[[Bucket], A], word: str) -> list[A]:
        """``work`` on all of it."""
        return [work(self.bucket)]

    def exchanged(
        self,
        first: Callable[[Bucket], pl.DataFrame],
        schema: Mapping[str, pl.DataType],
        key: str,
        second: Callable[[pl.DataFrame], B],
        word: str,
        *,
        parts: int | None = None,
    ) -> list[B]:
        """Everything is together already."""
        return [second(first(self.bucket))]


@contextmanager
def whole(doors: Mapping[str, Door], ids: Sequence[str]) -> Iterator[Buckets]:
    """The tables, read in threads; ids of one kind in all of them."""
    with ThreadPoolExecutor(workers()) as team:
        read = list(team.map(lambda door: door.whole(), doors.values()))
    frames = [table.frame for table in read]
    for column in ids:
        frames = unify_id_columns(frames, column)
    tables = (replace(table, frame=frame) for table, frame in zip(read, frames, strict=True))
    yield Whole(dict(zip(doors, tables, strict=True)))
