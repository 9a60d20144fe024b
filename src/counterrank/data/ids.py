"""Ids of users, items and sessions: their order, their hashes, whole numbers and blocks of rows.

Ids are text or whole numbers. A table read from CSV has text where Parquet has numbers, so whatever
depends on an id (an order, a hash, a number) is the same for 5 and for "5".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.core.arrays import (
    AnyInts,
    Ints,
    codes,
    concat,
    keep_freed_memory,
    ranges,
    renumber,
)
from counterrank.core.faults import Fault

Hashes = npt.NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15  # the step of splitmix64: odd, with well-mixed bits
NEAR = 1 << 25  # ids that span less than this, and not far more than their count, have a table


# order


def sort_key(ids: pl.Series) -> pl.Series:
    """What to sort ids by: text that is nothing but whole numbers sorts as those numbers would."""
    if ids.dtype != pl.String:
        return ids
    numbers = ids.cast(pl.Int128, strict=False)
    return numbers if (numbers.cast(pl.String) == ids).fill_null(False).all() else ids


def argsort_ids(ids: pl.Series) -> Ints:
    """The places of the ids in their order."""
    return sort_key(ids).arg_sort().to_numpy().astype(np.int64)


def sort_ids(ids: pl.Series) -> pl.Series:
    """The ids in their order."""
    return ids.gather(sort_key(ids).arg_sort())


# hashes


def hash_ids(ids: pl.Series) -> Hashes:
    """A fixed, evenly spread number for each id: what folds, samples and draws depend on.

    Neither the other ids nor the engine matter. Whole numbers are mixed by splitmix64, other text
    by its hash.
    """
    if ids.dtype == pl.String:
        whole = ids.cast(pl.Int64, strict=False)
        is_whole = (whole.cast(pl.String) == ids).fill_null(False).to_numpy()
        number = np.where(is_whole, whole.fill_null(0).to_numpy(), 0)
        mixed = mix64(number.astype(np.uint64) + np.uint64(GOLDEN))
        return np.where(is_whole, mixed, ids.hash(0).to_numpy())
    return mix64(
        ids.to_physical().to_numpy().astype(np.int64).astype(np.uint64) + np.uint64(GOLDEN)
    )


def mix64(x: Hashes) -> Hashes:
    """SplitMix64's finaliser, in place: 64 well-mixed bits of each number."""
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def partition_ids(ids: pl.Series, count: int) -> npt.NDArray[np.unsignedinteger]:
    """The partition of each id, below ``count``: equal ids share one, and partitions fill evenly.

    Cheaper than `hash_ids`, and unlike it, so that a sample of ids by their hash is spread over all
    partitions. Ids of several tables must be of one type.
    """
    if ids.dtype == pl.String:
        mixed = ids.hash(0).to_numpy()
    else:
        mixed = ids.to_physical().to_numpy().astype(np.uint64)
        mixed *= np.uint64(GOLDEN)
    mixed = mixed >> np.uint64(32)
    mixed *= np.uint64(count)
    mixed >>= np.uint64(32)
    small: type[np.unsignedinteger] = np.uint8 if count <= 1 << 8 else np.uint16
    return mixed.astype(small)


# types


def unify_ids(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Ids of several tables as one type: whole numbers where all are and 64 bits do, else text."""
    if len({ids.dtype for ids in columns}) == 1:
        return list(columns)
    whole = all(ids.dtype.is_integer() for ids in columns)
    wide = any(ids.dtype == pl.UInt64 and (ids >= 1 << 63).any() for ids in columns)
    kind: type[pl.DataType] = pl.Int64 if whole and not wide else pl.String
    return [ids.cast(kind) for ids in columns]


def unify_id_columns(frames: Sequence[pl.DataFrame], column: str) -> list[pl.DataFrame]:
    """Several tables whose column ``column`` has ids of one type."""
    columns = unify_ids([frame[column] for frame in frames])
    return [frame.with_columns(ids) for frame, ids in zip(frames, columns, strict=True)]


def as_categories(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with items of text as categories: `as_integers` then costs nothing."""
    text = frame.schema["item"] == pl.String
    return frame.with_columns(pl.col("item").cast(pl.Categorical)) if text else frame


def as_plain(ids: pl.Series) -> pl.Series:
    """Ids as whole numbers or text, not as categories."""
    return ids.cast(pl.String) if isinstance(ids.dtype, pl.Categorical) else ids


# whole numbers


def as_integers(ids: pl.Series) -> AnyInts:
    """Ids as integers, equal where the ids are: themselves, or the codes of their categories.

    The codes hold in this process and this pass only: another may number the same text otherwise.
    """
    if ids.dtype == pl.String:
        ids = ids.cast(pl.Categorical)
    return ids.to_physical().to_numpy()


def positions(ids: pl.Series, known: pl.Series) -> Ints:
    """The position of each id among the known ones, which are distinct; -1: it is not there."""
    if ids.equals(known):
        return np.arange(len(ids))
    return row_positions(ids.alias("id").to_frame(), known.alias("id").to_frame())


def row_positions(rows: pl.DataFrame, known: pl.DataFrame) -> Ints:
    """The position of each row among the known ones, which are distinct; -1: it is not there."""
    place = rows.join(
        known.with_row_index(" place"),
        on=rows.columns,
        how="left",
        maintain_order="left",
        nulls_equal=True,
    )[" place"]
    return place.cast(pl.Int64).fill_null(-1).to_numpy()


def distinct_ids(columns: Sequence[pl.Series]) -> pl.Series:
    """Each id of these columns once, in no order: text, or integers of 64 bits."""
    first = columns[0]
    if not first.dtype.is_integer() or first.dtype == pl.UInt64:
        return as_plain(pl.concat([ids.unique() for ids in columns]).unique())
    stored = [ids.to_numpy() for ids in columns if len(ids)]
    if not stored:
        return first.clear().cast(pl.Int64)
    low, high = min(int(x.min()) for x in stored), max(int(x.max()) for x in stored)
    if not _near(high - low, sum(map(len, stored))):
        return pl.concat([ids.unique().cast(pl.Int64) for ids in columns]).unique()
    there = np.zeros(high - low + 1, bool)  # a flag for each is quicker than a hash of each row
    for x in stored:
        there[x.astype(np.int64) - low] = True
    return pl.Series(first.name, np.flatnonzero(there) + low)


@dataclass(frozen=True)
class IdCodes:
    """Whole numbers from 0 for ids, the same in several tables.

    ``names`` are the ids by their number; all others share the number ``size``. ``number`` is a
    table of the numbers of ids from ``low``, with one entry for all others at either end. Where ids
    are too far apart for that, ``known`` are the ids in order, and ``number`` their numbers.
    """

    names: pl.Series
    low: int
    number: Ints
    known: AnyInts

    @classmethod
    def of(cls, columns: Sequence[pl.Series]) -> IdCodes:
        """Numbers for the ids of these columns, in their order."""
        return cls.among(sort_ids(distinct_ids(columns)))

    @classmethod
    def among(cls, names: pl.Series) -> IdCodes:
        """Numbers for ids that are distinct: their places."""
        size, none = len(names), np.empty(0, np.int64)
        if size == 0:
            return cls(names, 0, np.zeros(2, np.int64), none)
        ids = as_integers(names)
        low, high = int(ids.min()), int(ids.max())
        if not _near(high - low, size) or low < -(1 << 62) or high >= 1 << 62:
            by = np.argsort(ids)
            return cls(names, 0, by, ids[by])
        number = np.full(high - low + 3, size)
        number[ids.astype(np.int64) - (low - 1)] = np.arange(size)
        return cls(names, low, number, none)

    @property
    def size(self) -> int:
        """How many ids have a number of their own."""
        return len(self.names)

    def codes(self, ids: pl.Series) -> Ints:
        """The number of each id."""
        return self.lookup(as_integers(ids))

    def lookup(self, ids: AnyInts) -> Ints:
        """The number of each id, given as `as_integers` has it."""
        if len(self.known):
            place = np.minimum(np.searchsorted(self.known, ids), self.size - 1)
            return np.where(self.known[place] == ids, self.number[place], self.size)
        place = ids.astype(np.int64)
        place -= self.low - 1
        return self.number.take(place, mode="clip")


def _near(span: int, count: int) -> bool:
    """Whether a table with an entry for each number of a span is worth its memory."""
    return span < min(NEAR, max(1 << 20, 64 * count))


def number_rows(rows: pl.DataFrame) -> tuple[Ints, pl.DataFrame]:
    """The number of each row among the distinct ones in their order, and these.

    So the order of rows changes nothing.
    """
    rows = pl.DataFrame([_narrow(sort_key(rows[name])).alias(name) for name in rows.columns])
    if rows.height and rows.width == 1 and rows.dtypes[0].is_integer():
        ids = rows.to_series().to_numpy()
        low = int(ids.min())
        if int(ids.max()) - low < 4 * rows.height + 1024:
            there, place = renumber(ids.astype(np.int64) - low)
            return place, pl.DataFrame({rows.columns[0]: there + low})
    known = rows.unique().sort(rows.columns)
    return row_positions(rows, known), known


def _narrow(ids: pl.Series) -> pl.Series:
    """Integers of 128 bits as 64-bit ones where they fit, else as text."""
    if ids.dtype != pl.Int128:
        return ids
    short = ids.cast(pl.Int64, strict=False)
    return ids.cast(pl.String) if short.null_count() else short


def code_rows(rows: pl.DataFrame) -> Ints:
    """Codes from 0 of the distinct rows; quicker than `number_rows`, but in no order."""
    code = np.zeros(rows.height, np.int64)
    for ids in rows if rows.height else ():
        numbers = as_integers(ids if ids.dtype.is_integer() else ids.cast(pl.String))
        each, width = codes(numbers, room=4 * rows.height + 1024)
        code = renumber(code * width + each)[1]
    return code


BLOCK_ROWS = 1 << 18  # a block's keys stay in a core's cache


@dataclass(frozen=True)
class Blocks:
    """A table whose rows stand unit by unit. ``names`` are the units, each once.

    ``frame`` has a column ``row`` with the caller's row numbers if it had to be sorted; they are
    missing where they are not known.
    """

    frame: pl.DataFrame
    names: pl.Series
    start: Ints
    length: Ints
    unit: str = "user"

    @classmethod
    def of(cls, frame: pl.DataFrame, *, ascending: bool, unit: str = "user") -> Blocks:
        """Sorted by unit if they are not together yet, or not ``ascending`` where that is asked."""
        keep_freed_memory()
        start = run_starts(frame[unit])
        names = frame[unit].gather(start)
        key = sort_key(names) if ascending else pl.Series(as_integers(names))
        if names.n_unique() < len(names) or (ascending and not key.is_sorted()):
            if "row" not in frame.columns:
                frame = frame.with_row_index("row")
            # runs are sorted, not rows: mostly the rows of a unit stand together already
            order = pl.arg_sort_by("key", maintain_order=True)
            by = key.to_frame("key").select(order).to_series().to_numpy().astype(np.int64)
            frame = frame[ranges(start[by], np.diff(start, append=frame.height)[by])]
            start = run_starts(frame[unit])
            names = frame[unit].gather(start)
        return cls(frame, names, start, np.diff(start, append=frame.height), unit)

    def cuts(self, rows: int = BLOCK_ROWS, extra: Ints | int = 0) -> Iterator[tuple[int, int]]:
        """First and last user of each block of about ``rows`` rows, ``extra`` ones included."""
        if not len(self.length):
            return
        begin = np.cumsum(self.length + extra) - (self.length + extra)
        wanted = np.arange(0, begin[-1] + 1, rows)
        yield from pairwise(sorted({*np.searchsorted(begin, wanted).tolist(), len(begin)}))

    def rows(self, begin: int, end: int) -> pl.DataFrame:
        """The rows of users ``begin`` to ``end``."""
        return self.frame.slice(int(self.start[begin]), int(self.length[begin:end].sum()))

    def caller_row(self, place: int) -> dict[str, Any]:
        """Row ``place`` for a fault: its number in the caller's table, if known, unit and item."""
        number = self.frame["row"][place] if "row" in self.frame.columns else place
        row = {} if number is None else {"row": number + 1}
        return row | {name: self.frame[name][place] for name in (self.unit, "item")}

    def fault(self, what: str, table: str, places: Ints, *, column: str = "", **more: Any) -> Fault:
        """The rows at these places are wrong."""
        of = self.frame.height
        return Fault.at(what, table, places, self.caller_row, of=of, column=column, **more)


def run_starts(ids: pl.Series) -> Ints:
    """Rows at which a run of equal ids begins; integers chunk by chunk, without a copy."""
    if not ids.dtype.is_integer():
        return (ids != ids.shift(1)).fill_null(True).arg_true().to_numpy().astype(np.int64)
    starts, offset, last = [], 0, None
    for chunk in ids.get_chunks():
        numbers = chunk.to_numpy()
        if len(numbers) == 0:
            continue
        if offset == 0 or numbers[0] != last:
            starts.append(np.array([offset]))
        starts.append(np.flatnonzero(numbers[1:] != numbers[:-1]) + (1 + offset))
        offset, last = offset + len(numbers), numbers[-1]
    return concat(starts)
