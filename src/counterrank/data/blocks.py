"""Tables whose rows stand unit by unit, in blocks that fit a core's cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from counterrank.core.arrays import AnyInts, Ints, concat, keep_freed_memory
from counterrank.core.counting import Columns, Groups, cut_groups, number_hashes
from counterrank.core.faults import Fault
from counterrank.data.ids import argsort_ids, mix64, near, number_text, positions, sort_key

FEW = 1 << 16  # rows that are looked at before all are

BLOCK_ROWS = 1 << 18  # a block's keys stay in a core's cache


@dataclass(frozen=True)
class Blocks:
    """A table in blocks of whole units, whose rows stand together. ``names`` are the units.

    ``frame`` has a column ``row`` with the caller's row numbers if it had to be sorted; they are
    missing where they are not known. Or it stays as it was and ``groups`` bring the rows of one
    block together at a time, where ``number`` is each unit's: a block stays in a core's cache, and
    no second table is held.
    """

    frame: pl.DataFrame
    names: pl.Series
    start: Ints
    length: Ints
    unit: str = "user"
    groups: Groups | None = None
    number: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(
        cls,
        frame: pl.DataFrame,
        *,
        ascending: bool,
        unit: str = "user",
        like: pl.Series | None = None,
        rank: str | None = None,
        whole: bool = True,
    ) -> Blocks:
        """Brought together by unit if they are not yet, or not ``ascending`` where that is asked.

        ``like`` are units in order that are mostly the same, those of another table. The rows of a
        unit stay in the order they had; where they are brought together and ``rank`` names a column
        that has 1, 2, 3, ... of every unit, they stand in its order. ``whole`` says that all are
        needed at once.
        """
        keep_freed_memory()
        names, start = _runs(frame[unit].head(FEW))
        together = names.n_unique() == len(names)
        if together and frame.height > FEW:
            names, start = _runs(frame[unit])
            together = names.n_unique() == len(names)
        as_asked = not ascending or (like is not None and names.equals(like))
        if not together or not (as_asked or sort_key(names).is_sorted()):
            names, groups, number = _group(frame, unit, ascending, like, rank, place=whole)
            length = groups.length[number]
            start = np.cumsum(length) - length
            if not whole:
                return cls(frame, names, start, length, unit, groups, number)
            *columns, row = groups.whole()
            units = names.gather(np.repeat(np.arange(len(names), dtype=np.uint32), length))
            moved = {c.name: c for c in (*_moved(frame, unit, [*columns, row]), units)}
            frame = pl.DataFrame({"row": row} | {name: moved[name] for name in frame.columns})
        return cls(frame, names, start, np.diff(start, append=frame.height), unit)

    def cuts(self, rows: int = BLOCK_ROWS, extra: Ints | int = 0) -> Iterator[tuple[int, int]]:
        """First and last user of each block of about ``rows`` rows, ``extra`` ones included.

        Where `groups` bring them together, theirs.
        """
        if not len(self.length):
            return
        if self.groups is not None:
            block = self.number // self.groups.width
            yield from pairwise([*np.flatnonzero(np.diff(block, prepend=-1)).tolist(), len(block)])
            return
        begin = np.cumsum(self.length + extra) - (self.length + extra)
        wanted = np.arange(0, begin[-1] + 1, rows)
        yield from pairwise(sorted({*np.searchsorted(begin, wanted).tolist(), len(begin)}))

    def rows(self, begin: int, end: int) -> pl.DataFrame:
        """The rows of users ``begin`` to ``end``, of a block of `groups` without the users."""
        if self.groups is not None:
            columns = self.groups.block(int(self.number[begin]) // self.groups.width)
            return pl.DataFrame(_moved(self.frame, self.unit, columns))
        return self.frame.slice(int(self.start[begin]), int(self.length[begin:end].sum()))

    def caller_row(self, place: int) -> dict[str, Any]:
        """Row ``place`` for a fault: its number in the caller's table, if known, unit and item."""
        if self.groups is not None:  # the rows of a unit stay in the order they had
            name = int(np.searchsorted(self.start, place, side="right")) - 1
            same = (self.frame[self.unit] == self.names[name]).arg_true()
            place = same[place - int(self.start[name])]
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


def _runs(ids: pl.Series) -> tuple[pl.Series, Ints]:
    """The ids run by run, and where the runs begin."""
    start = run_starts(ids)
    return ids.gather(start), start


def _group(
    frame: pl.DataFrame,
    unit: str,
    ascending: bool,
    like: pl.Series | None,
    rank: str | None,
    *,
    place: bool,
) -> tuple[pl.Series, Groups, Ints]:
    """The units in the order asked for, their rows cut by unit, and the number of each unit there.

    The last column is the ``place`` of each row, where that is asked for or some column needs it.
    """
    numbers, count, names = _number_units(frame[unit], ascending, like)
    plain = [c for c in frame.get_columns() if c.name != unit and _is_plain(c)]
    place = place or len(plain) < frame.width - 1

    def read(rows: slice) -> tuple[AnyInts, Columns]:
        own = [_piece(column, rows) for column in plain]
        where = [np.arange(rows.start, rows.stop, dtype=np.uint32)] if place else []
        return numbers(rows), [*own, *where]

    ranks = [c.name == rank and c.dtype.is_integer() for c in plain]
    groups = cut_groups(count, frame.height, read, ranks.index(True) if any(ranks) else None)
    there = np.flatnonzero(groups.length)
    if names is None:
        kind = frame.schema[unit]
        wide = pl.UInt64 if kind == pl.UInt64 else pl.Int64
        least = pl.Series([frame[unit].min()], dtype=wide)
        names = (pl.Series(unit, there, dtype=wide) + least).cast(kind)
    return names, groups, there


def _moved(frame: pl.DataFrame, unit: str, columns: Columns) -> list[pl.Series]:
    """Some rows of a table but for its units: ``columns`` are the plain ones, then rows' places."""
    moved, others = iter(columns), [c for c in frame.get_columns() if c.name != unit]
    kept = {c.name: pl.Series(c.name, next(moved)) for c in others if _is_plain(c)}
    return [kept[c.name] if c.name in kept else c.gather(columns[-1]) for c in others]


def _is_plain(column: pl.Series) -> bool:
    """Whether NumPy has the same numbers."""
    kind = column.dtype
    plain = kind.is_float() or (kind.is_integer() and kind not in (pl.Int128, pl.UInt128))
    return plain and not column.null_count()


def _piece(column: pl.Series, rows: slice) -> Any:
    """Some rows of a plain column, without a copy inside a chunk."""
    return column.slice(rows.start, rows.stop - rows.start).to_numpy()


def _number_units(
    ids: pl.Series, ascending: bool, like: pl.Series | None
) -> tuple[Callable[[slice], AnyInts], int, pl.Series | None]:
    """Numbers of the units of some rows, how many there are, and their ids.

    Where no ids are returned, the numbers are the ids less the least of them.
    """
    if ids.dtype == pl.String:
        code, names = number_text(ids)
    else:
        low, high = int(str(ids.min())), int(str(ids.max()))
        if near(high - low, len(ids)):
            least = np.uint64(low % (1 << 64))

            def less(rows: slice) -> AnyInts:
                numbers: AnyInts = (_piece(ids, rows).astype(np.uint64) - least).astype(np.int32)
                return numbers

            return less, high - low + 1, None
        code, row = number_hashes(mix64(ids.to_numpy().astype(np.uint64)))
        names = ids.gather(row)
    if ascending:
        by = argsort_ids(names) if like is None else _argsort_like(names, like)
        place = np.empty(len(by), np.int32)
        place[by] = np.arange(len(by))
        code, names = place[code], names.gather(by)
    return lambda rows: code[rows], len(names), names


def _argsort_like(names: pl.Series, like: pl.Series) -> Ints:
    """The places of distinct ids in their order, which others that are in order may tell."""
    place = positions(names, like)
    return argsort_ids(names) if place.min() < 0 else np.argsort(place)
