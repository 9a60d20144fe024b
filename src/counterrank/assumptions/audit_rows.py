"""What the audits read: the rows of a log, or of a fixed sample of its users, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from counterrank.arrays import Bools, Floats, Ints, codes, summed
from counterrank.assumptions.score_test import ratio
from counterrank.data.ids import hash_ids
from counterrank.ope.basis import Basis
from counterrank.ope.log import Sessions
from counterrank.ope.log_audit import MOST

DEEPEST = 50  # ranks below are taken together
PRIOR = 20.0  # views of an average item that a mean is shrunken by


@dataclass(frozen=True)
class Shown:
    r"""Rows, session by session in the order of ranks.

    Per session: ``cluster`` (its user, else itself), ``context``, ``half`` (0 or 1, by user) and
    ``turn``, its place in time, if known. Per row: ``session``, ``item``, ``rank``, ``reward``, and
    ``seen``, which is 0 or 1 where views are known and else :math:`c(r)` of the position model.
    ``alike`` numbers the rows that can be compared: an item in a context, or, where no context
    column was named, an item shown to a user. It is None if neither is known.
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
    modelled: bool
    share: float

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
        r"""Reward of a view of each item in its context, learnt from the other half of the users.

        :math:`\hat q(x, a) = (C_{xa} + \kappa \bar q_x) / (V_{xa} + \kappa)`, with sums of rewards
        :math:`C` and views :math:`V` and the context's mean :math:`\bar q_x`.
        """
        items = int(self.item.max()) + 1
        x = self.context[self.session]
        cell, cells = numbered(x * items + self.item)
        half, contexts = self.half[self.session], int(x.max()) + 1
        out = np.empty(len(cell))
        for own in (0, 1):
            there = half != own
            c, v = self.reward * there, self.seen * there
            mean = ratio(summed(x, c, contexts), summed(x, v, contexts))
            total, views = summed(cell, c, cells), summed(cell, v, cells)
            here = ~there
            out[here] = (total[cell[here]] + PRIOR * mean[x[here]]) / (views[cell[here]] + PRIOR)
        return out


def shown(sessions: Sessions, basis: Basis, reward: str, *, most: float = MOST) -> Shown:
    """The log's rows; of about ``most`` of them if there are more, those of some users."""
    n = sessions.n
    cluster = np.arange(n) if sessions.cluster is None else sessions.cluster
    ids = sessions.units if sessions.user is None else sessions.user
    share = most / sessions.blocks.frame.height
    keep = sessions.sampled(share)
    if not keep.any():  # a few users have all the rows
        keep = sessions.sampled(share, by="session")
    rows = slice(None) if keep.all() else np.repeat(keep, sessions.blocks.length)
    length = sessions.blocks.length[keep]
    session = np.repeat(np.arange(len(length)), length)
    item = sessions.items.lookup(sessions.item[rows])
    rank = sessions.column("rank", 0, n)[rows].astype(np.int64)
    context = sessions.context[keep]
    seen = np.ones(len(rank))
    if basis.views == "observed":
        seen = sessions.column("viewed", 0, n)[rows]
    elif basis.views == "latent" and basis.model is not None:
        seen = basis.at(rank, context[session])
    named, users = bool(sessions.log.contexts), sessions.cluster is not None
    key = context if named else cluster[keep] if users else None
    alike = None
    if key is not None:
        wide = int(item.max()) + 1
        alike = numbered(key[session] * wide + item)[0]
    return Shown(
        cluster=numbered(cluster[keep])[0],
        context=context,
        half=(hash_ids(ids.filter(pl.Series(keep))) & np.uint64(1)).astype(np.int64),
        turn=_turn(sessions, keep),
        session=session,
        item=item,
        rank=rank,
        reward=sessions.column(reward, 0, n)[rows],
        seen=seen,
        alike=alike,
        views=basis.views,
        users=users,
        named=named,
        modelled=basis.model is not None,
        share=float(keep.mean()),
    )


def numbered(key: Ints) -> tuple[Ints, int]:
    """Keys as numbers from 0, and how many; not every number need occur."""
    return codes(key, room=max(4 * len(key), 1 << 16))


def _turn(sessions: Sessions, keep: Bools) -> Ints | None:
    """Places in time: by ``timestamp``, else by ``day`` and numbered session, else unknown."""
    frame, start = sessions.blocks.frame, sessions.blocks.start[keep]
    order = np.arange(int(keep.sum()))
    for column in ("timestamp", "day"):
        if column in frame.columns:
            when = frame[column].gather(start).rank("dense").to_numpy().astype(np.int64)
            return np.argsort(np.lexsort((order, when)))
    names = sessions.units
    whole = names.dtype.is_integer() or names.cast(pl.Int64, strict=False).null_count() == 0
    return order if whole else None
