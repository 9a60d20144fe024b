"""Ids as small whole numbers, the same in the log and in every run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.arrays import AnyInts, Ints
from counterrank.blocks import item_numbers

NEAR = 1 << 25  # ids that span less than this are looked up in a table


@dataclass(frozen=True)
class Codes:
    """Numbers from 0 for the ids of a log; ids it does not have get the number ``size``.

    ``number`` are the codes of the ids ``known``, which are in order, or, where these are empty, of
    ids ``low``, ``low`` + 1, ...
    """

    low: int
    size: int
    known: AnyInts
    number: Ints

    @classmethod
    def of(cls, ids: pl.Series) -> Codes:
        """Codes for these ids: their places among the distinct ones, in order."""
        return cls.among(distinct(ids).sort())

    @classmethod
    def among(cls, ids: pl.Series) -> Codes:
        """Codes for ids that are distinct, as text or integers: their places."""
        numbers = item_numbers(ids)
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < NEAR and low >= -(1 << 62) and high < 1 << 62:
            place = np.full(high - low + 1, len(ids))
            place[numbers.astype(np.int64) - low] = np.arange(len(ids))
            return cls(low, len(ids), np.empty(0, np.int64), place)
        by = np.argsort(numbers)
        return cls(0, len(ids), numbers[by], by)

    def code(self, ids: pl.Series) -> Ints:
        """The number of each id."""
        return self.numbered(item_numbers(ids))

    def numbered(self, numbers: AnyInts) -> Ints:
        """The number of each id, given as the integer it is stored as."""
        if len(self.known):
            place = np.minimum(np.searchsorted(self.known, numbers), self.size - 1)
            return np.where(self.known[place] == numbers, self.number[place], self.size)
        place = numbers.astype(np.int64)
        place -= self.low
        code: Ints = self.number.take(place, mode="clip")
        code[(place < 0) | (place >= len(self.number))] = self.size
        return code


def distinct(ids: pl.Series) -> pl.Series:
    """Each id once, as it was given: text, or integers of 64 bits."""
    if not ids.dtype.is_integer() or ids.dtype == pl.UInt64:
        found = ids.unique()
        return found if ids.dtype == pl.UInt64 else found.cast(pl.String)
    numbers = ids.to_numpy()
    low, high = int(numbers.min()), int(numbers.max())
    if high - low >= NEAR:
        return ids.unique().cast(pl.Int64)
    there = np.zeros(high - low + 1, bool)  # a flag for each is quicker than a hash of each row
    there[numbers.astype(np.int64) - low] = True
    return pl.Series(ids.name, np.flatnonzero(there) + low)
