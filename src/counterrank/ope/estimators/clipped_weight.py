r"""The importance weight and its clip: how much more a target shows a row than the log did.

Notation: sessions :math:`\tau`, rows :math:`i`, reward :math:`c_i`, exposure :math:`e_i` under the
target and :math:`e_{0i}` under the logger, weight :math:`w_i = e_i \min(m, 1/e_{0i})` clipped at
:math:`m`, view :math:`v_i` (its probability at the logged rank where views are latent).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from counterrank.core.arrays import Floats, Ints, products_before

CLIPS = (*(float(2**j) for j in range(13)), float("inf"))  # of a sweep


class Weighted(ABC):
    r"""What importance weighting reads: rows that were seen, and how much a target shows them.

    Per row: ``reward``; ``e`` and ``e0``, its chance under the target and under the logger;
    ``seen``; ``q``, the predicted reward; ``place``. Per unit: ``views``, all that the target
    shows, and ``direct``, what a model says that earns.
    """

    reward: Floats
    e: Floats
    e0: Floats
    seen: Floats
    q: Floats
    place: Floats
    views: Floats
    direct: Floats
    memo: dict[tuple[str, float], Floats]

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of units."""

    @abstractmethod
    def total(self, x: Floats) -> Floats:
        """Sum of ``x`` over the rows of each unit."""

    def inverse(self, clip: float) -> Floats:
        r""":math:`\min(m, 1 / e_{0i})`; 0 for rows that could not be seen at all."""
        sure = np.divide(1, self.e0, out=np.zeros(len(self.e0)), where=self.e0 > 0)
        return np.minimum(clip, sure)

    def weight(self, clip: float) -> Floats:
        r""":math:`w_i = e_i \min(m, 1 / e_{0i})`, the importance weight clipped at :math:`m`.

        Rows that could not be seen at all (:math:`e_0 = 0`) weigh nothing.
        """
        return self._once("weight", clip, lambda: self.e * self.inverse(clip))

    def weighted_views(self, clip: float) -> Floats:
        r""":math:`\sum_i v_i w_i` of each unit."""
        return self._once("views", clip, lambda: self.total(self.seen * self.weight(clip)))

    def _once(self, name: str, clip: float, compute: Callable[[], Floats]) -> Floats:
        """What several estimators use, computed for the first of them."""
        if (name, clip) not in self.memo:
            self.memo[name, clip] = compute()
        return self.memo[name, clip]


@dataclass(frozen=True)
class Rows(Weighted):
    r"""Logged rows, session by session, for one reward and one target.

    Per row :math:`i`: ``reward`` :math:`c_i`; ``e`` and ``e0``, the exposure of its item under
    target and logger; ``seen``, whether it was viewed, or how likely that was; ``q``, the
    predicted reward of a view; ``cell``, the target's cell it meets (-1: none), whose rank is in
    ``cell_rank`` (0: not one list); ``place``, the exposure of the 1st, 2nd, ... rank of the
    session, whatever stood there.
    Per session: ``start``, its first row; ``views``, the target's expected number of views
    :math:`\sum_a e(x, a)`; ``direct``, :math:`\sum_a e(x, a)\, \hat q(x, a)`.
    For slates, per row: ``rank``; ``future``, the predicted reward from this rank on; ``ahead``,
    its expectation over the items the target may show at this rank. ``ranks`` is the log's deepest.
    ``other`` are the same rows under the ranker it is compared with, where that was not the logger.
    """

    start: Ints
    reward: Floats
    e: Floats
    e0: Floats
    seen: Floats
    q: Floats
    cell: Ints
    cell_rank: Ints
    place: Floats
    views: Floats
    direct: Floats
    rank: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    ranks: int = 0
    future: Floats = field(default_factory=lambda: np.empty(0))
    ahead: Floats = field(default_factory=lambda: np.empty(0))
    other: Rows | None = None
    memo: dict[tuple[str, float], Floats] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of sessions."""
        return len(self.start)

    @property
    def length(self) -> Ints:
        """Number of rows of each session."""
        return np.diff(self.start, append=len(self.e))

    @property
    def target_rank(self) -> Ints:
        """Rank of each row's item in the target's list; 0 if it is not listed."""
        return np.append(self.cell_rank, 0)[self.cell]

    def total(self, x: Floats) -> Floats:
        """Sum of ``x`` over the rows of each session."""
        return np.add.reduceat(x, self.start)

    @property
    def session(self) -> Ints:
        """Session of each row, counted from 0."""
        return np.repeat(np.arange(self.n), self.length)

    def product(self, x: Floats) -> Floats:
        """Product of ``x`` over the rows of each session."""
        return np.multiply.reduceat(x, self.start)

    def before(self, clip: float) -> Floats:
        r""":math:`W_{r-1} = \prod_{s < r} w_s` of each row's session; 1 for the first row."""
        products = lambda: products_before(self.length, self.weight(clip))  # noqa: E731
        return self._once("before", clip, products)

    def through(self, clip: float) -> Floats:
        r""":math:`W_r = \prod_{s \le r} w_s` of each row's session."""
        return self.before(clip) * self.weight(clip)

    def by_rank(self, w: Floats) -> list[Floats]:
        """Weighted reward, weight and presence of each rank: three columns per rank."""
        grid = np.zeros((3, self.ranks, self.n))
        grid[:, self.rank - 1, self.session] = w * self.reward, w, np.ones(len(w))
        return list(grid.reshape(-1, self.n))


# what every estimator of a target's value has in common
