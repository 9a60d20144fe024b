"""The learned table: what each rank is worth, how sure that is, and what it was learned from."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from counterrank.core.arrays import Floats, Ints, renumber


@dataclass(frozen=True, eq=False)
class Steps:
    """Share of sessions that go on from rank ``first``, ``first`` + 1, ..., of those that could."""

    first: int
    value: Floats
    covariance: Floats
    risk: Floats


@dataclass(frozen=True, eq=False)
class Curve:
    """Value per rank from 1, their covariance, rows and clicks (or views) at each rank.

    ``relative`` says that values are shares of rank 1; otherwise they are chances of being seen.
    """

    value: Floats
    covariance: Floats
    shown: Floats
    clicks: Floats
    relative: bool
    clusters: int
    steps: Steps | None = None

    @property
    def se(self) -> Floats:
        """Standard error of each value."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))

    def interval(self, level: float) -> tuple[Floats, Floats]:
        r"""Low and high end of each value.

        Of ratios on the log scale. Of shares by Wilson's score interval with the number of
        independent rows that the clustered standard error amounts to; where all or no rows were
        viewed, the number of clusters.
        """
        z = NormalDist().inv_cdf(0.5 + level / 2)
        if self.relative:
            factor = np.exp(z * self.se / np.maximum(self.value, 1e-300))
            return self.value / factor, self.value * factor
        p, spread = self.value, self.value * (1 - self.value)
        known = self.se > 0
        n = np.full(len(p), float(self.clusters))
        n[known] = np.maximum(spread[known] / self.se[known] ** 2, 1e-9)
        middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(spread / n + z**2 / (4 * n**2))
        low, high = np.maximum(middle - half, 0), np.minimum(middle + half, 1)
        if self.steps is not None:  # seen by definition where only views were logged
            low[: self.steps.first] = high[: self.steps.first] = 1.0
        return low, high


@dataclass(frozen=True)
class InfluenceSpread:
    r"""Sum over whole clusters of :math:`\psi_g \psi_g^\top`, and how many there were.

    ``after`` is what `misfit` adds up in the same pass.
    """

    outer: Floats
    groups: int
    after: Floats = field(default_factory=lambda: np.zeros(4))

    @classmethod
    def of(cls, psi: Any) -> InfluenceSpread:
        """Of influences as a sparse matrix, clusters x columns."""
        return cls((psi.T @ psi).toarray(), psi.shape[0])

    @property
    def covariance(self) -> Floats:
        r""":math:`\frac{G}{G-1} \sum_g \psi_g \psi_g^\top`: for few clusters a little larger."""
        return self.outer * (self.groups / max(self.groups - 1, 1))


def spread_by_cluster(
    cluster: Ints, column: Ints, influence: Floats, columns: int
) -> InfluenceSpread:
    """Each entry of ``influence`` belongs to one cluster and one column of the estimate."""
    return InfluenceSpread.of(_by_cluster(cluster, column, influence, columns))


def spread_along(cluster: Ints, cell: Ints, residual: Floats, direction: Floats) -> InfluenceSpread:
    """The same where a row's influence is its residual times the ``direction`` of its cell."""
    from scipy.sparse import csr_array

    return InfluenceSpread.of(
        csr_array(_by_cluster(cluster, cell, residual, len(direction)) @ direction)
    )


def _by_cluster(cluster: Ints, column: Ints, x: Floats, columns: int) -> Any:
    from scipy.sparse import csr_array

    known, code = renumber(cluster)
    return csr_array((x, (code, column)), shape=(len(known), columns))
