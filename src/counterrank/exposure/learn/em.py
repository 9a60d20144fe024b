"""The position-based model with a relevance for every item, fitted by EM."""

from __future__ import annotations

import numpy as np

from counterrank.exposure.learn import pbm
from counterrank.exposure.learn.clustered import spread
from counterrank.exposure.learn.curve import Curve
from counterrank.exposure.learn.rows import Rows, cells, moved


def em(data: Rows) -> Curve:
    r"""Examination :math:`c_k` and relevance :math:`\gamma_j` by maximum likelihood.

    .. math:: P(C = 1 \mid j, k) = c_k\,\gamma_j

    Only items shown at several ranks are used; the others fit any curve. The clicks of a cell
    (item and rank) are all that the likelihood needs. Intervals: sandwich, clustered.
    """
    data = data.only(moved(data))
    cell = cells(data)
    c, gamma = pbm.solve(cell.item, cell.rank - 1, cell.clicks, cell.shown)
    score, schur = pbm.directions(cell.item, cell.rank - 1, cell.shown, c, gamma)
    fitted = c[cell.rank - 1] * gamma[cell.item]
    info = fitted / np.maximum(1 - fitted, 1e-9)
    share = info / np.maximum(np.bincount(cell.item, cell.shown * info)[cell.item], 1e-300)
    wide = 1 / np.sqrt(1 - np.minimum(share, 0.9))
    residual = (data.reward - fitted[cell.of]) * wide[cell.of]
    meat = spread(data.cluster, cell.of, residual, score)
    covariance = pbm.log_covariance(schur, meat) * np.outer(c, c)
    return Curve(c, covariance, data.per_rank(), data.per_rank(data.reward), True, data.clusters)
