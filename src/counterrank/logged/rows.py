"""The arrays every estimator reads: one bucket of sessions, logged rows beside their target."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from counterrank.arrays import Floats, Ints


@dataclass(frozen=True)
class Rows:
    r"""Logged rows, session by session, for one reward and one target.

    Per row :math:`i`: ``reward`` :math:`c_i`; ``e`` and ``e0``, the exposure of its item under
    target and logger; ``seen``, whether it was viewed, or how likely that was; ``q``, the
    predicted reward of a view; ``target_rank`` (0: not listed, or not one list); ``place``, the
    exposure of the 1st, 2nd, ... rank of the session, whatever stood there.
    Per session: ``start``, its first row; ``views``, the target's expected number of views
    :math:`\sum_a e(x, a)`; ``direct``, :math:`\sum_a e(x, a)\, \hat q(x, a)`.
    """

    start: Ints
    reward: Floats
    e: Floats
    e0: Floats
    seen: Floats
    q: Floats
    target_rank: Ints
    place: Floats
    views: Floats
    direct: Floats
    memo: dict[float, Floats] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of sessions."""
        return len(self.start)

    @property
    def length(self) -> Ints:
        """Number of rows of each session."""
        return np.diff(self.start, append=len(self.reward))

    def total(self, x: Floats) -> Floats:
        """Sum of ``x`` over the rows of each session."""
        return np.add.reduceat(x, self.start)

    def weight(self, clip: float) -> Floats:
        r""":math:`w_i = e_i \min(m, 1 / e_{0i})`, the importance weight clipped at :math:`m`.

        Rows that could not be seen at all (:math:`e_0 = 0`) weigh nothing.
        """
        if clip not in self.memo:
            inverse = np.divide(1, self.e0, out=np.zeros(len(self.e0)), where=self.e0 > 0)
            self.memo[clip] = self.e * np.minimum(clip, inverse)
        return self.memo[clip]
