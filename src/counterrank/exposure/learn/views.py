"""Observed views: the share of rows that were viewed, rank by rank."""

from __future__ import annotations

import numpy as np

from counterrank.exposure.learn.clustered import covariance
from counterrank.exposure.learn.curve import Curve
from counterrank.exposure.learn.rows import Rows


def views(data: Rows) -> Curve:
    r""":math:`\hat c(r) = V_r / n_r`, viewed rows over shown rows at rank r.

    A row's influence on it is :math:`(v - \hat c(r)) / n_r`; influences are summed by cluster.
    """
    viewed = np.zeros(0) if data.viewed is None else data.viewed
    shown, seen = data.per_rank(), data.per_rank(viewed)
    c = seen / shown
    k = data.rank - 1
    influence = (viewed - c[k]) / shown[k]
    spread = covariance(data.cluster, k, influence, data.depth)
    return Curve(c, spread, shown, seen, False, data.clusters)
