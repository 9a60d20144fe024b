"""Counting passes: rows in no order brought together by group, and 64-bit hashes numbered.

A pass sorts a piece that fits a core's cache by 8 or 16 bits, which takes a few steps a row in any
order, and moves it once. Sorts and gathers over all rows would wait for memory at every row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from counterrank.core.arrays import AnyInts, Ints, order_ranks
from counterrank.core.parallel import map_threads, workers

Array = npt.NDArray[Any]
Columns = Sequence[Array]

PIECE = 1 << 18  # rows of a piece
BLOCK = 1 << 16  # rows of a block, about, and groups at most
BLOCKS = 1 << 8
EACH = 1 << 4  # of so many rows one is in the sample that tells how many hashes there are
SLOTS = 1 << 15  # of a block's table of hashes


@dataclass(frozen=True)
class _Piece:
    """A piece by block: where each block's rows stand, and its columns so."""

    rows: Sequence[slice]
    columns: Columns

    @classmethod
    def of(cls, block: AnyInts, count: int, columns: Columns) -> _Piece:
        small = block.astype(np.uint8 if count <= BLOCKS else np.uint16)
        order = np.argsort(small, kind="stable")
        ends = np.cumsum(np.bincount(small, minlength=count)).tolist()
        rows = [slice(*both) for both in pairwise([0, *ends])]
        return cls(rows, [x.take(order, mode="clip") for x in columns])


def _cut(rows: int, cut: Callable[[slice], _Piece]) -> list[_Piece]:
    """All pieces, in threads."""
    return map_threads(cut, slices(rows), workers())


def slices(rows: int) -> list[slice]:
    """Where the pieces of so many rows stand."""
    return [slice(begin, min(begin + PIECE, rows)) for begin in range(0, rows, PIECE)]


def _together(pieces: Sequence[_Piece], block: int, column: int) -> Array:
    """A column of one block, in the order of rows."""
    return np.concatenate([p.columns[column][p.rows[block]] for p in pieces])


@dataclass(frozen=True)
class Groups:
    """Rows cut by group, `width` groups to a block; ``length`` is that of each group.

    ``within`` is the group of each row of a block, less the block's first. Where the column with
    the number ``rank`` has 1, 2, 3, ... of each group of a block, its rows stand in that order,
    otherwise in the order they had.
    """

    pieces: Sequence[_Piece]
    within: Sequence[Array]
    length: Ints
    width: int
    rank: int | None = None

    def order(self, number: int) -> Ints:
        """Which row of a block stands where, the rows of each group together."""
        within, order = self.within[number], None
        if self.rank is not None:
            size = np.bincount(within)
            rank = _together(self.pieces, number, self.rank)
            order = order_ranks(rank, (np.cumsum(size) - size).take(within))
        return np.argsort(within, kind="stable") if order is None else order

    def block(self, number: int, out: Sequence[Array | None] = ()) -> list[Array]:
        """The columns of one block, its rows in `order`."""
        order = self.order(number)
        return [
            _together(self.pieces, number, column).take(order, mode="clip", out=where)
            for column, where in enumerate(out or [None] * len(self.pieces[0].columns))
        ]

    def whole(self) -> list[Array]:
        """The columns of all blocks, one after the other."""
        ends = [0, *np.cumsum([len(rows) for rows in self.within]).tolist()]
        out = [np.empty(ends[-1], column.dtype) for column in self.pieces[0].columns]

        def fill(number: int) -> None:
            self.block(number, [x[ends[number] : ends[number + 1]] for x in out])

        map_threads(fill, range(len(self.within)), workers())
        return out


def cut_groups(
    groups: int,
    rows: int,
    read: Callable[[slice], tuple[AnyInts, Columns]],
    rank: int | None = None,
) -> Groups:
    """Rows in no order, cut into blocks of groups.

    ``read`` gives the group of some rows, numbers below ``groups``, and their columns, of which
    the one with the number ``rank`` may order them.
    """
    width = min(max(-(-groups * BLOCK // max(rows, 1)), -(-groups // BLOCKS)), BLOCK)
    blocks = -(-groups // width)

    def cut(where: slice) -> _Piece:
        group, columns = read(where)
        block = group // group.dtype.type(width)
        within = (group - block * group.dtype.type(width)).astype(np.uint16)
        return _Piece.of(block, blocks, [within, *columns])

    pieces = _cut(rows, cut)
    within = map_threads(lambda b: _together(pieces, b, 0), range(blocks), workers())
    length = np.concatenate([np.bincount(x, minlength=width) for x in within])[:groups]
    return Groups([_Piece(p.rows, p.columns[1:]) for p in pieces], within, length, width, rank)


def number_hashes(hashes: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.int32], Ints]:
    """A number from 0 for each distinct hash, by rows; and one row that has it.

    Where a sample says that there are few, those of the sample get a table whose slots belong to
    one of them: most rows are answered by it, and only the others go on.
    """
    sample = np.arange(0, len(hashes), EACH)
    top = np.uint64(65 - max(len(sample), 1).bit_length())
    owner = np.full(1 << int(np.uint64(64) - top), -1, np.int32)
    owner[hashes[sample] >> top] = sample
    used = owner >= 0
    first = owner[used]
    if len(hashes) < PIECE or 4 * len(first) > len(sample):
        return _number_many(hashes)
    owner[used] = np.arange(len(first), dtype=np.int32)
    known, out = hashes[first], np.empty(len(hashes), np.int32)

    def number(where: slice) -> None:
        code = owner.take((hashes[where] >> top).astype(np.int64), mode="clip")
        out[where] = np.where(known.take(code, mode="wrap") == hashes[where], code, -1)

    map_threads(number, slices(len(hashes)), workers())
    left = np.flatnonzero(out < 0)
    code, row = number_hashes(hashes[left])
    out[left] = code + np.int32(len(first))
    return out, np.concatenate([first, left[row]])


def _number_many(hashes: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.int32], Ints]:
    """The same by blocks of hashes, each with such a table; what lost its slot there is sorted."""
    if not len(hashes):
        return np.empty(0, np.int32), np.empty(0, np.int64)
    blocks = min(1 << (len(hashes) // BLOCK).bit_length(), BLOCKS)
    top = np.uint64(65 - blocks.bit_length())

    def cut(where: slice) -> _Piece:
        some = hashes[where]
        block = some >> top if blocks > 1 else np.zeros(len(some), np.uint8)
        return _Piece.of(block, blocks, [some, np.arange(where.start, where.stop)])

    pieces = _cut(len(hashes), cut)

    def number(block: int) -> tuple[Ints, Ints]:
        key, row = (_together(pieces, block, column) for column in (0, 1))
        slot = ((key >> np.uint64(24)) & np.uint64(SLOTS - 1)).astype(np.int64)
        owner = np.full(SLOTS, -1)
        owner[slot[::-1]] = np.arange(len(key))[::-1]
        mine = owner[slot]
        used = owner >= 0
        code = (np.cumsum(used) - 1)[slot]
        first = owner[used]
        lost = np.flatnonzero(key[mine] != key)
        if len(lost):
            _, again, of = np.unique(key[lost], return_index=True, return_inverse=True)
            code[lost] = len(first) + of
            first = np.concatenate([first, lost[again]])
        return code.astype(np.int32), row[first]

    found = map_threads(number, range(blocks), workers())
    before = np.cumsum([len(first) for _, first in found]) - [len(first) for _, first in found]
    done = np.zeros(blocks, np.int64)  # rows of each block that earlier pieces had
    out = np.empty(len(hashes), np.int32)
    for piece in pieces:
        size = np.array([rows.stop - rows.start for rows in piece.rows])
        numbers = [
            code[begin : begin + n] + np.int32(base)
            for (code, _), begin, n, base in zip(found, done, size, before, strict=True)
        ]
        out[piece.columns[1]] = np.concatenate(numbers)
        done += size
    return out, np.concatenate([first for _, first in found])
