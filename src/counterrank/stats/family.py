r"""Intervals that hold for all candidates of one question at once.

The differences of a family have :math:`t_j = (\hat d_j - d_j) / se_j`. With

.. math:: P(\max_j |t_j| \le c) = level

all :math:`\hat d_j \pm c\, se_j` hold together with that probability (single-step max-T: Hothorn,
Bretz and Westfall 2008; Montiel Olea and Plagborg-Moller 2019). Candidates are compared with one
baseline over the same units, so their :math:`t_j` are much alike and :math:`c` is smaller than
Bonferroni's. Their correlation is that of their influence values, and the largest of them is drawn
from Student's distribution of that correlation with one degree of freedom less than clusters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterrank.core.arrays import Floats, Ints, divide
from counterrank.stats.units import Estimate

DRAWS, CELLS = 20_000, 1 << 24  # of max |t|; fewer where there are very many pairs
BLOCK = 1 << 20  # cells held at a time
DIGITS = 6  # of correlations: those of units and of their moments are the same to the last bit
NEAR = 1e-2  # a pair this close, against its distance from the rest, says nothing of the others


def largest_t(
    estimates: Sequence[Estimate], a: Ints, b: Ints, se: Floats, *, seed: int = 0
) -> Floats:
    """Draws of the largest |t| of estimates ``a`` less estimates ``b``, in order.

    Pairs without a standard error have no t.
    """
    some = np.flatnonzero(se > 0)
    a, b, freedom = a[some], b[some], estimates[0].clusters - 1
    if not len(some) or freedom < 1:
        return np.empty(0)
    psi = np.stack([e.influence for e in estimates])
    apart = psi - psi[b[0]]
    size = np.linalg.norm(apart, axis=1)
    alike = np.round(divide(apart @ apart.T, np.outer(size, size), 0.0), DIGITS)
    values, vectors = np.linalg.eigh(alike)
    root = size[:, None] * vectors * np.sqrt(np.maximum(values, 0))
    pairs = root[a] - root[b]
    norm = np.linalg.norm(pairs, axis=1)
    near = norm <= NEAR * (size[a] + size[b])  # rounding: taken as independent, which is safe
    pairs, rng = divide(pairs, norm[:, None], 0.0)[~near], np.random.default_rng(seed)
    draws = int(np.clip(CELLS // len(some), DRAWS // 5, DRAWS))
    found = np.empty(draws)
    for start in range(0, draws, step := max(1, BLOCK // len(some))):
        rows = min(step, draws - start)
        t = rng.standard_normal((rows, len(psi))) @ pairs.T
        t = np.hstack([t, rng.standard_normal((rows, np.count_nonzero(near)))])
        found[start : start + rows] = np.abs(t, out=t).max(axis=1)
    return np.sort(found / np.sqrt(rng.chisquare(freedom, draws) / freedom))
