r"""Rates of items and users, shrunken: of one side alone, or effects of both that add up.

``rates(by=item)`` and ``rates(by=user)`` are shrunken means (`stats/shrinkage.py`):
:math:`(c_i + \kappa \bar y) / (n_i + \kappa)`. ``rates``, by both, is a logistic model with two
crossed effects:

.. math:: \eta_{ui} = \mu + a_u + b_i, \qquad
          \max_{\mu, a, b} \sum_{(u, i)} \omega_{ui} \, \ell(y_{ui}, \eta_{ui})
          - \frac{\lambda_a}{2} \sum_u a_u^2 - \frac{\lambda_b}{2} \sum_i b_i^2

:math:`\ell` is the log-likelihood of a click or conversion of probability
:math:`1 / (1 + e^{-\eta})`; outcomes other than 0 and 1 have mean :math:`\eta` and
:math:`\ell = -(y - \eta)^2 / 2`. The penalties are those of normal effects whose variance is found
by moments: with :math:`\tau^2` between the rates of items and :math:`\kappa = \sigma^2 / \tau^2` as
in `stats/shrinkage.py`, :math:`\lambda_b = \kappa` for values and
:math:`\bar y (1 - \bar y) \kappa` on the logit, so that a small effect is shrunken as a rate would
be, by :math:`n / (n + \kappa)`.

The solution has :math:`\sum_i \omega (y - \hat y) = \lambda_a a_u` for every user and the same for
items. As :math:`\mu` is free, effects of each side sum to 0 and there is no error on average.
Newton's steps take turns between users and items; what their mean moves goes into :math:`\mu`.

Sums of means by user and by item are all that a step needs (`Margins`), and all pairs need not be
laid out: on the grid of all pairs, users of one group with equally many clicks are alike, and so
are items, so that the sums run over classes, of which there are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from counterrank.core.arrays import Bools, Floats, Ints, dot, sort_order, sum_by
from counterrank.core.parallel import cached_property
from counterrank.nuisance.base import STRETCH, Effects, Folds, PairModel, Task, Weight, logit
from counterrank.stats.shrinkage import shrink_means, variance_of_means

TURNS, CLOSE, LONGEST = 100, 1e-6, 2.0
RIGID = 1e12  # the penalty of effects that chance explains
CELLS = 1 << 22  # classes of users times classes of items before counts are rounded
EXACT = 64  # counts up to here are never rounded


@dataclass(frozen=True)
class Rates(PairModel):
    """``by``: both, item or user; ``weight``: none, or ctr for conversions weighted by 1/ctr."""

    name: ClassVar[str] = "rates"
    by: Literal["both", "item", "user"] = "both"
    weight: Weight = "none"

    @property
    def knows_users(self) -> bool:
        """A rate of users is learned from the user's other items."""
        return self.by != "item"

    def link(self, link: str) -> str:
        """Rates of one side are means as they stand."""
        return link if self.by == "both" else "identity"

    def fit(self, task: Task) -> Effects:
        """From sums by user and by item."""
        margins: Margins = PairRows(
            task.user, task.item, task.y, task.weight, task.users, task.items
        )
        user, item = np.arange(task.users), np.arange(task.items)
        if task.grid:
            margins, user, item = grid_outside_fold(task.user, task.item, task.folds, task.fold)
        if self.by == "both":
            mu, a, b = effects(margins, task.noise, task.link)
            return Effects(np.append(a[user], 0.0), np.append(mu + b[item], mu))
        side = ("user", "item").index(self.by)
        c, n, many = margins.observed[side], margins.trials[side], margins.many[side]
        total = dot(many, n)
        average = dot(many, c) / total if total > 0 else 0.0
        rate = np.append(shrink_means(c, n, task.noise, many=many)[(user, item)[side]], average)
        if task.link == "logit":  # where all outcomes were alike: half a pair of the other
            rate = np.clip(rate, 0.5 / (total + 1), (total + 0.5) / (total + 1))
        if self.by == "user":
            return Effects(rate, np.zeros(task.items + 1))
        return Effects(np.zeros(task.users + 1), rate)


def effects(margins: Margins, noise: float, link: str) -> tuple[float, Floats, Floats]:
    r""":math:`\mu`, :math:`a` and :math:`b`, given the noise :math:`\sigma^2` of a pair."""
    observed, many = margins.observed, margins.many
    average, penalty = _average(margins, link), penalties(margins, noise, link)
    mu = float(logit(average)) if link == "logit" else average
    effect = [
        np.zeros(len(c)) if penalty[side] == RIGID else _start(margins, side, noise, link) - mu
        for side, c in enumerate(observed)
    ]
    for _ in range(TURNS):
        longest = 0.0
        for side in (1, 0):
            fitted, slope = margins.expected(mu + effect[0], effect[1], link, side)
            score = observed[side] - fitted - penalty[side] * effect[side]
            moved = effect[side] + np.clip(score / (slope + penalty[side]), -LONGEST, LONGEST)
            shift = dot(many[side], moved) / float(many[side].sum())
            longest = max(longest, float(np.abs(moved - shift - effect[side]).max(initial=0)))
            effect[side], mu = moved - shift, mu + shift
        if longest < CLOSE:
            break
    return mu, effect[0], effect[1]


def penalties(margins: Margins, noise: float, link: str) -> list[float]:
    r"""The penalties :math:`\lambda_a` and :math:`\lambda_b`."""
    average = _average(margins, link)
    scale = average * (1 - average) if link == "logit" else 1.0
    out = []
    for c, n, many in zip(margins.observed, margins.trials, margins.many, strict=True):
        tau2 = variance_of_means(c, n, noise, many=many)
        out.append(float(np.clip(scale * noise / tau2, 1e-9, RIGID)) if tau2 > 0 else RIGID)
    return out


def _average(margins: Margins, link: str) -> float:
    """The overall mean; where all outcomes are alike, with half a pair of the other."""
    many = margins.many[0]
    total, pairs = dot(many, margins.observed[0]), dot(many, margins.trials[0])
    average = total / pairs if pairs > 0 else 0.0
    return (total + 0.5) / (pairs + 1) if link == "logit" and not 0 < average < 1 else average


def _start(margins: Margins, side: int, noise: float, link: str) -> Floats:
    """Shrunken rates of one side alone, near enough for Newton's steps."""
    rate = shrink_means(
        margins.observed[side], margins.trials[side], noise, many=margins.many[side]
    )
    return logit(np.clip(rate, 1e-6, 1 - 1e-6)) if link == "logit" else rate


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


Margins = PairRows | Grid  # outcomes, trials and means summed by user and by item


def grid_outside_fold(user: Ints, item: Ints, folds: Folds, fold: int) -> tuple[Grid, Ints, Ints]:
    """The grid outside a fold from its clicked pairs; the class of each user and item."""
    h, g = folds.known()
    clicks = np.bincount(user, minlength=len(h)), np.bincount(item, minlength=len(g))
    sides = [_classes(x, n) for x, n in zip((h, g), clicks, strict=True)]
    if len(sides[0][1]) * len(sides[1][1]) > CELLS:
        rounded = [_round(n) for n in clicks]
        sides = [_classes(x, n) for x, n in zip((h, g), rounded, strict=True)]
    many = [np.bincount(cls).astype(float) for cls, _ in sides]
    total = [
        sum_by(s[0], n.astype(float), len(m)) / m
        for s, n, m in zip(sides, clicks, many, strict=True)
    ]
    groups = np.arange(folds.count)
    there = (groups[:, None] + sides[1][1][None, :]) % folds.count != fold
    sizes = np.bincount(sides[0][1], minlength=folds.count)
    grid = Grid((total[0], total[1]), (many[0], many[1]), sizes, there)
    return grid, sides[0][0], sides[1][0]


def _classes(group: Ints, clicks: Ints) -> tuple[Ints, Ints]:
    """The class of each, and the group of each class."""
    size = int(clicks.max(initial=0)) + 1
    known, cls = np.unique(group * size + clicks, return_inverse=True)
    return cls, known // size


def _round(clicks: Ints) -> Ints:
    """Large counts to within 2 %, less than a sixth of their noise."""
    step = np.floor(np.log(np.maximum(clicks, EXACT) / EXACT) / 0.02).astype(np.int64)
    return np.where(clicks <= EXACT, clicks, EXACT + 1 + step)


def _against(score: Floats) -> Floats:
    r""":math:`e^{-\eta}`, the odds against; those of a sum are a product of odds."""
    return np.exp(-np.clip(score, -350, 350))


def _likely(against: Floats) -> Floats:
    """The probability that has these odds against it, in their place."""
    against += 1
    return np.reciprocal(against, out=against)
