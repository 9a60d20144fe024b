"""Tables in memory: one partition, which is all there is and stays. All cores work on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from counterrank.core.arrays import workers
from counterrank.core.progress import Progress, quiet
from counterrank.data.ids import unify_id_columns
from counterrank.data.schema import Door, Input, Table
from counterrank.engine.partitions import Lazy, Partition, Partitions, Tables, merge_in_turn

if TYPE_CHECKING:
    from counterrank.engine.engines import Local

A = TypeVar("A")
B = TypeVar("B")
P = TypeVar("P")


class InMemory(Partitions):
    """All tables in one partition."""

    count = 1

    def __init__(
        self,
        tables: Mapping[str, Table],
        inputs: Mapping[str, Input] | None = None,
        progress: Progress = quiet,
    ) -> None:
        self.progress = progress
        self.partition = Partition(tables)
        self.heads = {name: replace(t, frame=t.frame.clear()) for name, t in tables.items()}
        self.inputs = inputs or {name: table.input() for name, table in tables.items()}

    def share(self, rows: int, of: str) -> float:
        """All rows."""
        return 1.0

    def map(self, work: Callable[[Partition], A], label: str) -> list[A]:
        """``work`` on all there is."""
        return [work(self.partition)]

    def exchange(
        self, work: Callable[[Partition], Mapping[int, P]], then: Callable[[P], B], label: str
    ) -> B:
        """Every key by itself, under a bar."""
        pieces = work(self.partition)
        return merge_in_turn(then(pieces[key]) for key in self.progress(sorted(pieces), label))


class LazyInMemory(InMemory):
    """The same, but a table is read when it is first asked for, and freed when it is released."""

    def __init__(self, schemas: Mapping[str, Door], progress: Progress) -> None:
        self.tables = _Reported({name: partial(self._read, name) for name in schemas})
        self.schemas, self.progress = schemas, progress
        self.partition = Partition(self.tables)
        self.heads = {name: schema.head() for name, schema in schemas.items()}
        self.inputs = self.read = Lazy({name: partial(self._input, name) for name in schemas})

    def _read(self, name: str) -> Table:
        table = self.schemas[name].whole()
        self.read.held[name] = table.input()  # hashed while others read
        return table

    def _input(self, name: str) -> Input:
        _ = self.tables[name]  # which leaves what is remembered of it
        return self.read.held[name]

    def map(self, work: Callable[[Partition], A], label: str) -> list[A]:
        """``work`` on all there is; the bar moves when a table is released."""
        self.tables.ticks = iter(self.progress(range(len(self.schemas)), label))
        result = work(self.partition)
        for _ in self.tables.ticks:
            pass
        return [result]


class _Reported(Lazy[Table]):
    """Tables whose release moves a bar; threads release them."""

    ticks: Iterator[int] = iter(())
    lock = Lock()

    def release(self, name: str) -> None:
        super().release(name)
        with self.lock:
            next(self.ticks, None)


@contextmanager
def cut_in_memory(engine: Local, tables: Tables, progress: Progress) -> Iterator[Partitions]:
    """The tables, read in threads, each while checksums of others are made; or read later."""
    if tables.lazy:
        yield LazyInMemory(tables.schemas, progress)
        return
    with ThreadPoolExecutor(workers()) as team:
        whole = list(team.map(lambda schema: schema.whole(), tables.schemas.values()))
        inputs = [team.submit(table.input) for table in whole]
        frames = [table.frame for table in whole]
        for column in tables.ids:
            frames = unify_id_columns(frames, column)
    names = list(tables.schemas)
    yield InMemory(
        {n: replace(t, frame=f) for n, t, f in zip(names, whole, frames, strict=True)},
        {name: job.result() for name, job in zip(names, inputs, strict=True)},
        progress,
    )
