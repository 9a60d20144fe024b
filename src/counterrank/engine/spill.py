"""Tables larger than memory: cut by a hash of the unit into files, read back bucket by bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from itertools import count as numbers_from
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.arrays import one_thread, workers
from counterrank.engine.bucket import Bucket, Buckets
from counterrank.engine.engines import Local, size
from counterrank.engine.kinds import Head, headed
from counterrank.engine.memory import whole
from counterrank.engine.scratch import refuse_small, scratch
from counterrank.errors import CounterrankError, merged, moved
from counterrank.progress import Progress
from counterrank.schema import Door, Input, Table
from counterrank.tables.pieces import pieces, rows_of

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
UNKNOWN = pl.lit(None).alias("row")  # rows of a bucket do not know their number


class Tables(Mapping[str, Table]):
    """The tables of one bucket, each read when it is first asked for."""

    def __init__(self, folder: Path, heads: Mapping[str, Table], place: int) -> None:
        self.folder, self.heads, self.place = folder, heads, place
        self.read: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        if name not in self.read:
            frame, head = _read(self.folder / name, self.place), self.heads[name]
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
            frame = _read(where, place)
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
            cut = {
                name: _cut(door, heads[name], by, count, folder / name, piece)
                for name, door in progress(list(doors.items()), "cutting tables into buckets")
            }
            inputs = {
                name: Input(door.source.name, cut[name], sums[name].result())
                for name, door in doors.items()
            }
        yield Spilled(folder, {n: h.table for n, h in heads.items()}, inputs, count, progress)


def _held(head: Head) -> int:
    """Bytes that a row of a table takes while its bucket is worked on."""
    return HELD + TEXT * sum(kind == pl.String for kind in head.frame.schema.values())


def _cut(door: Door, head: Head, by: str, count: int, where: Path, piece: int) -> int:
    """One table into its buckets, piece by piece; returns the number of rows."""
    faults: list[CounterrankError] = []
    rows = 0

    def one(frame: pl.DataFrame, place: int, before: int) -> None:
        try:
            scatter(head.cast(door.part(door.roles.renamed(frame)).frame), by, count, where, place)
        except CounterrankError as error:
            faults.append(moved(error, before))

    jobs: set[Future[None]] = set()
    steps = pieces(door.source, door.roles.choose, rows=piece, scratch=where.parent)
    with ThreadPoolExecutor(workers()) as team:
        for place, frame in enumerate(steps):
            jobs.add(team.submit(one, frame, place, rows))
            rows += frame.height
            del frame
            while len(jobs) > workers():
                done, jobs = wait(jobs, return_when=FIRST_COMPLETED)
                for job in done:
                    job.result()
        for job in jobs:
            job.result()
    if faults:
        raise merged(faults, rows=rows)
    return rows


def scatter(frame: pl.DataFrame, by: str, count: int, where: Path, place: int) -> None:
    """The rows of one piece to the files of their buckets; order within a bucket stays."""
    if frame.height == 0:
        return
    bucket = bucket_of(frame[by], count)
    order = np.argsort(bucket, kind="stable")
    ends = np.cumsum(np.bincount(bucket, minlength=count)).tolist()
    frame = frame.rechunk()[order]  # gathers from many chunks take twice as long
    for number, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        if end > start:
            folder = where / str(number)
            folder.mkdir(parents=True, exist_ok=True)
            part = frame.slice(start, end - start)
            part.write_ipc(folder / f"{place:06}.arrow", compression="uncompressed")


def bucket_of(ids: pl.Series, count: int) -> npt.NDArray[np.unsignedinteger]:
    """The bucket of each id: equal ids share one, and buckets fill evenly."""
    if ids.dtype == pl.String:
        mixed = ids.hash(0).to_numpy()
    else:
        mixed = ids.to_physical().to_numpy().astype(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed = mixed >> np.uint64(32)
    mixed *= np.uint64(count)
    mixed >>= np.uint64(32)
    small: type[np.unsignedinteger] = np.uint8 if count <= 1 << 8 else np.uint16
    return mixed.astype(small)


def _read(folder: Path, place: int) -> pl.DataFrame | None:
    """The rows of one bucket, piece after piece."""
    files = sorted((folder / str(place)).glob("*.arrow"))
    if not files:
        return None
    parts = [pl.read_ipc(file) for file in files]
    frame = pl.concat(_exact(parts), how="vertical_relaxed", rechunk=True)
    return frame.with_columns(UNKNOWN) if "item" in frame.columns else frame


def _exact(parts: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Whole numbers stay integers in every piece where some are too large for floats."""
    for name in parts[0].columns:
        kinds = {part.schema[name] for part in parts}
        if kinds == {pl.Int64(), pl.Float64()} and all(_whole(part[name]) for part in parts):
            parts = [part.with_columns(pl.col(name).cast(pl.Int64)) for part in parts]
    return parts


def _whole(numbers: pl.Series) -> bool:
    return numbers.dtype == pl.Int64 or bool((numbers == numbers.round()).all())
