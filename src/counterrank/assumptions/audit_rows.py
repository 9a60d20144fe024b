"""What the audits read: the rows of a log, or of a fixed sample of its users, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterrank.assumptions.score_test import positive_ratio
from counterrank.core.arrays import Floats, Ints, codes, sum_by

DEEPEST = 50  # ranks below are taken together
PRIOR = 20.0  # views of an average item that a mean is shrunken by


@dataclass(frozen=True)
class AuditRows:
    r"""Rows, session by session in the order of ranks.

    Per session: ``cluster`` (its user, else itself), ``context``, ``half`` (0 or 1, by user) and
    ``turn``, its place in time, if known. Per row: ``session``, ``item``, ``rank``, ``reward``, and
    ``seen``, which is 0 or 1 where views are known and else :math:`c(r)` of the position model.
    ``alike`` numbers the rows that can be compared: an item in a context, or, where no context
    column was named, an item shown to a user. It is None if neither is known. ``curves`` are
    :math:`c(r)` of the position model, contexts x ranks, if one is given.
    """

    cluster: Ints
    context: Ints
    half: Ints
    turn: Ints | None
    session: Ints
    item: Ints
    rank: Ints
    reward: Floats
    seen: Floats
    alike: Ints | None
    views: str
    users: bool
    named: bool
    curves: Floats | None

    @property
    def modelled(self) -> bool:
        """Whether there is a position model."""
        return self.curves is not None

    @property
    def n(self) -> int:
        """Number of sessions."""
        return len(self.cluster)

    @cached_property
    def of_row(self) -> Ints:
        """The cluster of each row."""
        each: Ints = self.cluster[self.session]
        return each

    @cached_property
    def depth(self) -> Ints:
        """The rank as a number from 0, deep ones together; by context where one was named."""
        rank = np.minimum(self.rank, DEEPEST) - 1
        if not self.named or (int(self.context.max()) + 1) * DEEPEST * 20 > len(rank):
            return rank
        each: Ints = self.context[self.session] * DEEPEST + rank
        return each

    @cached_property
    def patience(self) -> Floats:
        """How likely a row is seen by its rank alone: the share of views, or the model's.

        Where only viewed rows were logged, each counts the same share of the session's.
        """
        if self.views == "rows":
            return 1 / np.bincount(self.session)[self.session]
        if self.views == "latent":
            return self.seen
        count = np.maximum(np.bincount(self.depth), 1)
        share: Floats = (np.bincount(self.depth, self.seen) / count)[self.depth]
        return share

    @cached_property
    def worth(self) -> Floats:
        r"""Reward of a view of each item in its context, learned from the other half of the users.

        :math:`\hat q(x, a) = (C_{xa} + \kappa \bar q_x) / (V_{xa} + \kappa)`, with sums of rewards
        :math:`C` and views :math:`V` and the context's mean :math:`\bar q_x`.
        """
        items = int(self.item.max()) + 1
        x = self.context[self.session]
        cell, cells = number_keys(x * items + self.item)
        half, contexts = self.half[self.session], int(x.max()) + 1
        out = np.empty(len(cell))
        for own in (0, 1):
            there = half != own
            c, v = self.reward * there, self.seen * there
            mean = positive_ratio(sum_by(x, c, contexts), sum_by(x, v, contexts))
            total, views = sum_by(cell, c, cells), sum_by(cell, v, cells)
            here = ~there
            out[here] = (total[cell[here]] + PRIOR * mean[x[here]]) / (views[cell[here]] + PRIOR)
        return out


def number_keys(key: Ints) -> tuple[Ints, int]:
    """Keys as numbers from 0, and how many; not every number need occur."""
    return codes(key, room=max(4 * len(key), 1 << 16))
