"""The items of all tables, numbered by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.arrays import AnyInts, Ints
from counterrank.blocks import as_numbers, item_numbers, places
from counterrank.logged.codes import ROOM
from counterrank.once import once


@dataclass(frozen=True)
class Items:
    """All items of all tables, numbered from 0 in the order of their ids.

    ``place`` is the number of each id less ``low``; where ids are too far apart for that,
    ``sorted`` holds the integers they are stored as, and ``place`` the number of each of those.
    """

    names: pl.Series
    low: int
    place: Ints
    sorted: AnyInts

    @classmethod
    def of(cls, frames: Sequence[pl.DataFrame]) -> Items:
        """The items of these tables."""
        stored = [item_numbers(frame["item"]) for frame in frames if frame.height]
        if not stored:
            return cls(frames[0]["item"], 0, np.empty(0, np.int64), np.empty(0, np.int64))
        low, high = min(int(x.min()) for x in stored), max(int(x.max()) for x in stored)
        near = high - low < ROOM * sum(map(len, stored)) + 1024
        if near:
            there = np.zeros(high - low + 1, bool)
            for x in stored:
                there[x - low if low else x] = True
            numbers: AnyInts = np.flatnonzero(there) + low
        else:
            numbers = np.unique(np.concatenate([np.unique(x) for x in stored]))
        names = _named(numbers, frames)
        plain = names.cast(pl.String) if isinstance(names.dtype, pl.Categorical) else names
        by = as_numbers(plain).arg_sort().to_numpy()
        turn = np.empty(len(by), np.int64)
        turn[by] = np.arange(len(by))
        place = turn
        if near:
            place = np.full(high - low + 1, -1)
            place[numbers - low] = turn
        return cls(names.gather(by), low, place, np.empty(0, np.int64) if near else numbers)

    def among(self, names: pl.Series) -> Items:
        """The same items under their numbers among those of all buckets."""
        if self.plain.equals(names):
            return self
        turn = places(self.plain, names)
        place = np.full(len(self.place), -1)
        place[self.place >= 0] = turn[self.place[self.place >= 0]]
        return replace(self, names=names, place=place)

    @once
    def plain(self) -> pl.Series:
        """The ids as numbers or text, not as codes of it."""
        coded = isinstance(self.names.dtype, pl.Categorical)
        return self.names.cast(pl.String) if coded else self.names

    def at(self, numbers: AnyInts) -> Ints:
        """The number of each item, given as the integer its id is stored as."""
        if len(self.sorted):
            return self.place[np.searchsorted(self.sorted, numbers)]
        return self.place[numbers - self.low if self.low else numbers]

    def name(self, number: int) -> object:
        """The id that is stored as this integer."""
        return self.names[int(self.at(np.array([number]))[0])]


def _named(numbers: AnyInts, frames: Sequence[pl.DataFrame]) -> pl.Series:
    """The ids that are stored as these integers."""
    kind = frames[0].schema["item"]
    if not isinstance(kind, pl.Categorical):
        return pl.Series("item", numbers).cast(kind)
    ids = pl.concat([frame["item"].unique() for frame in frames]).unique()
    return ids.gather(np.argsort(item_numbers(ids)))
