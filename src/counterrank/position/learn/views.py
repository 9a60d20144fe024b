"""Observed views: the share of rows that were viewed, rank by rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.position.learn.catalogue import Beside
from counterrank.position.learn.curve import Curve, InfluenceSpread, spread_by_cluster
from counterrank.position.learn.impressions import Impressions
from counterrank.position.learn.statistics import RankStatistics, counts


def count_views(data: Impressions) -> dict[str, Floats]:
    """Viewed rows at each rank, from 0."""
    return {"viewed": counts(data.rank, data.viewed)}


@dataclass(frozen=True)
class Views:
    r""":math:`\hat c(r) = V_r / n_r`, viewed rows over shown rows at rank r.

    A row's influence on it is :math:`(v - \hat c(r)) / n_r`; influences are summed by cluster.
    """

    shown: Floats
    viewed: Floats
    clusters: int

    @classmethod
    def of(cls, statistics: RankStatistics) -> Views:
        """From counts of all rows."""
        return cls(statistics.shown, statistics.sums["viewed"][1:], statistics.clusters)

    @property
    def c(self) -> Floats:
        """The share that was viewed."""
        return self.viewed / self.shown

    def spread(self, data: Impressions, beside: Beside | None) -> InfluenceSpread:
        """The influences of some clusters."""
        viewed = np.zeros(0) if data.viewed is None else data.viewed
        k = data.rank - 1
        return spread_by_cluster(
            data.cluster, k, (viewed - self.c[k]) / self.shown[k], len(self.shown)
        )

    def curve(self, spread: InfluenceSpread) -> Curve:
        """The table."""
        return Curve(
            self.c, spread.covariance, self.shown, self.viewed, relative=False,
            clusters=self.clusters,
        )  # fmt: skip
