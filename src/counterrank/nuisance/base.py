"""What every model of clicks or conversions has: a label, options, and a fit to some pairs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats, Ints, dot
from counterrank.core.errors import UsageError
from counterrank.core.labels import Value
from counterrank.nuisance.fitted_model import Effects, Folds

WEIGHT = ("none", "ctr")


@dataclass(frozen=True)
class Features:
    """A row of numbers for every user and item, in the order of their codes."""

    user: Floats | None = None
    item: Floats | None = None


@dataclass(frozen=True)
class Task:
    """What one fold's model learns from.

    ``user``, ``item``, ``y``, ``weight``: the rows outside the fold. With ``grid`` they are the
    clicked pairs and every other pair outside the fold has outcome 0.
    """

    user: Ints
    item: Ints
    y: Floats
    weight: Floats
    folds: Folds
    fold: int
    grid: bool
    link: str
    features: Features
    seed: int

    @property
    def users(self) -> int:
        """How many users there are."""
        return len(self.folds.user) - 1

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self.folds.item) - 1

    @property
    def noise(self) -> float:
        """Variance of an outcome, per unit of weight."""
        if self.grid:
            share = len(self.user) / max(self._pairs(), 1)
            return max(share * (1 - share), 1e-12)
        return outcome_variance(self.y, self.weight)

    def _pairs(self) -> float:
        """Pairs outside the fold."""
        h, g = self.folds.known()
        K = self.folds.count
        users, items = np.bincount(h, minlength=K), np.bincount(g, minlength=K)
        inside = sum(int(users[j] * items[(self.fold - j) % K]) for j in range(K))
        return float(self.users) * self.items - inside


class PairModel(Value):
    """A frozen dataclass; its label says all its options."""

    weight: str

    @property
    @abstractmethod
    def knows_users(self) -> bool:
        """Whether a user's own clicks on other items enter a prediction."""

    def link(self, link: str) -> str:
        """The link of its scores, given the one that outcomes ask for."""
        return link

    @abstractmethod
    def fit(self, task: Task) -> Effects:
        """The scores of one fold's model, an entry for the unknown last."""


def binary(model: PairModel, task: Task) -> None:
    """Refuse outcomes that are not 0 or 1, which only ``rates`` can model."""
    if task.link != "logit":
        raise UsageError(
            f'"{model}" takes conversions of 0 and 1.',
            found="This reward has other values.",
            todo="Use rates for it.",
        )


def outcome_variance(y: Floats, weight: Floats) -> float:
    """Variance of a weighted outcome per unit of weight: what uneven weights add is in it."""
    total = max(float(weight.sum()), 1e-300)
    average = dot(weight, y) / total
    return max(dot(weight**2, (y - average) ** 2) / total, 1e-12)


def examples(task: Task, sample: int) -> tuple[Ints, Ints, Floats, Floats]:
    r"""User, item, outcome and weight of the rows outside the task's fold.

    All pairs are laid out if there are at most :math:`m` of them. Otherwise :math:`m` of the
    :math:`N` pairs are drawn with replacement, whatever their click, and those drawn that were not
    clicked weigh :math:`N / m` beside all clicked ones, which weigh 1. So every pair counts once on
    average, and whether a pair was clicked changes nothing about the other rows.
    """
    if not task.grid:
        return task.user, task.item, task.y, task.weight
    pairs = task.users * task.items
    drawn = np.arange(pairs)
    if pairs > sample:
        drawn = np.sort(np.random.default_rng([task.seed, 23]).integers(0, pairs, sample))
    clicked = np.sort(task.user * task.items + task.item)
    place = np.minimum(np.searchsorted(clicked, drawn), max(len(clicked) - 1, 0))
    user, item = np.divmod(drawn, task.items)
    kept = task.folds.of(user, item) != task.fold
    if len(clicked):
        kept &= clicked[place] != drawn
    user, item = user[kept], item[kept]
    y = np.append(np.ones(len(clicked)), np.zeros(len(user)))
    weight = np.append(np.ones(len(clicked)), np.full(len(user), pairs / len(drawn)))
    return np.append(task.user, user), np.append(task.item, item), y, weight


def centre(y: Floats, weight: Floats) -> float:
    """The weighted share of ones, half a row from 0 and 1: where a fit starts or gives up."""
    total = float(weight.sum())
    return (float(weight @ y) + 0.5) / (total + 1)
