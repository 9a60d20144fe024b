"""Observed views: the share of rows that were viewed, rank by rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats
from counterrank.exposure.learn.clustered import Spread, covariance
from counterrank.exposure.learn.curve import Curve
from counterrank.exposure.learn.facts import Facts, counted
from counterrank.exposure.learn.rows import Rows


def views(data: Rows) -> Curve:
    r""":math:`\hat c(r) = V_r / n_r`, viewed rows over shown rows at rank r.

    A row's influence on it is :math:`(v - \hat c(r)) / n_r`; influences are summed by cluster.
    """
    solved = Views.of(Facts.of(data, seen(data)))
    return solved.curve(solved.spread(data))


def seen(data: Rows) -> dict[str, Floats]:
    """Viewed rows at each rank, from 0."""
    return {"viewed": counted(data.rank, data.viewed)}


@dataclass(frozen=True)
class Views:
    """Rows and viewed rows at each rank."""

    shown: Floats
    viewed: Floats
    clusters: int

    @classmethod
    def of(cls, facts: Facts) -> Views:
        """From counts of all rows."""
        return cls(facts.shown, facts.sums["viewed"][1:], facts.clusters)

    def spread(self, data: Rows) -> Spread:
        """The influences of some clusters."""
        viewed = np.zeros(0) if data.viewed is None else data.viewed
        k = data.rank - 1
        influence = (viewed - (self.viewed / self.shown)[k]) / self.shown[k]
        return covariance(data.cluster, k, influence, len(self.shown))

    def curve(self, spread: Spread) -> Curve:
        """The table."""
        return Curve(
            self.viewed / self.shown, spread.covariance, self.shown, self.viewed, False,
            self.clusters,
        )  # fmt: skip
