"""Partitions: whole units with all their rows, of every table.

A verb maps pure functions over them. Engines make them: one in memory (here), several on disk or on
a Spark cluster. Nothing else knows where they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.core.merge import merge
from counterrank.core.parallel import Progress, quiet, workers
from counterrank.data.ids import unify_id_columns
from counterrank.data.rehearsal import Rehearsed, TablePlan
from counterrank.data.schema import Input, Schema, Table

if TYPE_CHECKING:
    from counterrank.engine.engines import Local


A = TypeVar("A")
B = TypeVar("B")
P = TypeVar("P")


@dataclass(frozen=True)
class Tables:
    """What a verb reads: tables by their schemas, cut by the column ``unit`` that all have.

    The columns ``ids`` have one type in all tables. Partitions without rows of the table ``needs``
    are left out. ``lazy`` tables are for passes that look at one table at a time: in memory each
    is read when it is first asked for, with ids of its own type, and may be released.
    """

    schemas: Mapping[str, Schema]
    unit: str
    ids: tuple[str, ...]
    needs: str = ""
    lazy: bool = False


class Lazy(Mapping[str, A]):
    """Values by name, each made when it is first asked for and held until it is released."""

    def __init__(self, makers: Mapping[str, Callable[[], A]]) -> None:
        self.makers = makers
        self.held: dict[str, A] = {}

    def __getitem__(self, name: str) -> A:
        if name not in self.held:
            self.held.setdefault(name, self.makers[name]())
        return self.held[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)

    def release(self, name: str) -> None:
        """Hold it no longer; asked for again, it is made again."""
        self.held.pop(name, None)


@dataclass(frozen=True)
class Partition:
    """The rows of some units: every table by its name, through its schema; some may be empty.

    ``cache`` lasts from one pass to the next in memory, and as long as one pass elsewhere.
    """

    tables: Mapping[str, Table]
    cache: dict[str, Any] = field(default_factory=dict, compare=False)

    def __getitem__(self, name: str) -> Table:
        return self.tables[name]

    def cached(self, name: str, compute: Callable[[], A]) -> A:
        """What several passes ask of this partition."""
        if name not in self.cache:
            self.cache[name] = compute()
        return cast(A, self.cache[name])

    def release(self, name: str) -> None:
        """Free the memory of a table that no pass needs again, where it can be freed."""
        if isinstance(self.tables, Lazy):
            self.tables.release(name)


class Partitions(ABC):
    """All partitions, wherever they are.

    ``heads`` are the tables without rows: what columns there are, and of what types. ``inputs`` is
    what a result remembers of the tables, in the order they were given. ``count`` is the number of
    partitions, those included that are left out for want of rows.

    The work of a pass is a pure function: it may run in another process, in any order. What it
    returns is made of dataclasses and named tuples of this package, dicts, lists, tuples, sets,
    text, numbers, arrays, Series and frames, so that it can be sent (`counterrank.engine.wire`). A
    `CounterrankError` that it raises reaches the caller, merged over all partitions.
    """

    engine = "local"
    heads: Mapping[str, Table]
    inputs: Mapping[str, Input]
    count: int

    @property
    def pieces(self) -> int:
        """How many keys an exchange of sums is best cut into."""
        return self.count

    def share(self, rows: int, of: str) -> float:
        """The share of the rows of table ``of`` that may meet in one place, where ``rows`` may.

        In memory all may: they are there.
        """
        return min(1.0, rows / max(self.inputs[of].rows, 1))

    def protocol(self) -> dict[str, Any]:
        """Where it ran, for the protocol of a result."""
        return {"engine": self.engine, "partitions": self.count}

    @abstractmethod
    def map(self, work: Callable[[Partition], A], label: str) -> list[A]:
        """``work`` on every partition, in their order, under a bar that says ``label``."""

    def reduce(self, work: Callable[[Partition], A | None], label: str) -> A:
        """``work`` on every partition, merged in their order; None adds nothing."""
        return merge_in_turn(self.map(work, label))

    def exchange(
        self, work: Callable[[Partition], Mapping[int, P]], then: Callable[[P], B], label: str
    ) -> B:
        """The shuffle, for what spans partitions, such as users where sessions are the unit.

        ``work`` yields pieces by key, numbers from 0 on. All pieces of a key are merged in the
        order of partitions and given to ``then``; its results are merged in the order of keys.
        """
        pieces = merge_in_turn(self.map(work, label)) or {}
        return merge_in_turn(then(pieces[key]) for key in sorted(pieces))


def on_some(
    read: Callable[[Partition], A | None], work: Callable[[A], B], part: Partition
) -> B | None:
    """``work`` on what is read of a partition, if there is anything."""
    some = read(part)
    return None if some is None else work(some)


def merge_in_turn(parts: Iterable[A | None]) -> A:
    """The whole of parts that come one after the other; None if there are none.

    Neighbours merge in pairs, pairs in pairs of pairs: a part is copied log(n) times and log(n)
    parts are held, whatever their number.
    """
    held: list[tuple[int, A]] = []  # how many times a part was merged, and the part
    for part in parts:
        if part is None:
            continue
        times = 0
        while held and held[-1][0] == times:
            part = merge([held.pop()[1], part])
            times += 1
        held.append((times, part))
    whole: A | None = None
    while held:
        part = held.pop()[1]
        whole = part if whole is None else merge([part, whole])
    return cast(A, whole)


def split(frame: pl.DataFrame, column: str, count: int) -> dict[int, pl.DataFrame]:
    """The rows by a hash of ``column`` into ``count`` keys, as `Partitions.exchange` takes them.

    Keys without rows are left out; the order of rows stays.
    """
    if count == 1:
        return {0: frame}
    values = frame[column]
    if isinstance(values.dtype, pl.Categorical):  # codes are those of one partition
        values = values.cast(pl.String)
    key = ((values.hash(0).to_numpy() >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32)
    return dict(deal(frame, key.astype(np.uint16), count))


def deal(
    frame: pl.DataFrame, place: npt.NDArray[np.unsignedinteger], count: int
) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of each place below ``count`` that has some, in the order they have."""
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place, minlength=count)).tolist()
    rows = frame.rechunk()[order]  # gathers from many chunks take twice as long
    for number, (start, end) in enumerate(pairwise([0, *ends])):
        if end > start:
            yield number, rows.slice(start, end - start)


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


class Unread(Partitions):
    """Tables of which only the columns are known; the first pass ends the rehearsal."""

    count = 1

    def __init__(self, tables: Tables, met: dict[str, TablePlan]) -> None:
        plans = {name: schema.plan() for name, schema in tables.schemas.items()}
        met |= {plan.name: plan for plan in plans.values()}
        self.inputs = {name: Input(plan.name, plan.rows, None) for name, plan in plans.items()}
        self.heads = {name: schema.head() for name, schema in tables.schemas.items()}

    def map(self, work: Callable[[Partition], A], label: str) -> list[A]:
        """Ends here."""
        raise Rehearsed


class LazyInMemory(InMemory):
    """The same, but a table is read when it is first asked for, and freed when it is released."""

    def __init__(self, schemas: Mapping[str, Schema], progress: Progress) -> None:
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
