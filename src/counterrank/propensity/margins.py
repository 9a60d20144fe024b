r"""Sums of a score's means by user and by item, over rows or over all pairs.

The additive model is fitted from these sums alone (`additive.py`), and all pairs need not be
laid out: on the grid of all pairs, users of one group with equally many clicks are alike, and so
are items, so that the sums run over classes, of which there are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from counterrank.arrays import Bools, Floats, Ints, summed
from counterrank.propensity.fit import mean
from counterrank.propensity.folds import Folds

CELLS = 1 << 22  # classes of users times classes of items before counts are rounded
EXACT = 64  # counts up to here are never rounded


class Margins(Protocol):
    """Observed and expected sums; an entry is a user or an item, or a class of ``many`` of them."""

    @property
    def observed(self) -> tuple[Floats, Floats]:
        """Outcomes summed by user and by item."""
        ...

    @property
    def trials(self) -> tuple[Floats, Floats]:
        """Pairs, or their weights, by user and by item."""
        ...

    @property
    def many(self) -> tuple[Floats, Floats]:
        """How many users and items are alike."""
        ...

    def expected(self, a: Floats, b: Floats, link: str, side: int) -> tuple[Floats, Floats]:
        """Means and their slopes summed by user (side 0) or by item (side 1)."""
        ...


@dataclass(frozen=True)
class Rows:
    """Rows as they are, each with a weight."""

    user: Ints
    item: Ints
    y: Floats
    weight: Floats
    users: int
    items: int

    @property
    def observed(self) -> tuple[Floats, Floats]:
        """Outcomes by user and by item."""
        return self._sums(self.weight * self.y)

    @property
    def trials(self) -> tuple[Floats, Floats]:
        """Weights by user and by item."""
        return self._sums(self.weight)

    @property
    def many(self) -> tuple[Floats, Floats]:
        """Every user and item stands for itself."""
        return np.ones(self.users), np.ones(self.items)

    def expected(self, a: Floats, b: Floats, link: str, side: int) -> tuple[Floats, Floats]:
        """Row by row."""
        p = mean(a[self.user] + b[self.item], link)
        code, size = ((self.user, self.users), (self.item, self.items))[side]
        slope = self.weight * p * (1 - p) if link == "logit" else self.weight
        return summed(code, self.weight * p, size), summed(code, slope, size)

    def _sums(self, x: Floats) -> tuple[Floats, Floats]:
        return summed(self.user, x, self.users), summed(self.item, x, self.items)


@dataclass(frozen=True)
class Grid:
    """All pairs outside one fold: classes of users and items by group and count of clicks."""

    observed: tuple[Floats, Floats]
    many: tuple[Floats, Floats]
    there: Bools

    @property
    def trials(self) -> tuple[Floats, Floats]:
        """Pairs of one user, and of one item, of each class."""
        return self.there @ self.many[1], self.many[0] @ self.there

    def expected(self, a: Floats, b: Floats, link: str, side: int) -> tuple[Floats, Floats]:
        """Class by class."""
        p = mean(a[:, None] + b[None, :], link)
        p *= self.there
        slope = p * (1 - p)
        if side == 0:
            return p @ self.many[1], slope @ self.many[1]
        return self.many[0] @ p, self.many[0] @ slope


def grid(user: Ints, item: Ints, folds: Folds, fold: int) -> tuple[Grid, Ints, Ints]:
    """The grid outside a fold from its clicked pairs; the class of each user and item."""
    h, g = folds.known()
    clicks = np.bincount(user, minlength=len(h)), np.bincount(item, minlength=len(g))
    sides = [_classes(x, n) for x, n in zip((h, g), clicks, strict=True)]
    if len(sides[0][1]) * len(sides[1][1]) > CELLS:
        rounded = [_rounded(n) for n in clicks]
        sides = [_classes(x, n) for x, n in zip((h, g), rounded, strict=True)]
    many = [np.bincount(cls).astype(float) for cls, _ in sides]
    total = [
        summed(s[0], n.astype(float), len(m)) / m
        for s, n, m in zip(sides, clicks, many, strict=True)
    ]
    there = (sides[0][1][:, None] + sides[1][1][None, :]) % folds.count != fold
    found = Grid((total[0], total[1]), (many[0], many[1]), there)
    return found, sides[0][0], sides[1][0]


def _classes(group: Ints, clicks: Ints) -> tuple[Ints, Ints]:
    """The class of each, and the group of each class."""
    size = int(clicks.max(initial=0)) + 1
    known, cls = np.unique(group * size + clicks, return_inverse=True)
    return cls, known // size


def _rounded(clicks: Ints) -> Ints:
    """Large counts to within 2 %, less than a sixth of their noise."""
    step = np.floor(np.log(np.maximum(clicks, EXACT) / EXACT) / 0.02).astype(np.int64)
    return np.where(clicks <= EXACT, clicks, EXACT + 1 + step)
