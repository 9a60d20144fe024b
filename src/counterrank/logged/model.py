r"""The reward of a view, learnt from the log: shrunken means of items and contexts.

For item :math:`a` and situation :math:`x` (context, and the rank where exposure is not modelled)

.. math:: \hat q(a) = \frac{C_a + \kappa \bar q}{V_a + \kappa}, \qquad
          \hat q(x, a) = \frac{C_{xa} + \kappa' \pi_{xa}}{V_{xa} + \kappa'}, \qquad
          \pi_{xa} = \hat q(a)\, \hat q(x) / \bar q

(:math:`\hat q(a) + \hat q(x) - \bar q` where some of them are not above 0)

where :math:`C` sums rewards and :math:`V` views. :math:`\kappa` is the number of views at which an
item's own mean and the overall mean deserve equal trust: noise of a view over the variance between
items (method of moments). Sessions are predicted by sums of the other folds' users only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats, Ints, halves, summed
from counterrank.nuisance.shrinkage import shrink_means


@dataclass(frozen=True)
class Sums:
    """Sums over rows by fold, situation and item: rewards, views, squared rewards.

    Each is a list of tables to be added up in the end: of whole numbers one, otherwise two, of
    coarse and of fine parts, whose sums do not depend on the order of rows or buckets.
    """

    reward: list[Floats]
    views: list[Floats]
    square: list[Floats]

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            _added(self.reward, other.reward),
            _added(self.views, other.views),
            _added(self.square, other.square),
        )


def _added(a: list[Floats], b: list[Floats]) -> list[Floats]:
    return [*(x + y for x, y in zip(a, b, strict=False)), *a[len(b) :], *b[len(a) :]]


def sums(cell: Ints, reward: Floats, seen: Floats, shape: tuple[int, int, int]) -> Sums:
    """The sums by cell, the number of a fold, situation and item in a table of this shape."""
    size = shape[0] * shape[1] * shape[2]

    def total(x: Floats) -> list[Floats]:
        parts = (x,) if np.array_equal(x, np.round(x)) else halves(x)
        return [summed(cell, part, size).reshape(shape) for part in parts]

    binary = bool(np.all((reward == 0) | (reward == 1)))
    found = total(reward)
    return Sums(found, total(seen), found if binary else total(reward**2))


@dataclass(frozen=True)
class Model:
    """Predicted reward of a view: folds x situations x items; the last item is any unknown one."""

    table: Floats
    ranks: int = 1
    contextual: bool = True

    def at(self, fold: Ints, context: Ints, item: Ints, rank: Ints) -> Floats:
        """The prediction for each cell."""
        _, situations, items = self.table.shape
        cell = fold * situations
        if self.contextual:
            cell += context * self.ranks
        if self.ranks > 1:
            cell += np.minimum(rank, self.ranks) - 1
        cell *= items
        cell += item
        found: Floats = self.table.reshape(-1)[cell]
        return found


def learnt(total: Sums, ranks: int) -> Model:
    """Means of the other folds, shrunken."""
    folds = range(len(total.reward[0]))
    return Model(np.stack([_shrunken(*others(total, fold)) for fold in folds]), ranks)


def others(total: Sums, fold: int) -> tuple[Floats, Floats, Floats]:
    """Rewards, views and squares of all folds but one."""
    kept = np.arange(len(total.reward[0])) != fold
    c, v, s = (
        np.sum([part[kept].sum(axis=0) for part in tables], axis=0)
        for tables in (total.reward, total.views, total.square)
    )
    return c, v, s


def _shrunken(c: Floats, v: Floats, s: Floats) -> Floats:
    """Predictions (situations x items, and one more item for unknown ones)."""
    overall = float(c.sum() / v.sum()) if v.sum() > 0 else 0.0
    item = _shrunken_means(
        c.sum(axis=0), v.sum(axis=0), s.sum(axis=0), np.full(c.shape[1], overall)
    )
    if len(c) == 1:
        return np.append(item, overall)[None, :]
    place = _shrunken_means(c.sum(axis=1), v.sum(axis=1), s.sum(axis=1), np.full(len(c), overall))
    if min(overall, place.min(), item.min()) > 0:
        prior = np.outer(place, item) / overall
    else:  # rewards of both signs: effects add up instead
        prior = place[:, None] + item[None, :] - overall
    cell = _shrunken_means(c.ravel(), v.ravel(), s.ravel(), prior.ravel()).reshape(c.shape)
    return np.column_stack([cell, place])


def _shrunken_means(c: Floats, v: Floats, s: Floats, prior: Floats) -> Floats:
    r"""Means :math:`c / v` pulled towards ``prior``; ``s`` sums the squares of the rewards.

    The noise of a view is what varies within groups: :math:`\sum (s - c^2 / v) / (V - k)`.
    """
    known = v > 0
    n, total = int(known.sum()), float(v.sum())
    if n == 0 or total <= 0:
        return prior.copy()
    within = float(s.sum() - np.sum(c[known] * (c[known] / v[known])))
    return shrink_means(c, v, max(within, 0.0) / max(total - n, 1.0), prior=prior)
