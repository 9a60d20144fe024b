"""Pairs as single numbers, joined by hash tables: which stand on both sides, which stand twice.

A pair is a list and an item, or a session and an item (at a rank). Both joins take a few passes
over small tables instead of a sort of everything; two pairs that share a slot of a table cost time,
never a result. `sparse_join` is for few hits: lists of which little is judged. `dense_join` is for
many: log rows of which most have a cell in the target's list. It also answers for rows without one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterrank.core.arrays import AnyInts, Ints, sort_lists

Keys = npt.NDArray[np.unsignedinteger]

SLOTS = 8  # of a hash table, for each key in it
LARGEST = 26  # bits of a slot's number
FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)  # odd, with well-mixed bits


def pair_keys(*columns: tuple[Ints, AnyInts]) -> list[Keys]:
    """One number for each id of each column, equal where list and id are equal.

    A column is the number of ids of each list, and the ids list by list. The number is
    ``list * span + id - lowest id``, in 32 bits where that fits. Ids too far apart for 64 bits are
    renumbered first. Arithmetic is modulo the width, so that no step can overflow.
    """
    lists = len(columns[0][0])
    filled = [ids for _, ids in columns if len(ids)]
    if not filled:
        return [np.empty(0, np.uint32) for _ in columns]
    low = min(int(ids.min()) for ids in filled)
    span = max(int(ids.max()) for ids in filled) - low + 1
    if span * lists > 1 << 64:
        known = np.unique(np.concatenate([np.unique(ids) for ids in filled]))
        return pair_keys(*((length, np.searchsorted(known, ids)) for length, ids in columns))
    kind: type[np.unsignedinteger] = np.uint32 if span * lists <= 1 << 32 else np.uint64
    step, least = (kind(x % (1 << 8 * kind(0).itemsize)) for x in (span, low))
    first = np.arange(lists, dtype=kind) * step - least
    keys: list[Keys] = []
    for length, ids in columns:
        key = np.repeat(first, length)
        key += ids.astype(kind)
        keys.append(key)
    return keys


def repeated_rows(key: Keys, length: Ints) -> Ints:
    """Rows whose key stood before. Only rows of one list can share a key."""
    ordered = sort_lists(key.copy(), length)
    if not np.any(ordered[1:] == ordered[:-1]):
        return np.empty(0, np.int64)
    by = np.argsort(key, kind="stable")
    again: Ints = by[1:][key[by[1:]] == key[by[:-1]]]
    return again


def sparse_join(key: Keys, judged: Keys) -> tuple[Ints, Ints]:
    """Rows whose key is judged, in order, and the judgment of each; judged keys are distinct.

    A table of flags, small enough for the cache, tells most rows without a judgment apart.
    """
    if len(judged) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    size = _table_size(judged, SLOTS)
    flag = np.zeros(size, bool)
    flag[_slots(judged, size, FACTORS[0])] = True
    row = np.flatnonzero(flag[_slots(key, size, FACTORS[0])])
    hit, judgment = _owners(key[row], judged, FACTORS[1:])
    return row[hit], judgment


def _owners(key: Keys, judged: Keys, factors: tuple[int, ...]) -> tuple[Ints, Ints]:
    """As `sparse_join`, by a table that says which judgment owns a slot.

    Judgments that lost their slot to another go through a table of their own, hashed otherwise;
    those that lose again are searched for one by one.
    """
    if not factors:
        place = _search(key, judged)
        row = np.flatnonzero(place >= 0)
        return row, place[row]
    owner, lost = _owner_table(judged, _table_size(judged, SLOTS), factors[0])
    judgment = owner[_slots(key, len(owner), factors[0])]
    row = np.flatnonzero(judgment >= 0)
    judgment = judgment[row]
    same = judged[judgment] == key[row]
    if len(lost):
        open_ = np.flatnonzero(~same)
        hit, again = _owners(key[row[open_]], judged[lost], factors[1:])
        judgment[open_[hit]] = lost[again]
        same[open_[hit]] = True
    return row[same], judgment[same].astype(np.int64)


@dataclass(frozen=True)
class Match:
    """``cell`` of each logged row (-1: none); rows and cells that repeat an earlier one."""

    cell: Ints
    row_again: Ints
    cell_again: Ints


def dense_join(row: tuple[Ints, Ints], cell: tuple[Ints, Ints], things: int) -> Match:
    """Each row's cell of the same session and thing (an item, or an item at a rank).

    Rows and cells are given as session and thing, things as numbers below ``things``. Hash tables
    do it where nothing repeats; otherwise a sort says what does.
    """
    n = len(row[0])
    sessions = 1 + max(int(x.max(initial=0)) for x in (row[0], cell[0]))
    bits = (n + len(cell[0])).bit_length()
    if sessions * things << bits >= 1 << 63:  # too wide for one number: renumber what is here
        known, code = np.unique(np.concatenate([row[1], cell[1]]), return_inverse=True)
        row, cell, things = (row[0], code[:n]), (cell[0], code[n:]), len(known)
    place = _cells_in_grid(row, cell, things)
    if place is not None:
        return Match(place, np.empty(0, np.int64), np.empty(0, np.int64))
    rows, cells = (session * things + thing for session, thing in (row, cell))
    kind = np.uint32 if sessions * things <= 1 << 32 else np.uint64
    place = _cells_of(rows.astype(kind), cells.astype(kind))
    if place is None:
        return _sort_join(rows, cells, bits)
    none = np.empty(0, np.int64)
    return Match(place, none, none)


def _cells_in_grid(row: tuple[Ints, Ints], cell: tuple[Ints, Ints], things: int) -> Ints | None:
    """The cell of each row where all sessions are as long, in order; None elsewhere.

    Both lists of a session are one row of a grid of numbers, thing, side and place in its list.
    Sorted, a thing that is on both sides stands beside itself; so does one that is on one side
    twice, and then there is no answer either.
    """
    sides = [(_width(session), session, thing) for session, thing in (row, cell)]
    wide, (n, m) = [width for width, *_ in sides], (len(row[0]), len(cell[0]))
    bits = max(max(wide) - 1, 1).bit_length()
    size = things.bit_length() + 1 + bits
    if 0 in wide or n * wide[1] != m * wide[0] or size > 64:
        return None
    kind: type[np.unsignedinteger] = np.uint32 if size <= 32 else np.uint64
    grid: Keys = np.empty((n // wide[0], sum(wide)), kind)
    for side, (width, _, thing) in enumerate(sides):
        part = grid[:, wide[0] * side :][:, :width]
        part[:] = thing.reshape(-1, width)
        part <<= kind(1 + bits)
        part |= (np.arange(width) + (side << bits)).astype(kind)
    grid.sort(axis=1)
    apart: Keys = grid[:, 1:] ^ grid[:, :-1]
    apart >>= kind(bits)
    if not apart.all():
        return None
    met = np.flatnonzero(apart == 1)
    session = met // (sum(wide) - 1)
    met += session  # in the grid
    place = (grid.ravel() & kind((1 << bits) - 1)).astype(np.int64)
    out = np.full(n, -1)
    out[session * wide[0] + place[met]] = session * wide[1] + place[met + 1]
    return out


def _width(session: Ints) -> int:
    """How many rows each of the sessions 0, 1, 2, ... has, where all have as many; else 0."""
    width = int(np.searchsorted(session, 1))
    count, rest = divmod(len(session), max(width, 1))
    if not width or rest or session[-1] != count - 1:
        return 0
    grid = session.reshape(count, width)
    each = grid == np.arange(count)[:, None]
    return width if each.all() else 0


def _cells_of(rows: Keys, cells: Keys) -> Ints | None:
    """The cell of each row by hash tables, or None if some key stands twice on one side.

    Cells that lost their slot to another go through a table of their own, hashed otherwise; the few
    that lose every time are searched for.
    """
    out = np.full(len(rows), -1)
    row: Ints | slice = slice(None)
    cell = np.arange(len(cells))
    for factor in FACTORS:
        known, key = cells[cell], rows[row]
        if not len(cell) or not len(key):
            break
        owner, lost = _owner_table(known, _table_size(known, SLOTS // 2), factor)
        if np.any(known[owner[_slots(known[lost], len(owner), factor)]] == known[lost]):
            return None
        held_by = owner[_slots(key, len(owner), factor)]
        same = (known[held_by] == key) & (held_by >= 0)
        out[row] = np.where(same, cell[held_by], -1)
        row, cell = np.flatnonzero(out < 0), cell[lost]
    if len(cell):
        place = _search(rows[row], cells[cell])
        if len(np.unique(cells[cell])) < len(cell):
            return None
        out[row] = np.where(place >= 0, cell[place], -1)
    hit = np.zeros(len(cells), bool)
    hit[out[out >= 0]] = True
    alone = np.sort(rows[out < 0])
    twice = np.count_nonzero(hit) + len(alone) < len(rows) or np.any(alone[1:] == alone[:-1])
    return None if twice else out


def _sort_join(rows: Ints, cells: Ints, bits: int) -> Match:
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
    cell = np.full(n, -1)
    joined = (above < n) & (below >= n)
    cell[above[joined]] = below[joined] - n
    return Match(cell, below[below < n], below[above >= n] - n)


def _owner_table(known: Keys, size: int, factor: int) -> tuple[npt.NDArray[np.int32], Ints]:
    """The key that owns each slot (-1: none), and the keys that lost theirs to another."""
    slot, number = _slots(known, size, factor), np.arange(len(known), dtype=np.int32)
    owner = np.full(size, -1, np.int32)
    owner[slot] = number
    return owner, np.flatnonzero(owner[slot] != number)


def _search(key: Keys, known: Keys) -> Ints:
    """The place of each key among the known ones, -1 if it is not there, by a sort."""
    by = np.argsort(known)
    place = by[np.minimum(np.searchsorted(known[by], key), len(by) - 1)]
    return np.where(known[place] == key, place, -1)


def _table_size(known: Keys, slots: int) -> int:
    """Slots of a table with about ``slots`` for each key: a power of two."""
    return 1 << min((slots * len(known)).bit_length(), LARGEST)


def _slots(key: Keys, size: int, factor: int) -> Ints:
    """Slot of each key: the upper bits of its product with a factor."""
    width = 8 * key.itemsize
    slot = key * key.dtype.type(factor >> (64 - width) | 1)
    slot >>= key.dtype.type(width - size.bit_length() + 1)
    return slot.astype(np.int64)
