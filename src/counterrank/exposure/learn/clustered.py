"""Covariances from influences that are summed within clusters first."""

from __future__ import annotations

from typing import Any

from counterrank.arrays import Floats, Ints, renumbered


def covariance(cluster: Ints, column: Ints, influence: Floats, columns: int) -> Floats:
    r""":math:`\frac{G}{G-1} \sum_g \psi_g \psi_g^\top`, with :math:`\psi_g` summed over cluster g.

    Each entry of ``influence`` belongs to one cluster and one column of the estimate.
    """
    from scipy.sparse import csr_array

    code = renumbered(cluster)[1]
    groups = int(code.max(initial=0)) + 1
    return squared(csr_array((influence, (code, column)), shape=(groups, columns)))


def spread(cluster: Ints, cell: Ints, residual: Floats, direction: Floats) -> Floats:
    """The same where a row's influence is its residual times the ``direction`` of its cell."""
    from scipy.sparse import csr_array

    code = renumbered(cluster)[1]
    groups = int(code.max(initial=0)) + 1
    by_cell = csr_array((residual, (code, cell)), shape=(groups, len(direction)))
    return squared(csr_array(by_cell @ direction))


def squared(psi: Any) -> Floats:
    """Sum of outer products of the rows of a sparse matrix, for few clusters a little larger."""
    groups = psi.shape[0]
    out: Floats = (psi.T @ psi).toarray() * (groups / max(groups - 1, 1))
    return out
