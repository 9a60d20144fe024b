"""Tables piece by piece, for those that do not fit in memory."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from counterrank.data.sources.dataframes import convertible, from_memory
from counterrank.data.sources.files import (
    PARQUET,
    SEPARATORS,
    column_names,
    ending,
    fields_of,
    readable,
    trec_columns,
)
from counterrank.data.sources.source import Choose, Source

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
            yield from _batches(file, pl.scan_parquet(file, glob=False).select(wanted), rows)
        elif ending(file) in SEPARATORS:
            with _unpacked(file, scratch) as plain:
                mark = SEPARATORS[ending(file)]
                scan = pl.scan_csv(plain, separator=mark, infer_schema=False, glob=False)
                yield from _batches(file, scan.select(wanted), rows)
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


def _rows(file: Path) -> int:
    with readable(file):
        if ending(file) in PARQUET:
            return int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())
        size = file.stat().st_size
        packed = file.name.lower().endswith(".gz")
        with gzip.open(file) if packed else file.open("rb") as text:
            head = text.read(SAMPLE)
    share = len(head) / (4 * size if packed else size) if size else 1.0
    return int(head.count(b"\n") / min(share, 1.0)) + 1 if head else 0


def _batches(file: Path, scan: pl.LazyFrame, rows: int) -> Iterator[pl.DataFrame]:
    with readable(file):
        yield from scan.collect_batches(chunk_size=rows, maintain_order=True)


class _unpacked:  # noqa: N801 - used as a context
    """A text file as it is, or unpacked beside the temporary files for as long as it is read."""

    def __init__(self, file: Path, scratch: Path) -> None:
        self.file, self.own = file, scratch / "unpacked"
        self.packed = file.name.lower().endswith(".gz")

    def __enter__(self) -> Path:
        if not self.packed:
            return self.file
        with readable(self.file), gzip.open(self.file) as text, self.own.open("wb") as plain:
            shutil.copyfileobj(text, plain, 1 << 20)
        return self.own

    def __exit__(self, *_: object) -> None:
        if self.packed:
            self.own.unlink(missing_ok=True)


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
                frame = pl.from_arrow(batch)
                assert isinstance(frame, pl.DataFrame)
                yield frame.select(names)
    else:
        yield from from_memory(table, source.name, choose).iter_slices(rows)
