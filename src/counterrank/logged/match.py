"""One bucket of sessions: logged rows meet the target's cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Ints
from counterrank.pairs import FACTORS, Keys, slot_count, slots


@dataclass(frozen=True)
class Match:
    """``cell`` of each logged row (-1: none); rows and cells that repeat an earlier one."""

    cell: Ints
    row_again: Ints
    cell_again: Ints


def matched(row: tuple[Ints, Ints], cell: tuple[Ints, Ints], things: int) -> Match:
    """Find each row's cell of the same session and thing (an item, or an item at a rank).

    Rows and cells are given as session and thing, things as numbers below ``things``. A small hash
    table does it where nothing repeats; otherwise a sort says what does.
    """
    n = len(row[0])
    sessions = 1 + max(int(x.max(initial=0)) for x in (row[0], cell[0]))
    bits = (n + len(cell[0])).bit_length()
    if sessions * things << bits >= 1 << 63:  # too wide for one number: renumber what is here
        known, code = np.unique(np.concatenate([row[1], cell[1]]), return_inverse=True)
        row, cell, things = (row[0], code[:n]), (cell[0], code[n:]), len(known)
    rows, cells = (session * things + thing for session, thing in (row, cell))
    kind = np.uint32 if sessions * things <= 1 << 32 else np.uint64
    found = _looked_up(rows.astype(kind), cells.astype(kind))
    if found is None:
        return _sorted(rows, cells, bits)
    none = np.empty(0, np.int64)
    return Match(found, none, none)


def _looked_up(rows: Keys, cells: Keys) -> Ints | None:
    """The cell of each row by hash tables, or None if some key stands twice on one side.

    Cells that lost their slot to another go through a table of their own, hashed otherwise; the few
    that lose every time are searched for.
    """
    found = np.full(len(rows), -1)
    row: Ints | slice = slice(None)
    cell = np.arange(len(cells))
    for factor in FACTORS:
        known, key = cells[cell], rows[row]
        if not len(cell) or not len(key):
            break
        size = slot_count(known) // 2
        slot, number = slots(known, size, factor), np.arange(len(known), dtype=np.int32)
        owner = np.full(size, -1, np.int32)
        owner[slot] = number
        held = owner[slot]
        lost = np.flatnonzero(held != number)
        if np.any(known[held[lost]] == known[lost]):
            return None
        at = owner[slots(key, size, factor)]
        same = (known[at] == key) & (at >= 0)
        found[row] = np.where(same, cell[at], -1)
        row, cell = np.flatnonzero(found < 0), cell[lost]
    if len(cell):
        by = cell[np.argsort(cells[cell])]
        if np.any(cells[by[1:]] == cells[by[:-1]]):
            return None
        at = np.minimum(np.searchsorted(cells[by], rows[row]), len(by) - 1)
        found[row] = np.where(cells[by[at]] == rows[row], by[at], -1)
    hit = np.zeros(len(cells), bool)
    hit[found[found >= 0]] = True
    alone = np.sort(rows[found < 0])
    twice = np.count_nonzero(hit) + len(alone) < len(rows) or np.any(alone[1:] == alone[:-1])
    return None if twice else found


def _sorted(rows: Ints, cells: Ints, bits: int) -> Match:
    """By one sort of keys and places, with the cells below the rows: equal neighbours meet."""
    n, m = len(rows), len(cells)
    key = np.concatenate([rows, cells])
    key <<= bits
    key |= np.arange(n + m)
    key.sort()
    pair = key >> bits
    met = np.flatnonzero(pair[1:] == pair[:-1])
    key &= (1 << bits) - 1
    above, below = key[met], key[met + 1]
    found = np.full(n, -1)
    joined = (above < n) & (below >= n)
    found[above[joined]] = below[joined] - n
    return Match(found, below[below < n], below[above >= n] - n)
