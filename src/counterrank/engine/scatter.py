"""Pieces of a table scattered over the files of their buckets, and a bucket read back."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np
import polars as pl

from counterrank.arrays import workers
from counterrank.data.ids import partition_ids
from counterrank.engine.kinds import Head
from counterrank.errors import CounterrankError, merged, moved
from counterrank.schema import Door
from counterrank.tables.pieces import pieces

UNKNOWN = pl.lit(None).alias("row")  # rows of a bucket do not know their number


def cut(
    door: Door, head: Head, by: str, count: int, where: Path, piece: int, ticks: Iterator[int]
) -> int:
    """One table into its buckets, piece by piece; returns the number of rows.

    ``ticks`` moves a bar on by one piece.
    """
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
            next(ticks, None)
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
    bucket = partition_ids(frame[by], count)
    order = np.argsort(bucket, kind="stable")
    ends = np.cumsum(np.bincount(bucket, minlength=count)).tolist()
    frame = frame.rechunk()[order]  # gathers from many chunks take twice as long
    for number, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        if end > start:
            folder = where / str(number)
            folder.mkdir(parents=True, exist_ok=True)
            part = frame.slice(start, end - start)
            part.write_ipc(folder / f"{place:06}.arrow", compression="uncompressed")


def read_back(folder: Path, place: int) -> pl.DataFrame | None:
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
