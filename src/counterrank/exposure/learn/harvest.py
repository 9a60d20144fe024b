"""Intervention harvesting: the same item at several ranks, as rankers change (AllPairs)."""

from __future__ import annotations

import numpy as np

from counterrank.arrays import Floats, Ints, ranges, renumbered, summed
from counterrank.exposure.learn import pbm
from counterrank.exposure.learn.clustered import spread
from counterrank.exposure.learn.curve import Curve
from counterrank.exposure.learn.rows import Cells, Rows, cells, moved


def harvest(data: Rows) -> Curve:
    r"""AllPairs (Agarwal et al. 2019): :math:`c_k` from items shown both at k and at k'.

    For each pair of ranks, each item :math:`j` shown :math:`n_{jk}` times at k and
    :math:`n_{jk'}` times at k' gets one weight :math:`v` at both ranks, which makes its relevance
    the same on both sides. A click at k counts :math:`v / n_{jk}`: inverse to its share of
    impressions. Then

    .. math:: \max_{c, r} \sum_{k \ne k'} \hat C_{kk'} \log(c_k r_{kk'}) +
              (W_{kk'} - \hat C_{kk'}) \log(1 - c_k r_{kk'})

    with :math:`\hat C_{kk'}` the weighted clicks at k, :math:`W_{kk'} = \sum_j v`, and
    :math:`r_{kk'} = r_{k'k}` the mean relevance of the items of that pair. The paper takes
    :math:`v = 1`; we take :math:`v = n_{jk} n_{jk'} / (n_{jk} + n_{jk'})`, which has the same
    expectation and lets a thousand impressions count for more than one.
    """
    from scipy.sparse import csr_array

    data = data.only(moved(data))
    cell = cells(data)
    first, second = _partners(cell)
    weight = cell.shown[second] / (cell.shown[first] + cell.shown[second])
    k, other = cell.rank[first] - 1, cell.rank[second] - 1
    depth = cell.depth
    code = np.minimum(k, other) * depth + np.maximum(k, other)
    entries, of = renumbered(code * depth + k)
    pair = renumbered(entries // depth)[1]
    rank = entries % depth
    shown = summed(of, weight * cell.shown[first], len(entries))
    clicks = summed(of, weight * cell.clicks[first], len(entries))
    c, r = pbm.solve(pair, rank, clicks, shown)
    score, schur = pbm.directions(pair, rank, shown, c, r)
    to_entry = csr_array((weight, (first, of)), shape=(len(cell.item), len(entries)))
    direction = np.asarray(to_entry @ score)
    meat = spread(data.cluster, cell.of, residuals(data, cell, c), direction)
    covariance = pbm.log_covariance(schur, meat) * np.outer(c, c)
    return Curve(
        c, covariance, data.per_rank(), data.per_rank(data.reward), True, data.clusters
    )  # fmt: skip


def residuals(data: Rows, cell: Cells, c: Floats) -> Floats:
    r"""Reward minus :math:`c_k \hat\gamma_j`, a little larger where few rows made the estimate.

    :math:`\hat\gamma_j = \sum_k C_{jk} / \sum_k n_{jk} c_k`. A row has the share
    :math:`h = c_k / \sum_k n_{jk} c_k` in it; dividing by :math:`\sqrt{1 - h}` makes up for that.
    """
    exposed = summed(cell.item, cell.shown * c[cell.rank - 1], cell.items)
    gamma = summed(cell.item, cell.clicks, cell.items) / exposed
    fitted = c[cell.rank - 1] * gamma[cell.item]
    share = c[cell.rank - 1] / exposed[cell.item]
    wide: Floats = 1 / np.sqrt(1 - np.minimum(share, 0.9))
    return (data.reward - fitted[cell.of]) * wide[cell.of]


def _partners(cell: Cells) -> tuple[Ints, Ints]:
    """Every ordered pair of cells of one item; cells are sorted by item."""
    size = np.bincount(cell.item)
    start = np.cumsum(size) - size
    many = size[cell.item]
    first = np.repeat(np.arange(len(cell.item)), many)
    second = ranges(start[cell.item], many)
    return first[first != second], second[first != second]
