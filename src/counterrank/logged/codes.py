"""Ids as small whole numbers, the same in the log and in every run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.arrays import AnyInts, Ints
from counterrank.blocks import item_numbers

ROOM = 8  # ids spread over more than this many for each row are looked up instead of shifted


@dataclass(frozen=True)
class Codes:
    """Numbers from 0 for the ids of a log; ids it does not have get the number ``size``.

    ``known`` holds the ids in order, or is empty where a code is simply the id less ``low``.
    """

    low: int
    size: int
    known: AnyInts

    @classmethod
    def of(cls, ids: pl.Series) -> Codes:
        """Codes for these ids."""
        numbers = item_numbers(ids)
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < ROOM * len(numbers) + 1024 and low >= -(1 << 62) and high < 1 << 62:
            return cls(low, high - low + 1, np.empty(0, np.int64))
        known = np.unique(numbers)
        return cls(0, len(known), known)

    def code(self, ids: pl.Series) -> Ints:
        """The number of each id."""
        return self.numbered(item_numbers(ids))

    def numbered(self, numbers: AnyInts) -> Ints:
        """The number of each id, given as the integer it is stored as."""
        if len(self.known):
            place = np.minimum(np.searchsorted(self.known, numbers), self.size - 1)
            return np.where(self.known[place] == numbers, place, self.size)
        code = numbers.astype(np.int64)
        code -= self.low
        code[(code < 0) | (code >= self.size)] = self.size
        return code
