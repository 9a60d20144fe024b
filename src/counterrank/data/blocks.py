"""Tables cut into blocks of whole users or sessions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from counterrank.core.arrays import Ints, joined, keep_freed_memory, ranges
from counterrank.core.faults import Fault
from counterrank.data.ids import as_integers, sort_key

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
    return joined(starts)
