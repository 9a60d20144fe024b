"""Randomised ranks: click rates compared with rank 1."""

from __future__ import annotations

import numpy as np

from counterrank.arrays import Ints, summed
from counterrank.exposure.learn.clustered import covariance
from counterrank.exposure.learn.curve import Curve
from counterrank.exposure.learn.rows import Rows


def swap(data: Rows, *, swapped: Ints | None = None) -> Curve:
    r""":math:`\hat c(k) = m_k / m_1`: click rate at rank k over click rate at rank 1.

    Where lists are shuffled, every rank shows the same mix of items. Where the items of ranks 1 and
    k are swapped by a coin (Joachims et al. 2017), these two ranks do, within the sessions of that
    coin: ``swapped`` holds that k in every row, and the rates are taken within each k.
    """
    depth = data.depth
    k = data.rank - 1
    if swapped is None:
        top, bottom = np.arange(depth), np.zeros(depth, np.int64)
        column = k
    else:
        use = (swapped > 1) & (swapped <= depth) & ((data.rank == swapped) | (k == 0))
        data, k, swapped = data.only(use), k[use], swapped[use]
        top, bottom = np.arange(depth), depth + np.arange(depth)
        column = np.where(k == 0, depth + swapped - 1, k)
        bottom[0] = top[0]
    columns = int(max(top.max(), bottom.max())) + 1
    shown = summed(column, np.ones(len(column)), columns)
    clicks = summed(column, data.reward, columns)
    rate = clicks / np.maximum(shown, 1)
    rate[shown == 0] = 1.0  # rank 1 compared with itself in no coin of its own
    influence = (data.reward - rate[column]) / (shown * rate)[column]
    logs = covariance(data.cluster, column, influence, columns)
    c = rate[top] / rate[bottom]
    turn = np.zeros((depth, columns))
    turn[np.arange(depth), top] += 1
    turn[np.arange(depth), bottom] -= 1
    spread = turn @ logs @ turn.T * np.outer(c, c)
    return Curve(
        c, spread, summed(k, np.ones(len(k)), depth), summed(k, data.reward, depth), True,
        data.clusters,
    )  # fmt: skip
