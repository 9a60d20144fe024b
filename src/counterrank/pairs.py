"""Pairs of list and item as single numbers: which are judged, and which stand twice.

Both questions are answered by a few passes over small tables instead of a sort of everything. Two
pairs that share a slot of a hash table cost time, never a result.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from counterrank.arrays import AnyInts, Ints, alike

Keys = npt.NDArray[np.unsignedinteger]

SLOTS = 8  # of a hash table, for each key in it
LARGEST = 26  # bits of a slot's number
FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)  # odd, with well-mixed bits


def keyed(*columns: tuple[Ints, AnyInts]) -> list[Keys]:
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
        return keyed(*((length, np.searchsorted(known, ids)) for length, ids in columns))
    kind: type[np.unsignedinteger] = np.uint32 if span * lists <= 1 << 32 else np.uint64
    step, least = (kind(x % (1 << 8 * kind(0).itemsize)) for x in (span, low))
    first = np.arange(lists, dtype=kind) * step - least
    keys: list[Keys] = []
    for length, ids in columns:
        key = np.repeat(first, length)
        key += ids.astype(kind)
        keys.append(key)
    return keys


def repeats(key: Keys, length: Ints) -> Ints:
    """Rows whose key stood before. Only rows of one list can share a key."""
    ordered = np.sort(key.reshape(len(length) if alike(length) else 1, -1), axis=1)
    if not np.any(ordered[:, 1:] == ordered[:, :-1]):
        return np.empty(0, np.int64)
    by = np.argsort(key, kind="stable")
    again: Ints = by[1:][key[by[1:]] == key[by[:-1]]]
    return again


def found(key: Keys, judged: Keys) -> tuple[Ints, Ints]:
    """Rows whose key is judged, in order, and the judgment of each; judged keys are distinct.

    A table of flags, small enough for the cache, tells most rows without a judgment apart.
    """
    if len(judged) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    flag = np.zeros(slot_count(judged), bool)
    flag[slots(judged, len(flag), FACTORS[0])] = True
    row = np.flatnonzero(flag[slots(key, len(flag), FACTORS[0])])
    held, judgment = _matched(key[row], judged, FACTORS[1:])
    return row[held], judgment


def _matched(key: Keys, judged: Keys, factors: tuple[int, ...]) -> tuple[Ints, Ints]:
    """As ``found``, by a table that says which judgment owns a slot.

    Judgments that lost their slot to another go through a table of their own, hashed otherwise;
    those that lose again are searched for one by one.
    """
    if not factors:
        return _searched(key, judged)
    number = np.arange(len(judged), dtype=np.int32)
    slot = slots(judged, slot_count(judged), factors[0])
    owner = np.full(slot_count(judged), -1, np.int32)
    owner[slot] = number
    judgment = owner[slots(key, len(owner), factors[0])]
    row = np.flatnonzero(judgment >= 0)
    judgment = judgment[row]
    same = judged[judgment] == key[row]
    lost = np.flatnonzero(owner[slot] != number)
    if len(lost):
        open_ = np.flatnonzero(~same)
        held, again = _matched(key[row[open_]], judged[lost], factors[1:])
        judgment[open_[held]] = lost[again]
        same[open_[held]] = True
    return row[same], judgment[same].astype(np.int64)


def _searched(key: Keys, judged: Keys) -> tuple[Ints, Ints]:
    by = np.argsort(judged)
    place = np.minimum(np.searchsorted(judged[by], key), len(by) - 1)
    row = np.flatnonzero(judged[by[place]] == key)
    return row, by[place[row]]


def slot_count(judged: Keys) -> int:
    """Slots of a table: a power of two."""
    return 1 << min((SLOTS * len(judged)).bit_length(), LARGEST)


def slots(key: Keys, size: int, factor: int) -> Ints:
    """Slot of each key: the upper bits of its product with a factor."""
    width = 8 * key.itemsize
    slot = key * key.dtype.type(factor >> (64 - width) | 1)
    slot >>= key.dtype.type(width - size.bit_length() + 1)
    return slot.astype(np.int64)
