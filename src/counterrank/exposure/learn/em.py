"""The position-based model with a relevance for every item, fitted by EM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats
from counterrank.exposure.learn import catalogue, pbm
from counterrank.exposure.learn.catalogue import Beside, Catalogue
from counterrank.exposure.learn.clustered import Spread, spread
from counterrank.exposure.learn.curve import Curve
from counterrank.exposure.learn.rows import Rows


def em(data: Rows) -> Curve:
    r"""Examination :math:`c_k` and relevance :math:`\gamma_j` by maximum likelihood.

    .. math:: P(C = 1 \mid j, k) = c_k\,\gamma_j

    Only items shown at several ranks are used; the others fit any curve. The clicks of a cell
    (item and rank) are all that the likelihood needs. Intervals: sandwich, clustered.
    """
    moved = catalogue.of(data).moved()
    solved = Em.of(moved)
    return solved.curve(solved.spread(moved.beside(data)))


@dataclass(frozen=True)
class Em:
    """What was fitted, and the information about ranks; ``shown`` and ``clicks`` by rank."""

    c: Floats
    gamma: Floats
    schur: Floats
    shown: Floats
    clicks: Floats

    @classmethod
    def of(cls, cell: Catalogue) -> Em:
        """From the cells of items that moved."""
        c, gamma = pbm.solve(cell.item, cell.rank - 1, cell.clicks, cell.shown)
        info = pbm.information(cell.item, cell.rank - 1, cell.shown, c, gamma)
        schur = pbm.without_items(*info, len(c))[1]
        return cls(c, gamma, schur, cell.per_rank(cell.shown), cell.per_rank(cell.clicks))

    def spread(self, at: Beside, scale: float = 1.0) -> Spread:
        """The influences of some clusters, from all cells of their items."""
        cell, gamma = at.catalogue, self.gamma[at.number]
        score = pbm.directions(cell.item, cell.rank - 1, cell.shown, self.c, gamma)
        fitted = self.c[cell.rank - 1] * gamma[cell.item]
        info = fitted / np.maximum(1 - fitted, 1e-9)
        share = info / np.maximum(cell.per_item(cell.shown * info)[cell.item], 1e-300)
        wide = 1 / np.sqrt(1 - np.minimum(share, 0.9))
        residual = (at.data.reward / scale - fitted[at.of]) * wide[at.of]
        return spread(at.data.cluster, at.of, residual, score)

    def curve(self, spread: Spread) -> Curve:
        """The table, with the sandwich."""
        logs = pbm.log_covariance(self.schur, spread.covariance)
        cov = logs * np.outer(self.c, self.c)
        return Curve(self.c, cov, self.shown, self.clicks, True, spread.groups)
