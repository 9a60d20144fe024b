"""Tables cut into blocks of whole users, and ids as integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.arrays import AnyInts, Ints, joined, ranges
from counterrank.core.faults import Fault

BLOCK_ROWS = 1 << 18  # a block's keys stay in a core's cache

# The C library gives memory back to the system whenever a block's arrays are freed, and fetching
# it again costs as much as the work. Freeing one large array raises the size up to which it keeps.
np.empty((32 << 20) - (1 << 13), np.uint8)


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
        start = run_starts(frame[unit])
        names = frame[unit].gather(start)
        key = as_numbers(names) if ascending else _any_order(names)
        if names.n_unique() < len(names) or (ascending and not key.is_sorted()):
            if "row" not in frame.columns:
                frame = frame.with_row_index("row")
            # runs are sorted, not rows: mostly the rows of a unit stand together already
            order = pl.arg_sort_by(key.name, maintain_order=True)
            by = key.to_frame().select(order).to_series().to_numpy().astype(np.int64)
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


def as_numbers(names: pl.Series) -> pl.Series:
    """Ids to sort by: text that is nothing but whole numbers sorts as those numbers would.

    So the same table gives the same order of users from a CSV file as from Parquet.
    """
    if names.dtype != pl.String:
        return names
    numbers = names.cast(pl.Int128, strict=False)
    return numbers if (numbers.cast(pl.String) == names).fill_null(False).all() else names


def _any_order(names: pl.Series) -> pl.Series:
    """Codes to sort by where users need only stand together."""
    return names.cast(pl.Categorical).to_physical() if names.dtype == pl.String else names


def scattered(ids: pl.Series) -> npt.NDArray[np.uint64]:
    """A fixed, evenly spread number for each id, the same for 5 and for "5".

    What depends on chance or on folds is a function of it, so neither the other ids nor the engine
    matter. Whole numbers are mixed by splitmix64, other text by its hash.
    """
    if ids.dtype == pl.String:
        whole = ids.cast(pl.Int64, strict=False)
        own = (whole.cast(pl.String) == ids).fill_null(False).to_numpy()
        number = np.where(own, whole.fill_null(0).to_numpy(), 0)
        return np.where(own, _mixed(number.astype(np.uint64)), ids.hash(0).to_numpy())
    return _mixed(ids.to_physical().to_numpy().astype(np.int64).astype(np.uint64))


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def item_numbers(ids: pl.Series) -> AnyInts:
    """Ids as integers, equal where the ids are equal: themselves, or codes of their text."""
    if ids.dtype == pl.String:
        ids = ids.cast(pl.Categorical)
    return ids.to_physical().to_numpy()


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
    return joined(starts)


def places(names: pl.Series, known: pl.Series) -> Ints:
    """Position of each name among the known ones, -1 if it is not there."""
    if names.equals(known):
        return np.arange(len(names))
    right = known.alias("name").to_frame().with_row_index("place")
    left = names.alias("name").to_frame()
    found = left.join(right, on="name", how="left", maintain_order="left")
    return found["place"].cast(pl.Int64).fill_null(-1).to_numpy()


def one_kind(frames: Sequence[pl.DataFrame], column: str) -> list[pl.DataFrame]:
    """The same column of several tables with ids of one type: integers where all are, else text."""
    whole = all(frame.schema[column].is_integer() for frame in frames)
    wide = any(f.schema[column] == pl.UInt64 and (f[column] >= 1 << 63).any() for f in frames)
    kind: type[pl.DataType] = pl.Int64 if whole and not wide else pl.String
    if len({frame.schema[column] for frame in frames}) == 1:
        return list(frames)
    return [frame.with_columns(pl.col(column).cast(kind)) for frame in frames]
