"""Five ways to lose judgments: which rows of the pool, or which of its units, are left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterrank.core.arrays import Bools, Ints
from counterrank.data.ids import number_rows
from counterrank.matching.pool import Pool

AT_RANDOM = ("ratings", "items", "users")
REDUCTIONS = (*AT_RANDOM, "popular_items", "large_users")
OF_USERS = ("users", "large_users")
SIZES = (1.0, *(share / 100 for share in range(90, 0, -5)), 0.01)

SAYS = {
    "ratings": "judgments are missing at random",
    "items": "whole items are missing at random",
    "users": "whole users are missing at random",
    "popular_items": "the items with the most judgments are missing",
    "large_users": "the users with the most judgments are missing",
}


@dataclass(frozen=True, eq=False)
class Reductions:
    """What may go missing from one pool. A size is the share of judgments, items or users left.

    Each sample has a random stream of its own, so that neither the order of the work nor other
    sizes and kinds change it. Of items or users with equally many judgments, those of the smaller
    id go first.
    """

    pool: Pool
    seed: int = 0

    @cached_property
    def item(self) -> Ints:
        """The item of each judgment, numbered by id."""
        return number_rows(self.pool.items.to_frame())[0]

    def total(self, kind: str) -> int:
        """How many judgments, items or users there are to lose."""
        if kind in OF_USERS:
            return self.pool.n
        return len(self.pool.rating) if kind == "ratings" else int(self.item.max()) + 1

    def left(self, kind: str, size: float) -> int:
        """How many of them are left; at least one."""
        return max(1, round(size * self.total(kind)))

    def samples(self, kind: str, size: float, samples: int) -> int:
        """How many samples differ: one where nothing is drawn, or nothing is left out."""
        drawn = kind in AT_RANDOM and self.left(kind, size) < self.total(kind)
        return samples if drawn else 1

    def left_over(self, kind: str, size: float, sample: int) -> Bools:
        """Which judgments are left or, where users go missing, which users."""
        total, left = self.total(kind), self.left(kind, size)
        if kind in AT_RANDOM:
            key = (self.seed, REDUCTIONS.index(kind), round(size * 1e9), sample)
            chosen = np.random.default_rng(key).choice(total, left, replace=False, shuffle=False)
        else:
            chosen = self._smallest_last(kind)[total - left :]
        flag = np.zeros(total, bool)
        flag[chosen] = True
        return flag if kind in OF_USERS or kind == "ratings" else flag[self.item]

    def _smallest_last(self, kind: str) -> Ints:
        """Items or users by falling number of judgments, then by rising id."""
        number = self.pool.size if kind == "large_users" else np.bincount(self.item)
        return np.argsort(-number, kind="stable")
