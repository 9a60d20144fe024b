r"""Sums of a score's means by user and by item, over rows or over all pairs.

The additive model is fitted from these sums alone (`additive.py`), and all pairs need not be
laid out: on the grid of all pairs, users of one group with equally many clicks are alike, and so
are items, so that the sums run over classes, of which there are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from counterrank.core.arrays import Bools, Floats, Ints, sort_order, sum_by
from counterrank.core.parallel import cached_property
from counterrank.nuisance.folds import Folds

CELLS = 1 << 22  # classes of users times classes of items before counts are rounded
EXACT = 64  # counts up to here are never rounded
STRETCH = 1 << 15  # rows or cells at a time, so that what is computed on the way stays in a cache


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
class PairRows:
    """Rows as they are, each with a weight."""

    user: Ints
    item: Ints
    y: Floats
    weight: Floats
    users: int
    items: int

    @cached_property
    def observed(self) -> tuple[Floats, Floats]:
        """Outcomes by user and by item."""
        return self._sums(self.weight * self.y)

    @cached_property
    def trials(self) -> tuple[Floats, Floats]:
        """Weights by user and by item."""
        return self._sums(self.weight)

    @cached_property
    def many(self) -> tuple[Floats, Floats]:
        """Every user and item stands for itself."""
        return np.ones(self.users), np.ones(self.items)

    def expected(self, a: Floats, b: Floats, link: str, side: int) -> tuple[Floats, Floats]:
        """Row by row."""
        if link == "identity":
            fitted = self.weight * (a[self.user] + b[self.item])
            return self._summed(fitted, side), self.trials[side]
        x, y = _against(a), _against(b)
        fitted, slope = np.empty(len(self.user)), np.empty(len(self.user))
        for begin in range(0, len(self.user), STRETCH):
            s = slice(begin, begin + STRETCH)
            p = _likely(x[self.user[s]] * y[self.item[s]])
            np.multiply(self.weight[s], p, out=fitted[s])
            np.multiply(fitted[s], np.subtract(1, p, out=p), out=slope[s])
        return self._summed(fitted, side), self._summed(slope, side)

    def _summed(self, x: Floats, side: int) -> Floats:
        """Sums by user (side 0) or by item (side 1): those of a sparse table, row- or column-wise.

        A product with ones is twice as fast as counting with weights.
        """
        order, table = self._table
        table.data = x if order is None else x[order]
        sums: Floats = table @ self.many[1] if side == 0 else table.T @ self.many[0]
        return sums

    @cached_property
    def _table(self) -> tuple[Ints | None, Any]:
        """A sparse table of users and items, and the order of its rows if they must be sorted."""
        from scipy.sparse import csr_array

        order = None
        if np.any(self.user[1:] < self.user[:-1]):
            order = sort_order(self.user, self.item)
        item = self.item if order is None else self.item[order]
        begin = np.append(0, np.cumsum(np.bincount(self.user, minlength=self.users)))
        shape = (self.users, self.items)
        return order, csr_array((np.empty(len(item)), item, begin), shape=shape)

    def _sums(self, x: Floats) -> tuple[Floats, Floats]:
        return sum_by(self.user, x, self.users), sum_by(self.item, x, self.items)


@dataclass(frozen=True)
class Grid:
    """All pairs outside one fold: classes of users and items by group and count of clicks.

    Classes of users stand group by group, ``sizes`` of each group; ``there`` says which classes of
    items each group of users has outside the fold.
    """

    observed: tuple[Floats, Floats]
    many: tuple[Floats, Floats]
    sizes: Ints
    there: Bools

    @cached_property
    def trials(self) -> tuple[Floats, Floats]:
        """Pairs of one user, and of one item, of each class."""
        users, items = self.many
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return (self.there @ items)[group], sum_by(group, users, len(self.sizes)) @ self.there

    def expected(self, a: Floats, b: Floats, link: str, side: int) -> tuple[Floats, Floats]:
        """Class by class, some users at a time."""
        x, y = _against(a), _against(b)
        users, items = self.many
        fitted, slope = np.zeros(len((a, b)[side])), np.zeros(len((a, b)[side]))
        for s, there in self._stretches():
            p = _likely(x[s, None] * y)
            v = p * (1 - p)
            if side == 0:
                fitted[s], slope[s] = p @ (items * there), v @ (items * there)
            else:
                fitted += there * (users[s] @ p)
                slope += there * (users[s] @ v)
        return fitted, slope

    def _stretches(self) -> Iterator[tuple[slice, Bools]]:
        """A few classes of users of one group, and the classes of items they meet."""
        step = max(STRETCH // self.there.shape[1], 1)
        ends = np.cumsum(self.sizes)
        for begin, end, there in zip(ends - self.sizes, ends, self.there, strict=True):
            for first in range(int(begin), int(end), step):
                yield slice(first, min(first + step, int(end))), there


def grid_outside_fold(user: Ints, item: Ints, folds: Folds, fold: int) -> tuple[Grid, Ints, Ints]:
    """The grid outside a fold from its clicked pairs; the class of each user and item."""
    h, g = folds.known()
    clicks = np.bincount(user, minlength=len(h)), np.bincount(item, minlength=len(g))
    sides = [_classes(x, n) for x, n in zip((h, g), clicks, strict=True)]
    if len(sides[0][1]) * len(sides[1][1]) > CELLS:
        rounded = [_rounded(n) for n in clicks]
        sides = [_classes(x, n) for x, n in zip((h, g), rounded, strict=True)]
    many = [np.bincount(cls).astype(float) for cls, _ in sides]
    total = [
        sum_by(s[0], n.astype(float), len(m)) / m
        for s, n, m in zip(sides, clicks, many, strict=True)
    ]
    groups = np.arange(folds.count)
    there = (groups[:, None] + sides[1][1][None, :]) % folds.count != fold
    sizes = np.bincount(sides[0][1], minlength=folds.count)
    found = Grid((total[0], total[1]), (many[0], many[1]), sizes, there)
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


def _against(score: Floats) -> Floats:
    r""":math:`e^{-\eta}`, the odds against; those of a sum are a product of odds."""
    against: Floats = np.exp(-np.clip(score, -350, 350))
    return against


def _likely(against: Floats) -> Floats:
    """The probability that has these odds against it, in their place."""
    against += 1
    return np.reciprocal(against, out=against)
