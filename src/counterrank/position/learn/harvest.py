"""Intervention harvesting: the same item at several ranks, as rankers change (AllPairs)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats, Ints, ranges, renumber, sum_by
from counterrank.position.learn import em
from counterrank.position.learn.curve import Curve, Influence, InfluenceSpread
from counterrank.position.learn.impressions import Catalogue, Impressions, ItemRows


@dataclass(frozen=True)
class Harvest:
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

    ``entries`` are pairs of ranks with the first of them, as numbers, ``score`` how a residual of
    each moves log c, ``schur`` the information about ranks.
    """

    c: Floats
    entries: Ints
    score: Floats
    schur: Floats
    shown: Floats
    clicks: Floats

    @classmethod
    def of(cls, cell: Catalogue) -> Harvest:
        """From the cells of items that moved."""
        depth = cell.depth
        first, weight, code = _paired(cell, depth)
        entries, of = renumber(code)
        pair, rank = renumber(entries // depth)[1], entries % depth
        shown = sum_by(of, weight * cell.shown[first], len(entries))
        clicks = sum_by(of, weight * cell.clicks[first], len(entries))
        c, r = em.solve(pair, rank, clicks, shown)
        score = em.directions(pair, rank, shown, c, r)
        schur = em.rank_information(pair, rank, shown, c, r)
        return cls(c, entries, score, schur, *cell.by_rank())

    def influence(self, data: Impressions, items: ItemRows | None) -> Influence:
        """The influences of some clusters, from all cells of their items."""
        from scipy.sparse import csr_array

        assert items is not None
        cell = items.catalogue
        first, weight, code = _paired(cell, len(self.c))
        of = np.searchsorted(self.entries, code)
        to_entry = csr_array((weight, (first, of)), shape=(len(cell.item), len(self.entries)))
        direction = np.asarray(to_entry @ self.score)
        return items.influence(*expected_clicks(cell, self.c), direction)

    def curve(self, spread: InfluenceSpread) -> Curve:
        """The table, with the sandwich."""
        return em.relative_curve(self.c, self.schur, spread, self.shown, self.clicks)


def expected_clicks(cell: Catalogue, c: Floats) -> tuple[Floats, Floats]:
    r""":math:`c_k \hat\gamma_j` of each cell, and what residuals are multiplied by.

    :math:`\hat\gamma_j = \sum_k C_{jk} / \sum_k n_{jk} c_k`. A row has the share
    :math:`h = c_k / \sum_k n_{jk} c_k` in it; dividing by :math:`\sqrt{1 - h}` makes up for that.
    """
    seen = c[cell.rank - 1]
    exposed = cell.per_item(cell.shown * seen)
    gamma = cell.per_item(cell.clicks) / exposed
    wide: Floats = 1 / np.sqrt(1 - np.minimum(seen / exposed[cell.item], 0.9))
    return seen * gamma[cell.item], wide


def _paired(cell: Catalogue, depth: int) -> tuple[Ints, Floats, Ints]:
    """Ordered pairs of cells of one item: the first, its weight, the entry that it counts for."""
    first, second = _partners(cell)
    weight = cell.shown[second] / (cell.shown[first] + cell.shown[second])
    k, other = cell.rank[first] - 1, cell.rank[second] - 1
    pair = np.minimum(k, other) * depth + np.maximum(k, other)
    return first, weight, pair * depth + k


def _partners(cell: Catalogue) -> tuple[Ints, Ints]:
    """Every ordered pair of cells of one item; cells are sorted by item."""
    size = cell.ranks
    others = size[cell.item] - 1
    first = np.repeat(np.arange(len(cell.item)), others)
    second = ranges((np.cumsum(size) - size)[cell.item], others)
    return first, second + (second >= first)
