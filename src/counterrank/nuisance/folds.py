r"""Who predicts whom: no model is asked about a pair whose click it has seen.

Users and items are dealt into :math:`K` groups each, :math:`h(u)` and :math:`g(i)`, by a shuffle of
their places among the sorted ids. Pair :math:`(u, i)` is in fold :math:`h(u) + g(i) \bmod K`, and
the model of a fold learns from the pairs of the other folds.

``user``: all items are in one group, so a user's clicks never enter a prediction for that user.
``pair``: for models that know the user. A user's clicks on items of one group are predicted from
those on items of the other groups; an item's likewise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Ints
from counterrank.core.errors import UsageError


@dataclass(frozen=True)
class Folds:
    """Groups of users and items; the last of each is the group of any unknown one."""

    by: str
    count: int
    user: Ints
    item: Ints

    def of(self, user: Ints, item: Ints) -> Ints:
        """The fold of each pair."""
        fold: Ints = (self.user[user] + self.item[item]) % self.count
        return fold

    def known(self) -> tuple[Ints, Ints]:
        """Groups of the known users and items alone."""
        return self.user[:-1], self.item[:-1]


def dealt(users: int, items: int, *, by: str, folds: int, seed: int) -> Folds:
    """Groups of sizes that differ by one at most, the same for the same seed and sizes."""
    if not 2 <= folds <= max(users, 2):
        raise UsageError(
            f"folds cannot be {folds}.",
            found=f"There are {users:,} users.",
            todo="Give at least 2 and no more than there are users.",
        )
    random = np.random.default_rng([seed, 17])
    user = np.append(random.permutation(users) % folds, 0)
    item = np.append(random.permutation(items) % folds, 0)
    return Folds(by, folds, user, item if by == "pair" else np.zeros_like(item))
