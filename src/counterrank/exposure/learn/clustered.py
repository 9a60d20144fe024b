"""Covariances from influences that are summed within clusters first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterrank.arrays import Floats, Ints, renumbered


@dataclass(frozen=True)
class Spread:
    r"""Sum over whole clusters of :math:`\psi_g \psi_g^\top`, and how many there were.

    ``after`` is what `misfit` adds up in the same pass.
    """

    outer: Floats
    groups: int
    after: Floats = field(default_factory=lambda: np.zeros(4))

    @property
    def covariance(self) -> Floats:
        r""":math:`\frac{G}{G-1} \sum_g \psi_g \psi_g^\top`: for few clusters a little larger."""
        return self.outer * (self.groups / max(self.groups - 1, 1))


def added(parts: Sequence[Spread]) -> Spread:
    """Clusters are whole in their bucket, so buckets add up."""
    outer, after = np.zeros_like(parts[0].outer), np.zeros(4)
    for part in parts:
        outer += part.outer
        after += part.after
    return Spread(outer, sum(part.groups for part in parts), after)


def covariance(cluster: Ints, column: Ints, influence: Floats, columns: int) -> Spread:
    """Each entry of ``influence`` belongs to one cluster and one column of the estimate."""
    from scipy.sparse import csr_array

    known, code = renumbered(cluster)
    if len(known) == 0:
        return Spread(np.zeros((columns, columns)), 0)
    return squared(csr_array((influence, (code, column)), shape=(len(known), columns)))


def spread(cluster: Ints, cell: Ints, residual: Floats, direction: Floats) -> Spread:
    """The same where a row's influence is its residual times the ``direction`` of its cell."""
    from scipy.sparse import csr_array

    known, code = renumbered(cluster)
    if len(known) == 0:
        return Spread(np.zeros((direction.shape[1],) * 2), 0)
    by_cell = csr_array((residual, (code, cell)), shape=(len(known), len(direction)))
    return squared(csr_array(by_cell @ direction))


def squared(psi: Any) -> Spread:
    """Sum of outer products of the rows of a sparse matrix."""
    return Spread((psi.T @ psi).toarray(), psi.shape[0])
