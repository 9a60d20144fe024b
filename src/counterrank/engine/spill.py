"""Tables larger than memory: cut by a hash of the unit into files, read back bucket by bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import count as numbers_from
from pathlib import Path
from typing import Any, TypeVar, cast

import polars as pl

from counterrank.arrays import one_thread, workers
from counterrank.core.faults import merged
from counterrank.engine.bucket import Bucket, Buckets
from counterrank.engine.engines import Local, size
from counterrank.engine.kinds import Head, headed
from counterrank.engine.memory import whole
from counterrank.engine.scatter import cut, read_back, scatter
from counterrank.engine.scratch import refuse_small, scratch
from counterrank.errors import CounterrankError
from counterrank.progress import Progress
from counterrank.schema import Door, Input, Table
from counterrank.tables.pieces import rows_of

A = TypeVar("A")
B = TypeVar("B")

PIECE = 1 << 21  # rows read at a time
SHARE = 4  # buckets whose exchanged rows, which are sums of theirs, go into one
HELD = 250  # bytes that a row of a bucket takes while it is worked on
TAKEN = 400 * 10**6  # bytes of libraries, values per unit and a sample for the audits
TEXT = 100  # bytes more for each column of text
WHOLE = 2  # tables in memory are worked on in parts, which takes less than a bucket does
WRITTEN = 10  # bytes that a column of a row takes on disk, about
_DONE: Future[Any] = Future()  # stands for results that were taken


class Tables(Mapping[str, Table]):
    """The tables of one bucket, each read when it is first asked for."""

    def __init__(self, folder: Path, heads: Mapping[str, Table], place: int) -> None:
        self.folder, self.heads, self.place = folder, heads, place
        self.read: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        if name not in self.read:
            frame, head = read_back(self.folder / name, self.place), self.heads[name]
            self.read[name] = head if frame is None else replace(head, frame=frame)
        return self.read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.heads)

    def __len__(self) -> int:
        return len(self.heads)


class Spilled(Buckets):
    """Buckets as files: ``folder/table/bucket/piece``."""

    def __init__(
        self,
        folder: Path,
        heads: Mapping[str, Table],
        inputs: Mapping[str, Input],
        count: int,
        progress: Progress,
    ) -> None:
        self.folder, self.heads, self.inputs = folder, dict(heads), dict(inputs)
        self._count, self.progress, self.turn = count, progress, numbers_from()

    @property
    def count(self) -> int:
        """Number of buckets."""
        return self._count

    def mapped(self, work: Callable[[Bucket], A], word: str) -> list[A]:
        """``work`` on bucket after bucket, one for each core at a time."""

        def one(place: int) -> list[A]:
            bucket = self._bucket(place)
            return [] if bucket is None else [work(bucket)]

        return [found for part in self._each(one, word) for found in part]

    def folded(self, work: Callable[[Bucket], A | None], word: str) -> A:
        """Added up in the order of buckets, each let go as soon as it is in."""

        def one(place: int) -> A | None:
            bucket = self._bucket(place)
            return None if bucket is None else work(bucket)

        total: Any = None
        for found in self._each(one, word):
            if found is not None:
                total = found if total is None else total + found
        return cast(A, total)

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
        """The rows of ``first`` go by way of the disk, too."""
        where = self.folder / f"exchange-{next(self.turn)}"
        count = parts or -(-self.count // SHARE)

        def send(place: int) -> list[int]:
            bucket = self._bucket(place)
            if bucket is not None:
                scatter(first(bucket), key, count, where, place)
            return []

        def receive(place: int) -> list[B]:
            frame = read_back(where, place)
            return [] if frame is None else [second(frame)]

        for _ in self._each(send, word):
            pass
        return [found for part in self._each(receive, word, count) for found in part]

    def _bucket(self, place: int) -> Bucket | None:
        """A bucket with all tables; None if none has rows."""
        there = any((self.folder / name / str(place)).is_dir() for name in self.heads)
        return Bucket(Tables(self.folder, self.heads, place)) if there else None

    def _each(self, one: Callable[[int], A], word: str, count: int | None = None) -> Iterator[A]:
        """One call for each bucket, in threads; the same fault in several is told once."""
        count = self.count if count is None else count

        def alone(place: int) -> A | CounterrankError:
            try:
                with one_thread():
                    return one(place)
            except CounterrankError as error:
                return error

        faults = []
        team = ThreadPoolExecutor(workers())
        try:
            jobs = [team.submit(alone, place) for place in range(count)]
            for number in self.progress(range(count), word):
                found, jobs[number] = jobs[number].result(), _DONE
                if isinstance(found, CounterrankError):
                    faults.append(found)
                elif not faults:
                    yield found
        finally:
            team.shutdown(cancel_futures=True)
        if faults:
            raise merged(faults)


@contextmanager
def spilled(
    chosen: Local, doors: Mapping[str, Door], by: str, ids: Sequence[str], progress: Progress
) -> Iterator[Buckets]:
    """The tables in buckets on disk, or in memory if that is enough."""
    rows = {name: rows_of(door.source) for name, door in doors.items()}
    room = None if chosen.memory is None else max(size(chosen.memory) - TAKEN, TAKEN // 4)
    with scratch(chosen.folder) as folder:
        heads = headed(doors, ids, folder)
        need = sum(rows[name] * _held(head) for name, head in heads.items())
        if chosen.partitions is None and room is not None and need <= WHOLE * room:
            with whole(doors, ids) as held:
                yield held
            return
        count = chosen.partitions or -(-need * workers() // (room or 1))
        wide = (rows[name] * head.frame.width * WRITTEN for name, head in heads.items())
        refuse_small(folder, sum(wide))
        piece = PIECE if room is None else max(min(PIECE, room // (HELD * 4)), 10_000)
        with ThreadPoolExecutor(1) as aside:
            sums = {name: aside.submit(door.source.sha256) for name, door in doors.items()}
            steps = sum(-(-found // piece) for found in rows.values())
            ticks = iter(progress(range(steps), "cutting tables into buckets"))
            found = {
                name: cut(door, heads[name], by, count, folder / name, piece, ticks)
                for name, door in doors.items()
            }
            for _ in ticks:  # sizes are guesses: the bar ends all the same
                pass
            inputs = {
                name: Input(door.source.name, found[name], sums[name].result())
                for name, door in doors.items()
            }
        yield Spilled(folder, {n: h.table for n, h in heads.items()}, inputs, count, progress)


def _held(head: Head) -> int:
    """Bytes that a row of a table takes while its bucket is worked on."""
    return HELD + TEXT * sum(kind == pl.String for kind in head.frame.schema.values())
