"""Where a table comes from: files, folders, globs, or a dataframe; read whole or piece by piece."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from counterrank.core.errors import InputError, first_line
from counterrank.core.input_files import PARQUET, State, files_of, refuse_changed, state
from counterrank.core.provenance import sha256
from counterrank.data.sources.dataframes import (
    convertible,
    frame_at,
    from_arrow,
    from_memory,
    is_address,
    memory_columns,
)
from counterrank.data.sources.files import (
    SEPARATORS,
    column_names,
    ending,
    fields_of,
    read_columns,
    readable,
    trec_columns,
)

Choose = Callable[[list[str]], list[str]]


@dataclass(frozen=True)
class Source:
    """One table before it is read. ``trec`` names the columns of headerless TREC text.

    ``states`` are those that its files had before anything was read.
    """

    name: str
    files: tuple[Path, ...]
    table: object = None
    trec: tuple[str, ...] = ()
    states: tuple[State, ...] = ()

    def __getstate__(self) -> dict[str, object]:
        """What goes to other processes, with the doors: all but the rows."""
        return {**self.__dict__, "table": None}

    def read(self, choose: Choose, rows: int | None = None) -> pl.DataFrame:
        """The columns that ``choose`` picks from those there are; of Parquet the first ``rows``."""
        if not self.files:
            return from_memory(self.table, self.name, choose)
        parts = []
        for file in self.files:
            wanted = choose(column_names(file, self.trec))
            parts.append(read_columns(file, wanted, self.trec, rows))
        if len(parts) == 1:
            return parts[0]
        try:
            return pl.concat(parts, how="vertical_relaxed")
        except pl.exceptions.PolarsError as error:
            raise InputError(
                f'The files of "{self.name}" do not fit together.',
                found=first_line(error),
                todo="Give a column the same type in every file.",
            ) from error

    def columns(self) -> list[str]:
        """Names of the columns; of TREC text without names, the numbers of its fields."""
        if self.files:
            return column_names(self.files[0], self.trec)
        return memory_columns(self.table, self.name)

    def sha256(self) -> str | None:
        """Checksum of the file; of several files, of their checksums in order of path."""
        if not self.files:
            return None
        digests = [sha256(file) for file in self.files]
        self.refuse_changed()
        if len(digests) == 1:
            return digests[0].hex()
        return hashlib.sha256(b"".join(digests)).hexdigest()

    def refuse_changed(self) -> None:
        """Refuse files that are no more what they were when the table was opened."""
        for file, before in zip(self.files, self.states, strict=False):
            refuse_changed(file, before)


def open_source(table: object, *, trec: Sequence[str], name: str = "") -> Source:
    """A source for ``table``: a path, a glob, a folder, an address, or a dataframe."""
    if isinstance(table, (str, os.PathLike)):
        path = os.fspath(table)
        if not str(path).strip():
            raise InputError(
                "The name of a table is empty.",
                found="A variable of the command may have none.",
                todo="Name a file, a folder or a glob.",
            )
        if is_address(path):
            return Source(name or str(path), (), frame_at(str(path)), tuple(trec))
        files = tuple(files_of(str(path)))
        states = tuple(state(file) for file in files)
        return Source(name or str(path), files, None, tuple(trec), states)
    return Source(name or "table in memory", (), table, tuple(trec))


SAMPLE = 1 << 20  # bytes of a text file by which its rows are guessed
BLOCK = 1 << 26  # bytes of TREC text read at a time


def pieces(source: Source, choose: Choose, *, rows: int, scratch: Path) -> Iterator[pl.DataFrame]:
    """The columns that ``choose`` picks, about ``rows`` rows at a time, in order.

    Packed text is unpacked into the folder ``scratch`` first.
    """
    if not source.files:
        yield from _of_memory(source, choose, rows)
    for file in source.files:
        wanted = choose(column_names(file, source.trec))
        if ending(file) in PARQUET:
            yield from batches(file, pl.scan_parquet(file, glob=False).select(wanted), rows)
        elif ending(file) in SEPARATORS:
            with _unpacked(file, scratch) as plain:
                mark = SEPARATORS[ending(file)]
                scan = pl.scan_csv(plain, separator=mark, infer_schema=False, glob=False)
                yield from batches(file, scan.select(wanted), rows)
        else:
            yield from _trec(file, source.trec, wanted, scratch)


def count_source_rows(source: Source) -> int:
    """About how many rows the table has: counted where that is quick, else by its size."""
    if isinstance(source.table, pl.LazyFrame):
        with convertible(source.name):
            return int(source.table.select(pl.len()).collect(engine="streaming").item())
    if not source.files:
        found = getattr(source.table, "height", None) or getattr(source.table, "shape", (0,))[0]
        return int(found) if isinstance(found, int) else 0
    return sum(_rows(file) for file in source.files)


RATIO = 1032  # bytes that one of gzip unpacks to, at most


def packed_bound(source: Source) -> int:
    """Bytes that its packed files unpack to, at most: read whole, all of them are held."""
    packed = [file for file in source.files if file.name.lower().endswith(".gz")]
    return RATIO * sum(file.stat().st_size for file in packed)


def _rows(file: Path) -> int:
    with readable(file):
        if ending(file) in PARQUET:
            return int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())
        if file.name.lower().endswith(".gz"):  # whose size says nothing of its rows
            with gzip.open(file) as text:
                return sum(block.count(b"\n") for block in iter(lambda: text.read(SAMPLE), b"")) + 1
        size = file.stat().st_size
        with file.open("rb") as plain:
            head = plain.read(SAMPLE)
    share = len(head) / size if size else 1.0
    return int(head.count(b"\n") / min(share, 1.0)) + 1 if head else 0


def batches(file: Path, scan: pl.LazyFrame, rows: int) -> Iterator[pl.DataFrame]:
    """What is asked of a file, about ``rows`` rows at a time, in order."""
    with readable(file):
        yield from scan.collect_batches(chunk_size=rows, maintain_order=True)


@contextmanager
def _unpacked(file: Path, scratch: Path) -> Iterator[Path]:
    """A text file as it is, or unpacked beside the temporary files for as long as it is read."""
    if not file.name.lower().endswith(".gz"):
        yield file
        return
    own = scratch / "unpacked"
    try:
        with readable(file), gzip.open(file) as text, own.open("wb") as plain:
            shutil.copyfileobj(text, plain, 1 << 20)
        yield own
    finally:
        own.unlink(missing_ok=True)


def _trec(
    file: Path, names: tuple[str, ...], wanted: list[str], scratch: Path
) -> Iterator[pl.DataFrame]:
    """Blocks of whole lines."""
    with _unpacked(file, scratch) as plain, plain.open("rb") as text:
        line = 1
        while block := text.readlines(BLOCK):
            with readable(file):
                fields = fields_of(b"".join(block), first=line)
                line += len(block)
                if fields.height:
                    yield trec_columns(file, fields, names).select(wanted)


def _of_memory(source: Source, choose: Choose, rows: int) -> Iterator[pl.DataFrame]:
    """A frame in slices; a lazy one, or a DuckDB relation, batch by batch."""
    table: Any = source.table
    if isinstance(table, pl.LazyFrame):
        with convertible(source.name):
            names = choose(table.collect_schema().names())
            yield from table.select(names).collect_batches(chunk_size=rows, maintain_order=True)
    elif type(table).__module__.split(".")[0] in ("duckdb", "_duckdb"):
        with convertible(source.name):
            names = choose(list(table.columns))
            for batch in table.to_arrow_reader(rows):
                yield from_arrow(batch).select(names)
    else:
        yield from from_memory(table, source.name, choose).iter_slices(rows)
