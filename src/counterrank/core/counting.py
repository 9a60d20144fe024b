"""Counting passes: rows in no order brought together by group, and 64-bit hashes numbered.

A pass sorts a piece that fits a core's cache by 8 or 16 bits, which takes a few steps a row in any
order, and moves it once. Sorts and gathers over all rows would wait for memory at every row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from counterrank.core.arrays import AnyInts, Ints, order_ranks
from counterrank.core.parallel import map_threads, workers

Array = npt.NDArray[Any]
Columns = Sequence[Array]

PIECE = 1 << 17  # rows of a piece
BLOCK = 1 << 16  # rows of a block, about, and groups at most
BLOCKS = 1 << 8
SLOTS = 1 << 15  # of a block's table of hashes


@dataclass(frozen=True)
class _Piece:
    """A piece by block: the order of its rows, where blocks end, and its columns in that order."""

    order: Ints
    ends: list[int]
    columns: Columns

    @classmethod
    def of(cls, block: AnyInts, count: int, columns: Columns) -> _Piece:
        small = block.astype(np.uint8 if count <= BLOCKS else np.uint16)
        order = np.argsort(small, kind="stable")
        ends = [0, *np.cumsum(np.bincount(small, minlength=count)).tolist()]
        return cls(order, ends, [x.take(order, mode="clip") for x in columns])

    def rows(self, block: int) -> slice:
        """Where a block's rows stand."""
        return slice(self.ends[block], self.ends[block + 1])


def _cut(rows: int, cut: Callable[[slice], _Piece]) -> list[_Piece]:
    """All pieces, in threads."""
    pieces = [slice(begin, min(begin + PIECE, rows)) for begin in range(0, rows, PIECE)]
    return map_threads(cut, pieces, workers())


def _together(pieces: Sequence[_Piece], block: int) -> list[Array]:
    """The columns of one block, in the order of rows."""
    own = [(p.columns, p.rows(block)) for p in pieces]
    parts = [[column[rows] for column in columns] for columns, rows in own]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def gather_groups(
    groups: int,
    rows: int,
    read: Callable[[slice], tuple[AnyInts, Columns]],
    rank: int | None = None,
) -> tuple[list[Array], Ints]:
    """Columns with the rows of each group together, in the order they had, and each group's size.

    ``read`` gives the group of some rows, numbers below ``groups``, and their columns. Where the
    column with the number ``rank`` has 1, 2, 3, ... of each group, rows stand in its order.
    """
    width = min(max(-(-groups * BLOCK // max(rows, 1)), -(-groups // BLOCKS)), BLOCK)
    blocks = -(-groups // width)

    def cut(where: slice) -> _Piece:
        group, columns = read(where)
        block = group // group.dtype.type(width)
        within = (group - block * group.dtype.type(width)).astype(np.uint16)
        return _Piece.of(block, blocks, [within, *columns])

    pieces = _cut(rows, cut)
    ends = np.sum([p.ends[1:] for p in pieces], axis=0).tolist()
    out = [np.empty(rows, column.dtype) for column in pieces[0].columns[1:]]
    length = np.zeros(blocks * width, np.int64)

    def fill(block: int) -> None:
        within, *columns = _together(pieces, block)
        size = np.bincount(within, minlength=width)
        order = None
        if rank is not None:
            order = order_ranks(columns[rank], (np.cumsum(size) - size).take(within))
        if order is None:
            order = np.argsort(within, kind="stable")
        length[block * width : (block + 1) * width] = size
        end = ends[block]
        for column, whole in zip(columns, out, strict=True):
            column.take(order, mode="clip", out=whole[end - len(order) : end])

    map_threads(fill, range(blocks), workers())
    return out, length[:groups]


def number_hashes(hashes: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.int32], Ints]:
    """A number from 0 for each distinct hash, by rows; and one row that has it.

    Each block of hashes has a table whose slots belong to one of them; the few that lose their
    slot to another are sorted.
    """
    blocks = min(1 << (len(hashes) // BLOCK).bit_length(), BLOCKS)
    top = np.uint64(65 - blocks.bit_length())

    def cut(where: slice) -> _Piece:
        some = hashes[where]
        block = some >> top if blocks > 1 else np.zeros(len(some), np.uint8)
        return _Piece.of(block, blocks, [some, np.arange(where.start, where.stop)])

    pieces = _cut(len(hashes), cut)

    def number(block: int) -> tuple[Ints, Ints]:
        key, row = _together(pieces, block)
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
    for place, piece in enumerate(pieces):
        size = np.diff(piece.ends)
        numbers = [
            code[begin : begin + n] + np.int32(base)
            for (code, _), begin, n, base in zip(found, done, size, before, strict=True)
        ]
        out[place * PIECE :][piece.order] = np.concatenate(numbers)
        done += size
    return out, np.concatenate([first for _, first in found])
