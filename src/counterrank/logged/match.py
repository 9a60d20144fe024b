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
    found = _looked_up(rows.view(np.uint64), cells.view(np.uint64))
    if found is None:
        return _sorted(rows, cells, bits)
    none = np.empty(0, np.int64)
    return Match(found, none, none)


def _looked_up(rows: Keys, cells: Keys) -> Ints | None:
    """The cell of each row by hash tables, or None if some key stands twice on one side."""
    found = np.full(len(rows), -1)
    open_rows, open_cells = np.arange(len(rows)), np.arange(len(cells))
    for factor in FACTORS:
        key, known = rows[open_rows], cells[open_cells]
        size = slot_count(known)
        slot, number = slots(known, size, factor), np.arange(len(known))
        owner = np.full(size, -1)
        owner[slot] = number
        held = owner[slot]
        lost = np.flatnonzero(held != number)
        if np.any(known[held[lost]] == known[lost]):
            return None
        at = owner[slots(key, size, factor)]
        same = known[at] == key if len(known) else np.zeros(len(key), bool)
        same &= at >= 0
        found[open_rows[same]] = open_cells[at[same]]
        open_rows, open_cells = open_rows[~same], open_cells[lost]
        if not len(open_cells):
            break
    if len(open_cells):
        return None
    hits = np.bincount(found[found >= 0], minlength=len(cells))
    alone = np.sort(rows[found < 0])
    twice = np.any(hits > 1) or np.any(alone[1:] == alone[:-1])
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
