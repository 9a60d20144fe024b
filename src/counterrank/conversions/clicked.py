"""The arrays every estimator of conversions reads: one bucket of lists, their clicked pairs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from counterrank.arrays import Floats, Ints, summed
from counterrank.ope.weighted import Weighted


@dataclass(frozen=True)
class Clicked(Weighted):
    r"""Listed pairs that were clicked, for one reward and one measure.

    A click is to a listed pair what a view is to a shown row: it happened with probability ``e0``
    (the ctr :math:`p`), and only then is ``reward`` :math:`y` known. ``e`` is :math:`c(rank)`,
    ``q`` the predicted cvr :math:`h`. Per list: ``views`` :math:`\sum_i c(rank_i)` and ``direct``
    :math:`\sum_i h_i\, c(rank_i)` over all that is listed, clicked or not.
    """

    lists: int
    unit: Ints
    reward: Floats
    e: Floats
    e0: Floats
    q: Floats
    views: Floats
    direct: Floats
    place: Floats = field(default_factory=lambda: np.empty(0))
    memo: dict[tuple[str, float], Floats] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of lists."""
        return self.lists

    @property
    def seen(self) -> Floats:  # type: ignore[override]
        """All rows were clicked."""
        return np.ones(len(self.unit))

    def total(self, x: Floats) -> Floats:
        """Sum of ``x`` over the clicked pairs of each list."""
        return summed(self.unit, x, self.lists)
