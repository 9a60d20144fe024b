r"""Rates of items and users, shrunken.

``rates(by=item)`` and ``rates(by=user)`` are shrunken means (`nuisance/shrinkage.py`):
:math:`(c_i + \kappa \bar y) / (n_i + \kappa)`. ``rates``, by both, adds the effects of users and
items on the logit (`additive.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterrank.core.arrays import dot
from counterrank.core.errors import one_of
from counterrank.nuisance.additive import Margins, PairRows, effects, grid_outside_fold
from counterrank.nuisance.base import WEIGHT, Effects, PairModel, Task
from counterrank.nuisance.shrinkage import shrink_means

BY = ("both", "item", "user")


@dataclass(frozen=True)
class Rates(PairModel):
    """``by``: both, item or user; ``weight``: none, or ctr for conversions weighted by 1/ctr."""

    name: ClassVar[str] = "rates"
    by: str = "both"
    weight: str = "none"

    def __post_init__(self) -> None:
        one_of("rates(by=...)", self.by, BY)
        one_of("rates(weight=...)", self.weight, WEIGHT)

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
