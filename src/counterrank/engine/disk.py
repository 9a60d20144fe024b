"""Tables larger than memory: cut by a hash of the unit into files, worked on one by one.

A glance at each table's first rows says what columns it has, and the types that ids have in all.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count as numbers_from
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from counterrank.core.errors import CounterrankError, InputError, first_line
from counterrank.core.faults import merge_errors, shift_error
from counterrank.core.format import byte_count
from counterrank.core.parallel import Progress, one_thread, workers
from counterrank.data.checks import some_rows
from counterrank.data.ids import partition_ids
from counterrank.data.schema import Input, Schema, Table
from counterrank.data.sources.source import count_source_rows, packed_bound, pieces
from counterrank.engine.growing_files import GrowingFiles
from counterrank.engine.partitions import (
    Lazy,
    Partition,
    Partitions,
    Tables,
    cut_in_memory,
    deal,
    merge_in_turn,
)
from counterrank.engine.scratch import refuse_small, scratch
from counterrank.engine.wire import pack, unpack

if TYPE_CHECKING:
    from counterrank.engine.engines import Local


GLANCE = 1000  # rows that show the types


def read_heads(tables: Tables, scratch: Path) -> tuple[dict[str, Table], dict[str, float]]:
    """All tables without rows, and the bytes of a row, by a glance at their first.

    Ids have the types they shall have.
    """
    heads, widths = {name: _glance(schema, scratch) for name, schema in tables.schemas.items()}, {}
    heads = with_common_ids(heads, tables.ids)
    for name, head in heads.items():
        many = np.resize(np.arange(head.frame.height), GLANCE if head.frame.height else 0)
        piece = head.frame[many].write_ipc_stream(None)  # few rows are written again and again
        widths[name] = len(piece.getbuffer()) / GLANCE
        heads[name] = replace(head, frame=head.frame.clear())
    return heads, widths


def with_common_ids(heads: Mapping[str, Table], ids: Sequence[str]) -> dict[str, Table]:
    """The first rows of tables, or none, with ids of the types they shall have in all."""
    for column in ids:
        kind = _common([head.frame.schema[column] for head in heads.values()])
        heads = {
            name: replace(head, frame=head.frame.with_columns(pl.col(column).cast(kind)))
            for name, head in heads.items()
        }
    return dict(heads)


def cast_ids(frame: pl.DataFrame, head: Table, ids: Sequence[str]) -> pl.DataFrame:
    """Rows of a table, whose ids get the types of its head."""
    kinds = head.frame.schema
    odd = set(frame.columns) ^ set(kinds)
    if odd:
        raise InputError(
            f'The files of "{head.name}" do not fit together.',
            found=f'Some have a column "{min(odd)}", others do not.',
            todo="Give every file the same columns.",
        )
    try:
        return frame.with_columns(
            pl.col(c).cast(kinds[c]) for c in ids if frame.schema[c] != kinds[c]
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f'The parts of "{head.name}" do not fit together.',
            found=first_line(error),
            todo="Give a column the same type in every file.",
        ) from error


def _common(kinds: Sequence[pl.DataType]) -> pl.DataType:
    """The type of ids that several tables share: integers where all are, otherwise text."""
    if len(set(kinds)) == 1:
        return kinds[0]
    whole = all(kind.is_integer() and kind != pl.UInt64 for kind in kinds)
    return pl.Int64() if whole else pl.String()


def _glance(schema: Schema, scratch: Path) -> Table:
    """The table of the first rows."""
    there = schema.roles.choose(schema.source.columns())
    frame = schema.roles.renamed(pl.DataFrame(schema=dict.fromkeys(there, pl.Null())))
    for piece in pieces(schema.source, schema.roles.choose, rows=GLANCE, scratch=scratch):
        frame = schema.roles.renamed(piece)
        if frame.height:
            break
    some_rows(frame, schema.source.name)
    try:
        return schema.part(frame)
    except CounterrankError as error:
        raise _counted(schema, scratch) from error


def _counted(schema: Schema, scratch: Path) -> CounterrankError:
    """The fault that the first rows have, counted over the whole table."""
    faults, rows = [], 0
    for piece in pieces(schema.source, schema.roles.choose, rows=GLANCE**2, scratch=scratch):
        try:
            schema.part(schema.roles.renamed(piece))
        except CounterrankError as error:
            faults.append(shift_error(error, rows))
        rows += piece.height
    return merge_errors(faults, rows=rows)


A = TypeVar("A")
B = TypeVar("B")
P = TypeVar("P")

PIECE = 1 << 21  # rows read at a time
SHARE = 4  # partitions whose sums, in an exchange, go under one key
HELD = 150  # bytes that a row of a partition takes while it is worked on
TAKEN = 400 * 10**6  # bytes of libraries, values per unit and a sample for the audits
TEXT = 150  # bytes more for each column of text
WHOLE = 2  # tables in memory are worked on in parts, which takes less than a partition does
UNKNOWN = pl.lit(None).alias("row")  # rows of a partition do not know their number
_DONE: Future[Any] = Future()  # stands for results that were taken


class OnDisk(Partitions):
    """Partitions as ``files`` of each table, in a ``folder``. Each takes one core."""

    def __init__(
        self,
        folder: Path,
        files: Mapping[str, GrowingFiles],
        heads: Mapping[str, Table],
        inputs: Mapping[str, Input],
        count: int,
        needs: str,
        progress: Progress,
    ) -> None:
        self.folder, self.files, self.heads, self.inputs = folder, files, heads, inputs
        self.count, self.progress, self.turn = count, progress, numbers_from()
        self.here = {name: frozenset(own.keys()) for name, own in files.items()}
        needed = [self.here[needs]] if needs else self.here.values()
        self.present = sorted(frozenset[int]().union(*needed))

    @property
    def pieces(self) -> int:
        """Sums of several partitions are as large as one."""
        return -(-self.count // SHARE)

    def map(self, work: Callable[[Partition], A], label: str) -> list[A]:
        """``work`` on one partition after the other, as many at a time as there are cores."""
        return list(self._results(work, label))

    def reduce(self, work: Callable[[Partition], A | None], label: str) -> A:
        """The same, each result let go as soon as it is merged."""
        return merge_in_turn(self._results(work, label))

    def exchange(
        self, work: Callable[[Partition], Mapping[int, P]], then: Callable[[P], B], label: str
    ) -> B:
        """Pieces go by way of the disk, too, by key and partition."""
        files = GrowingFiles(self.folder / f"exchange-{next(self.turn)}")

        def send(number: int) -> None:
            for key, piece in work(self._partition(number)).items():
                files.add(key, number, pack(piece))

        def receive(key: int) -> B:
            return then(merge_in_turn(map(unpack, files.read(key))))

        for _ in self._run(send, self.present, label):
            pass
        whole = merge_in_turn(self._run(receive, files.keys(), label))
        shutil.rmtree(files.folder)
        return whole

    def _results(self, work: Callable[[Partition], A], label: str) -> Iterator[A]:
        """Results by way of bytes: a few ids of text would hold the text of the whole partition."""
        alone = lambda number: unpack(pack(work(self._partition(number))))  # noqa: E731
        return self._run(alone, self.present, label)

    def _partition(self, number: int) -> Partition:
        return Partition(Lazy({name: partial(self._table, name, number) for name in self.heads}))

    def _table(self, name: str, number: int) -> Table:
        head = self.heads[name]
        if number not in self.here[name]:
            return head
        return replace(head, frame=joined(self.files[name].read(number)))

    def _run(self, work: Callable[[int], A], numbers: Sequence[int], label: str) -> Iterator[A]:
        """``work`` on each number, in threads; results in order, the same fault told once."""

        def alone(number: int) -> A | CounterrankError:
            try:
                with one_thread():
                    return work(number)
            except CounterrankError as error:
                return error

        faults = []
        team = ThreadPoolExecutor(workers())
        try:
            jobs = [team.submit(alone, number) for number in numbers]
            for place in self.progress(range(len(jobs)), label):
                result, jobs[place] = jobs[place].result(), _DONE
                if isinstance(result, CounterrankError):
                    faults.append(result)
                elif not faults:
                    yield result
                del result
        finally:
            team.shutdown(cancel_futures=True)
        if faults:
            raise merge_errors(faults)


def joined(pieces: Iterable[bytes]) -> pl.DataFrame:
    """Pieces of a table, one below the other."""
    parts = _exact([pl.read_ipc_stream(piece) for piece in pieces])
    frame = pl.concat(parts, how="vertical_relaxed", rechunk=True)
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


@contextmanager
def cut_on_disk(engine: Local, tables: Tables, progress: Progress) -> Iterator[Partitions]:
    """The tables as files, or in memory where that is enough."""
    schemas = tables.schemas
    rows = {name: count_source_rows(schema.source) for name, schema in schemas.items()}
    budget = None if engine.memory is None else max(byte_count(engine.memory) - TAKEN, TAKEN // 4)
    with scratch(engine.scratch) as folder:
        heads, widths = read_heads(tables, folder)
        texts = {n: sum(k == pl.String for k in h.frame.schema.values()) for n, h in heads.items()}
        need = sum(rows[name] * (HELD + TEXT * count) for name, count in texts.items())
        need_whole = max(need, *(packed_bound(schema.source) for schema in schemas.values()))
        if engine.partitions is None and budget is not None and need_whole <= WHOLE * budget:
            with cut_in_memory(engine, tables, progress) as whole:
                yield whole
            return
        count = engine.partitions or -(-need * workers() // (budget or 1))
        refuse_small(folder, sum(rows[name] * wide for name, wide in widths.items()))
        piece = PIECE if budget is None else max(min(PIECE, budget // (HELD * 4)), 10_000)
        with ThreadPoolExecutor(1) as aside:
            sums = {name: aside.submit(schema.source.sha256) for name, schema in schemas.items()}
            steps = sum(-(-number // piece) for number in rows.values())
            ticks = iter(progress(range(steps), "cutting tables into partitions"))
            files = {name: GrowingFiles(folder / name) for name in schemas}
            for name, schema in schemas.items():
                cast = partial(cast_ids, head=heads[name], ids=tables.ids)
                rows[name] = _cut(schema, cast, tables.unit, count, files[name], piece, ticks)
            for _ in ticks:  # sizes are guesses: the bar ends all the same
                pass
            for schema in schemas.values():
                schema.source.refuse_changed()
            inputs = {
                name: Input(schema.source.name, rows[name], sums[name].result())
                for name, schema in schemas.items()
            }
        yield OnDisk(folder, files, heads, inputs, count, tables.needs, progress)


def _cut(
    schema: Schema,
    cast: Callable[[pl.DataFrame], pl.DataFrame],
    unit: str,
    count: int,
    files: GrowingFiles,
    piece: int,
    ticks: Iterator[int],
) -> int:
    """One table into its partitions, ``piece`` rows at a time; returns the number of rows.

    ``ticks`` moves a bar on by one piece.
    """
    faults: list[CounterrankError] = []
    rows = 0

    def one(frame: pl.DataFrame, turn: int, before: int) -> None:
        try:
            part = cast(schema.part(schema.roles.renamed(frame)).frame)
            _write(part, partition_ids(part[unit], count), count, files, turn)
        except CounterrankError as error:
            faults.append(shift_error(error, before))

    jobs: set[Future[None]] = set()
    steps = pieces(schema.source, schema.roles.choose, rows=piece, scratch=files.folder.parent)
    with ThreadPoolExecutor(workers()) as team:
        for turn, frame in enumerate(steps):
            jobs.add(team.submit(one, frame, turn, rows))
            rows += frame.height
            del frame
            next(ticks, None)
            while len(jobs) > workers():
                done, jobs = wait(jobs, return_when=FIRST_COMPLETED)
                for job in done:
                    job.result()
        for job in jobs:
            job.result()
    if faults:
        raise merge_errors(faults, rows=rows)
    return rows


def _write(frame: pl.DataFrame, place: Any, count: int, files: GrowingFiles, turn: int) -> None:
    """The rows of one piece to the files of their partitions, in the order they have."""
    for number, part in deal(frame, place, count):
        files.add(number, turn, part.write_ipc_stream(None).getbuffer())
