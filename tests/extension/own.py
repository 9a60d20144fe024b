"""Classes as a user writes them, outside the package."""

from __future__ import annotations

import numpy as np

import counterrank as cr


@cr.register
class Halves(cr.Measure):
    """The ratings of the first k items, each half of what the rank above would count."""

    by: float = 2
    name = "Halves"
    conversions = "some"
    linear = True
    bounded = False

    def worth(self, hits, pool):
        deep = np.inf if self.k is None else self.k
        return hits.rating * self.by ** (1.0 - hits.rank) * (hits.rank <= deep)

    def rank_weights(self):
        return Halving(k=self.k, by=self.by), 1.0


@cr.register
class Halving(cr.PositionModel):
    """Each rank is seen half as often as the one above."""

    by: float = 2
    name = "halving"

    def weight(self, rank):
        return self.by ** (1.0 - np.asarray(rank, float))


@cr.register
class Tempered(cr.Estimator):
    """mean over sessions of sum_i c_i w_i^power"""

    power: float = 0.5
    name = "Tempered"

    def columns(self, rows):
        return [rows.total(rows.reward * rows.weight(float("inf")) ** self.power)]
