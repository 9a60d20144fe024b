"""The ctr of listed pairs that were clicked: the least and the usual one, however many they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats, Ints

STEPS, OCTAVES = 128, 64  # bins of half a percent, down to 2^-64


@dataclass(frozen=True)
class Chances:
    """``values`` as they are, or where they are too many their ``counts`` by size."""

    count: int
    smallest: float
    values: Floats
    counts: Ints

    @classmethod
    def of(cls, ctr: Floats, keep: str) -> Chances:
        """Those of one bucket; ``keep`` is units or moments."""
        known = ctr[~np.isnan(ctr)]
        least = float(known.min(initial=np.inf))
        if keep == "units":
            return cls(len(known), least, known, np.empty(0, np.int64))
        bin_ = np.clip(-np.log2(known) * STEPS, 0, STEPS * OCTAVES - 1).astype(np.int64)
        return cls(len(known), least, np.empty(0), np.bincount(bin_, minlength=STEPS * OCTAVES))

    @classmethod
    def merged(cls, parts: Sequence[Chances]) -> Chances:
        """Those of all buckets."""
        return cls(
            sum(part.count for part in parts),
            min(part.smallest for part in parts),
            np.concatenate([part.values for part in parts]),
            np.sum([part.counts for part in parts], axis=0),
        )

    @property
    def usual(self) -> float:
        """The median; from counts, to half a percent."""
        if len(self.values):
            return float(np.median(self.values))
        half = int(np.searchsorted(np.cumsum(self.counts), self.count / 2))
        return float(2.0 ** (-(half + 0.5) / STEPS))
