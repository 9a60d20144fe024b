r"""Means and products of columns, clustered, that merge without loss.

Units are rows of :math:`K` columns; :math:`n_g` of them form cluster :math:`g`, and :math:`S_g` are
their sums. With the mean :math:`m` and :math:`d_g = S_g - n_g m` all inference needs

.. math:: D = \sum_g d_g d_g^\top, \quad E = \sum_g n_g d_g, \quad N_2 = \sum_g n_g^2

About another centre :math:`m - \delta` they are :math:`D + E \delta^\top + \delta E^\top + N_2
\delta \delta^\top`, :math:`E + N_2 \delta` and :math:`N_2`, so those of two parts are brought to
one centre and added (Chan, Golub and LeVeque 1983). Kept is a root of them: a :math:`R` with

.. math:: R^\top R = \begin{pmatrix} D & E \\ E^\top & N_2 \end{pmatrix}

A shift is a product, :math:`R \begin{pmatrix} I & 0 \\ \delta^\top & 1 \end{pmatrix}`, and two
parts merge by the QR decomposition of one root above the other. Nothing is squared, so columns that
are nearly alike keep the digits of their difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats, Ints, summed
from counterrank.once import once

ROWS = 4096  # clusters decomposed at a time
ROUNDING = 1e-14  # a spread below this share of its terms is 0


@dataclass(frozen=True, eq=False)
class Moments:
    """``n`` units in ``clusters``, and their root about ``centre``.

    ``lean`` is the sum of all units less ``centre``, which is the mean but for rounding.
    """

    n: int
    clusters: int
    centre: Floats
    lean: Floats
    root: Floats

    @classmethod
    def of(cls, columns: Floats, cluster: Ints | None = None) -> Moments:
        """Of one part: units x columns, each unit's ``cluster`` a number from 0 without gaps.

        A cluster must be in one part with all its units. Without clusters each unit is its own.
        """
        n, wide = columns.shape
        centre = columns.mean(axis=0) if n else np.zeros(wide)
        known = np.isfinite(centre)
        size = np.ones(n)
        if cluster is not None:
            size = np.bincount(cluster).astype(float)
        rows, lean = np.empty((len(size), wide + 1)), np.zeros(wide)
        rows[:, -1] = size
        for j in range(wide):  # column by column: a copy of all of them need not fit a cache
            x = columns[:, j] - centre[j] if known[j] else np.zeros(n)
            lean[j] = x.sum()
            rows[:, j] = x if cluster is None else summed(cluster, x, len(size))
        return cls(n, len(size), centre, lean, _root(rows))

    def __add__(self, other: Moments) -> Moments:
        """Of both parts together."""
        if not self.n or not other.n:
            return self if self.n else other
        n = self.n + other.n
        centre = self.mean + other.n / n * (other.mean - self.mean)
        a, b = self.about(centre), other.about(centre)
        return Moments(
            n,
            self.clusters + other.clusters,
            centre,
            a.lean + b.lean,
            _root(np.vstack([a.root, b.root])),
        )

    def about(self, centre: Floats) -> Moments:
        """The same moments about another centre."""
        shift = _known(self.centre - centre)
        root = self.root.copy()
        root[:, :-1] += root[:, -1:] * shift
        return Moments(self.n, self.clusters, centre, self.lean + self.n * shift, root)

    @property
    def wide(self) -> int:
        """Number of columns."""
        return len(self.centre)

    @once
    def mean(self) -> Floats:
        """Mean of each column."""
        return self.centre + self.lean / max(self.n, 1)

    @once
    def centred(self) -> Floats:
        """The root about the mean to the last digit, not about the centre."""
        shift = -_known(self.lean / max(self.n, 1))
        return self.root[:, :-1] + self.root[:, -1:] * shift

    @property
    def products(self) -> Floats:
        r""":math:`D`: products of the clusters' sums, centred."""
        return self.centred.T @ self.centred

    @property
    def grouped(self) -> bool:
        """Whether any cluster has more than one unit."""
        return self.clusters < self.n

    def spread(self, gradient: Floats) -> float:
        r""":math:`\sqrt{\nabla^\top D \nabla}`: root of the summed squares of influence."""
        terms = self.centred * gradient
        found = float(np.linalg.norm(terms.sum(axis=1)))
        size = float(np.linalg.norm(np.abs(terms).sum(axis=1)))
        return 0.0 if found <= ROUNDING * size else found

    def se(self, gradient: Floats) -> float:
        r""":math:`\frac1n \sqrt{\frac{G}{G-1} \nabla^\top D \nabla}`, :math:`G` clusters."""
        if self.clusters < 2:
            return float("nan")
        return float(np.sqrt(self.clusters / (self.clusters - 1)) * self.spread(gradient) / self.n)


def _root(rows: Floats) -> Floats:
    """The triangle of a QR decomposition, block by block."""
    found = rows[:0]
    step = max(ROWS, 4 * rows.shape[1])
    for start in range(0, len(rows), step):
        found = np.asarray(np.linalg.qr(np.vstack([found, rows[start : start + step]]), mode="r"))
    return found


def _known(shift: Floats) -> Floats:
    """A column with a value that is no number has no mean; the others keep theirs."""
    return np.where(np.isfinite(shift), shift, 0.0)
