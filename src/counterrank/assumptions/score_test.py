r"""What the audits share: the rows of a log as arrays, and the statistics of what is left of them.

Under the assumptions :math:`E[y_i] = w_i\, q_{g(i)}\, \kappa_{r(i)}` with a view or its chance
:math:`w`, a quality :math:`q` of each group of comparable rows and a factor :math:`\kappa` of each
rank. If something else, :math:`z_i`, plays no part, then :math:`\sum_i (y_i - \hat y_i) z_i` is 0
up to noise. That is the score test of a Poisson regression; its noise is measured between users.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from counterrank.core.arrays import Floats, Ints, codes, sum_by

SURE = 3.3  # standard errors; chance alone goes further about once in 1,000 audits
ROUNDS = 6
DEEPEST = 50  # ranks below are taken together
MATTERS = 1.3  # standard errors of the mean reward: about two of a lift, which pairs sessions
PART = 2.5  # a target moves 1 / 2.5 of its exposure, or less, between items or loggers that differ
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
    def n(self) -> int:
        """Number of sessions."""
        return len(self.cluster)

    @cached_property
    def clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster.max()) + 1

    @cached_property
    def of_row(self) -> Ints:
        """The cluster of each row."""
        return np.take(self.cluster, self.session)

    @cached_property
    def context_of_row(self) -> Ints:
        """The context of each row."""
        return np.take(self.context, self.session)

    @cached_property
    def again(self) -> Ints | None:
        """The same number for rows that show one item to one user in one context."""
        if self.alike is None or not self.users:
            return None
        return number_keys(self.alike * self.clusters + self.of_row)[0]

    def by_session(self, row: Floats) -> Floats:
        """Sums of what each row has, by session."""
        return sum_by(self.session, row, self.n)

    @cached_property
    def earned(self) -> Floats:
        """The reward of each session."""
        return self.by_session(self.reward)

    @cached_property
    def expected(self) -> Floats:
        """The reward of each session by what its items earn elsewhere."""
        return self.by_session(self.seen * self.quality)

    @cached_property
    def harmless(self) -> float:
        r"""Two standard errors of a lift, about, by those of the mean reward.

        .. math:: 1.3 \sqrt{\textstyle\sum_u (Y_u - n_u \bar y)^2} \Big/ \textstyle\sum_u Y_u

        with the reward :math:`Y_u` of a user's :math:`n_u` sessions and the mean :math:`\bar y`.
        """
        total = float(self.reward.sum())
        left = self.earned - total / self.n
        return MATTERS * noise(left, self.cluster) / total if total > 0 else math.inf

    def usual(self, session: Floats) -> Floats:
        """What sessions of each session's context have on average."""
        sums = sum_by(self.context, session, int(self.context.max()) + 1)
        return positive_ratio(sums, np.bincount(self.context).astype(float))[self.context]

    @cached_property
    def depth(self) -> Ints:
        """The rank as a number from 0, deep ones together; by context where one was named."""
        rank = np.minimum(self.rank, DEEPEST) - 1
        if not self.named or (int(self.context.max()) + 1) * DEEPEST * 20 > len(rank):
            return rank
        each: Ints = self.context_of_row * DEEPEST + rank
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
    def quality(self) -> Floats:
        """Reward of a view of each item in its context, by the other half of the users."""
        return self.half_quality(own=False, prior=PRIOR)

    @cached_property
    def mine(self) -> tuple[Ints, int]:
        """The number of each row's item in its context for its user, and how many there are."""
        cell = number_keys(self.context_of_row * (int(self.item.max()) + 1) + self.item)[0]
        return number_keys(cell * self.clusters + self.of_row)

    def half_quality(self, *, own: bool, prior: float) -> Floats:
        r"""Reward of a view of each row's item in its context, by the row's half of the users.

        :math:`\hat q(x, a) = (C_{xa} + \kappa \bar q_x) / (V_{xa} + \kappa)`, with sums of rewards
        :math:`C` and views :math:`V`, the context's mean :math:`\bar q_x` and a ``prior`` kappa. It
        is by the other half or, without the row's user, by its ``own``.
        """
        x = self.context_of_row
        cell, cells = number_keys(x * (int(self.item.max()) + 1) + self.item)
        half, contexts = self.half[self.session], int(x.max()) + 1
        out = np.empty(len(cell))
        for side in (0, 1):
            there = (half == side) == own
            c, v = self.reward * there, self.seen * there
            mean = positive_ratio(sum_by(x, c, contexts), sum_by(x, v, contexts))
            total, views = sum_by(cell, c, cells)[cell], sum_by(cell, v, cells)[cell]
            if own:
                total -= sum_by(self.mine[0], c, self.mine[1])[self.mine[0]]
                views -= sum_by(self.mine[0], v, self.mine[1])[self.mine[0]]
            here = half == side
            out[here] = ((total + prior * mean[x]) / (views + prior))[here]
        return out


def number_keys(key: Ints) -> tuple[Ints, int]:
    """Keys as numbers from 0, and how many; not every number need occur."""
    return codes(key, room=max(4 * len(key), 1 << 16))


# the score test


@dataclass(frozen=True)
class Effect:
    """An effect and its standard error."""

    size: float
    se: float

    @classmethod
    def of_sum(cls, score: Floats, cluster: Ints, unit: float) -> Effect:
        r""":math:`\sum_i s_i`, by `noise`, over a ``unit``; nothing is known without one."""
        if not unit > 0:
            return cls(0.0, 0.0)
        return cls(float(score.sum()) / unit, noise(score, cluster) / unit)

    @property
    def z(self) -> float:
        """Standard errors away from nothing."""
        return self.size / self.se if self.se > 0 else 0.0

    @property
    def known(self) -> bool:
        """Whether anything could be compared at all."""
        return self.se > 0

    @property
    def visible(self) -> float:
        """The effect that would have been noticed four times out of five."""
        return (SURE + 0.84) * self.se

    def verdict(self, caution: float, fail: float) -> str:
        """Loud if it is there beyond chance and large enough to matter."""
        size = abs(self.size)
        if abs(self.z) < SURE or size < caution:
            return "pass"
        return "fail" if size >= fail else "caution"

    def equivalence(self, room: float, fail: float) -> str:
        """The state of an effect that does not matter within ``room`` of 0.

        A test that does not reject shows nothing by itself: it passes where its whole interval is
        too small to matter (two one-sided tests, Schuirmann 1987), is loud where it is beyond
        chance, and untested in between.
        """
        if self.known and abs(self.size) + 1.96 * self.se <= room:
            return "pass"
        if abs(self.z) < SURE:
            return "untested"
        return "fail" if abs(self.size) >= fail else "caution"


def noise(score: Floats, cluster: Ints) -> float:
    r""":math:`\sqrt{\sum_u (\sum_{i \in u} s_i)^2}`, the noise of a sum of scores of users."""
    by_cluster = sum_by(cluster, score, int(cluster.max(initial=0)) + 1)
    return math.sqrt(float(by_cluster @ by_cluster))


class Fit(NamedTuple):
    """Fitted rewards and what is left of the reward."""

    expected: Floats
    left: Floats


def fit_product(y: Floats, w: Floats, group: Ints, rank: Ints | None = None) -> Fit:
    r"""Fit :math:`\hat y = w\, q_g\, \kappa_r`, in turns until sums over groups and ranks agree.

    Without ``rank`` all :math:`\kappa` are 1 and :math:`q_g = \sum y / \sum w`.
    """
    groups = int(group.max()) + 1
    total = sum_by(group, y, groups)
    expected = w * positive_ratio(total, sum_by(group, w, groups))[group]
    if rank is None:
        return Fit(expected, y - expected)
    ranks = int(rank.max()) + 1
    wanted = sum_by(rank, y, ranks)
    for _ in range(ROUNDS):
        expected *= positive_ratio(wanted, sum_by(rank, expected, ranks))[rank]
        expected *= positive_ratio(total, sum_by(group, expected, groups))[group]
    return Fit(expected, y - expected)


def remove_means(z: Floats, weight: Floats, *groups: Ints) -> Floats:
    """``z`` less its weighted means by each grouping, in turns."""
    z = z.copy()
    for _ in range(ROUNDS if len(groups) > 1 else 1):
        for group in groups:
            size = int(group.max()) + 1
            z -= positive_ratio(sum_by(group, weight * z, size), sum_by(group, weight, size))[group]
    return z


def effect(
    left: Floats, weight: Floats, z: Floats, cluster: Ints, contrast: tuple[float, ...] = (1.0,)
) -> Effect:
    r"""A contrast :math:`a^\top \hat\beta` of the slopes on the columns of ``z``.

    .. math:: \hat\beta = H^{-1} \sum_i e_i z_i, \quad H = \sum_i \omega_i z_i z_i^\top, \quad
              \operatorname{var} = H^{-1} \Big(\sum_u s_u s_u^\top\Big) H^{-1}, \quad
              s_u = \sum_{i \in u} e_i z_i

    with what is left :math:`e`, weights :math:`\omega` (the fitted rewards) and users :math:`u`.
    """
    z = z.reshape(len(left), -1)
    a = np.asarray(contrast)
    inverse = np.linalg.pinv((z * weight[:, None]).T @ z, rcond=1e-10)
    clusters = int(cluster.max()) + 1
    scores = np.stack([sum_by(cluster, left * column, clusters) for column in z.T], axis=1)
    variance = a @ inverse @ (scores.T @ scores) @ inverse @ a
    return Effect(float(a @ inverse @ scores.sum(axis=0)), math.sqrt(max(float(variance), 0.0)))


def positive_ratio(top: Floats, bottom: Floats) -> Floats:
    """Quotients, 0 where there is nothing to divide by."""
    out: Floats = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
    return out
