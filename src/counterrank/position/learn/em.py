r"""The position-based model: :math:`E[C] = c_k\,\gamma_j` for item :math:`j` at rank :math:`k`.

Its likelihood is that of independent clicks; rewards between 0 and 1 take it as a quasi-likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterrank.core.arrays import Floats, Ints, sum_by
from counterrank.position.learn.curve import Curve, Influence, InfluenceSpread
from counterrank.position.learn.impressions import Catalogue, Impressions, ItemRows

TINY = 1e-12
STEPS = 2000


@dataclass(frozen=True)
class Em:
    r"""Examination :math:`c_k` and relevance :math:`\gamma_j` by maximum likelihood.

    .. math:: P(C = 1 \mid j, k) = c_k\,\gamma_j

    Only items shown at several ranks are used; the others fit any curve. The clicks of a cell
    (item and rank) are all that the likelihood needs. Intervals: sandwich, clustered. ``schur`` is
    the information about ranks; ``shown`` and ``clicks`` are by rank.
    """

    c: Floats
    gamma: Floats
    schur: Floats
    shown: Floats
    clicks: Floats

    @classmethod
    def of(cls, cell: Catalogue) -> Em:
        """From the cells of items that moved."""
        c, gamma = solve(cell.item, cell.rank - 1, cell.clicks, cell.shown)
        schur = rank_information(cell.item, cell.rank - 1, cell.shown, c, gamma)
        return cls(c, gamma, schur, *cell.by_rank())

    def influence(self, data: Impressions, items: ItemRows | None) -> Influence:
        """The influences of some clusters, from all cells of their items."""
        assert items is not None
        cell, gamma = items.catalogue, self.gamma[items.number]
        score = directions(cell.item, cell.rank - 1, cell.shown, self.c, gamma)
        fitted = self.c[cell.rank - 1] * gamma[cell.item]
        info = fitted / np.maximum(1 - fitted, 1e-9)
        share = info / np.maximum(cell.per_item(cell.shown * info)[cell.item], 1e-300)
        wide = 1 / np.sqrt(1 - np.minimum(share, 0.9))
        return items.influence(fitted, wide, score)

    def curve(self, spread: InfluenceSpread) -> Curve:
        """The table, with the sandwich."""
        return relative_curve(self.c, self.schur, spread, self.shown, self.clicks)


def solve(item: Ints, rank: Ints, clicks: Floats, shown: Floats) -> tuple[Floats, Floats]:
    r"""Maximum likelihood by EM: :math:`c_k`, ranks from 0 and :math:`c_0 = 1`; :math:`\gamma_j`.

    E: a row without a click was examined with probability
    :math:`c_k (1 - \gamma_j) / (1 - c_k \gamma_j)` and relevant with probability
    :math:`\gamma_j (1 - c_k) / (1 - c_k \gamma_j)`. M: both parameters are the mean of what they
    stand for (Wang et al. 2018). EM alone crawls where clicks are rare, so each step starts from a
    scoring step where that raises the likelihood (Jamshidian and Jennrich 1997).
    """
    items = int(item.max()) + 1
    clicked = (sum_by(item, clicks, items) > 0)[item]  # otherwise gamma is 0 for any c
    cells = _Cells(item[clicked], rank[clicked], clicks[clicked], shown[clicked], items)
    theta = cells.start()
    reached = cells.likelihood(theta)
    for _ in range(STEPS):
        leap = cells.expect(cells.scored(theta))
        gained = cells.likelihood(leap)
        if not gained >= reached:
            leap = cells.expect(cells.expect(theta))
            gained = cells.likelihood(leap)
        before, after = (np.log(x[: cells.ranks] / x[0]) for x in (theta, leap))
        theta, reached = leap, gained
        if np.max(np.abs(after - before)) < 1e-7:
            break
    return theta[: cells.ranks] / theta[0], theta[cells.ranks :] * theta[0]


@dataclass(frozen=True)
class _Cells:
    """Clicks by item and rank; parameters are one vector, ranks before items."""

    item: Ints
    rank: Ints
    clicks: Floats
    shown: Floats
    items: int

    @property
    def ranks(self) -> int:
        return int(self.rank.max()) + 1

    def factors(self, theta: Floats) -> tuple[Floats, Floats]:
        """Examination and relevance of each cell."""
        return theta[: self.ranks][self.rank], theta[self.ranks :][self.item]

    def start(self) -> Floats:
        """Click rates by rank, and what they leave to the items."""
        shown = self.shown
        rate = sum_by(self.rank, self.clicks, self.ranks) / sum_by(self.rank, shown, self.ranks)
        c = np.clip(rate / rate.max(), 0.02, 1)
        exposed = np.maximum(sum_by(self.item, shown * c[self.rank], self.items), TINY)
        return np.append(c, np.clip(sum_by(self.item, self.clicks, self.items) / exposed, 0, 0.98))

    def likelihood(self, theta: Floats) -> float:
        c, gamma = self.factors(theta)
        mu = np.clip(c * gamma, TINY, 1 - TINY)
        missed = self.shown - self.clicks
        return float(np.sum(self.clicks * np.log(mu) + missed * np.log1p(-mu)))

    def expect(self, theta: Floats) -> Floats:
        """One step of EM."""
        c, gamma = self.factors(theta)
        unclicked = (self.shown - self.clicks) / np.maximum(1 - c * gamma, TINY)
        out = np.zeros(len(theta))
        for begin, code, count, own, other in (
            (0, self.rank, self.ranks, c, gamma),
            (self.ranks, self.item, self.items, gamma, c),
        ):
            true = sum_by(code, self.clicks + unclicked * own * (1 - other), count)
            out[begin : begin + count] = true / np.maximum(sum_by(code, self.shown, count), TINY)
        return out

    def scored(self, theta: Floats) -> Floats:
        """One step of Fisher scoring in logs, rank 0 held, within the bounds."""
        c, gamma = self.factors(theta)
        mu = np.clip(c * gamma, TINY, 1 - 1e-6)
        score = (self.clicks - self.shown * mu) / (1 - mu)
        info = self.shown * mu / (1 - mu)
        by_item = sum_by(self.item, score, self.items)
        per_item = np.maximum(sum_by(self.item, info, self.items), TINY)
        per_item[(theta[self.ranks :] > 1 - 1e-9) & (by_item > 0)] = np.inf  # held at the bound
        share, schur = without_items(self.item, self.rank, info, per_item, self.ranks)
        by_rank = sum_by(self.rank, score, self.ranks) - share.T @ by_item
        step = np.zeros(self.ranks)
        step[1:] = np.linalg.pinv(schur[1:, 1:], hermitian=True) @ by_rank[1:]
        move = np.append(step, by_item / per_item - share @ step)
        theta = theta * np.exp(np.clip(move, -1, 1))
        top = theta[: self.ranks].max()  # the scale on which the best rank is always seen
        return np.append(theta[: self.ranks] / top, np.minimum(theta[self.ranks :] * top, 1 - TINY))


def rank_information(item: Ints, rank: Ints, shown: Floats, c: Floats, gamma: Floats) -> Floats:
    r"""The information :math:`S` about :math:`\log c` that is left without that about items."""
    mu = np.clip(c[rank] * gamma[item], TINY, 1 - 1e-9)
    info = shown * mu / (1 - mu)
    return without_items(item, rank, info, sum_by(item, info, len(gamma)), len(c))[1]


def directions(item: Ints, rank: Ints, shown: Floats, c: Floats, gamma: Floats) -> Floats:
    r"""How a residual of each cell moves :math:`\log c`, the :math:`\gamma_j` being nuisances.

    A residual :math:`y - \mu` has the score :math:`(y - \mu)/(1 - \mu)` for :math:`\log c_k` and
    for :math:`\log \gamma_j` alike. Taking out the nuisance leaves the score
    :math:`\frac{1}{1-\mu} (e_k - I_{j\cdot} / \sum_k I_{jk})`, one row per cell, with
    :math:`I_{jk} = n \mu / (1 - \mu)` of :math:`n` rows, and as information
    :math:`S = \mathrm{diag}(\sum_j I_{jk}) - \sum_j I_{j\cdot} I_{j\cdot}^\top / \sum_k I_{jk}`
    (`without_items`). An item's cells are all that its scores need.
    """
    mu = np.clip(c[rank] * gamma[item], TINY, 1 - 1e-9)
    info = shown * mu / (1 - mu)
    per_item = sum_by(item, info, len(gamma))
    score: Floats = -information_shares(item, rank, info, per_item, len(c))[item].toarray()
    score[np.arange(len(rank)), rank] += 1
    return score / (1 - mu)[:, None]


def information_shares(item: Ints, rank: Ints, info: Floats, per_item: Floats, ranks: int) -> Any:
    """Each rank's share of an item's information (sparse)."""
    from scipy.sparse import csr_array

    return csr_array((info / per_item[item], (item, rank)), shape=(len(per_item), ranks))


def without_items(
    item: Ints, rank: Ints, info: Floats, per_item: Floats, ranks: int
) -> tuple[Any, Floats]:
    """Each rank's share of an item's information (sparse), and what is left for the ranks."""
    from scipy.sparse import csr_array

    share = information_shares(item, rank, info, per_item, ranks)
    weight = csr_array((info, (item, rank)), shape=(len(per_item), ranks))
    return share, np.diag(sum_by(rank, info, ranks)) - (weight.T @ share).toarray()


def relative_curve(
    c: Floats, schur: Floats, spread: InfluenceSpread, shown: Floats, clicks: Floats
) -> Curve:
    """The table of shares of rank 1, with the covariance of log c by the sandwich."""
    slopes = np.zeros_like(schur)  # rank 1 is the unit of measurement
    slopes[1:, 1:] = c[1:, None] * np.linalg.pinv(schur[1:, 1:], hermitian=True)
    cov = slopes @ spread.covariance @ slopes.T
    return Curve(c, slopes, cov, shown, clicks, relative=True, clusters=spread.groups)
