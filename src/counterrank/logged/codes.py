"""Ids as small whole numbers, the same in the log and in every run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.arrays import AnyInts, Ints
from counterrank.blocks import item_numbers

NEAR = 1 << 24  # ids that span less than this are looked up in a table
ROOM = 8  # ids spread over more than this many for each row are looked up instead of shifted


@dataclass(frozen=True)
class Codes:
    """Numbers from 0 for the ids of a log; ids it does not have get the number ``size``.

    ``known`` holds the ids in order, or is empty where the id less ``low`` is a code, or a place in
    ``number``. ``number`` are the codes of ``known`` otherwise, where these are not 0, 1, 2, ...
    """

    low: int
    size: int
    known: AnyInts
    number: Ints | None = None

    @classmethod
    def of(cls, ids: pl.Series) -> Codes:
        """Codes for these ids."""
        numbers = item_numbers(ids)
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < ROOM * len(numbers) + 1024 and low >= -(1 << 62) and high < 1 << 62:
            return cls(low, high - low + 1, np.empty(0, np.int64))
        known = np.unique(numbers)
        return cls(0, len(known), known)

    @classmethod
    def among(cls, ids: pl.Series) -> Codes:
        """Codes for ids that are distinct, as text or integers: their places."""
        numbers = item_numbers(ids)
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < NEAR:
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
            code = place if self.number is None else self.number[place]
            return np.where(self.known[place] == numbers, code, self.size)
        code = numbers.astype(np.int64)
        code -= self.low
        span = self.size if self.number is None else len(self.number)
        strange = (code < 0) | (code >= span)
        if self.number is not None:
            code = self.number.take(code, mode="clip")
        code[strange] = self.size
        return code
