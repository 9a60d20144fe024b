"""What every model of clicks or conversions has: a label, its fields as options, and a fit."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats, Ints, dot
from counterrank.core.errors import UsageError
from counterrank.core.labels import Value
from counterrank.nuisance.fitted_model import Effects
from counterrank.nuisance.folds import Folds

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
