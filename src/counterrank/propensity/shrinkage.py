r"""How far a rate of few trials is pulled towards the mean of all (empirical Bayes by moments).

Group :math:`j` has :math:`n_j` trials that sum to :math:`c_j`; :math:`y_j = c_j / n_j`. Around the
overall mean :math:`\bar y`, true means have variance :math:`\tau^2` and a trial has noise
:math:`\sigma^2`, so

.. math:: E \sum_j n_j (y_j - \bar y)^2 = \sigma^2 (k - 1)
          + \tau^2 \left(n - \sum_j n_j^2 / n\right)

and with :math:`\kappa = \sigma^2 / \tau^2`, the mean of a beta-binomial model of these moments is

.. math:: \hat y_j = (c_j + \kappa \bar y) / (n_j + \kappa).
"""

from __future__ import annotations

import numpy as np

from counterrank.arrays import Floats, dot


def between(c: Floats, n: Floats, noise: float, many: Floats | None = None) -> float:
    r"""The variance :math:`\tau^2` of the true means, 0 if chance explains all the spread.

    ``many``: how many groups are alike, where a class of them is one entry.
    """
    m = np.ones(len(c)) if many is None else many
    seen = n > 0
    c, n, m = c[seen], n[seen], m[seen]
    total = dot(m, n)
    room = total - dot(m, n**2) / total if total > 0 else 0.0
    if room <= 1e-9 * total:
        return 0.0
    spread = dot(m, n * (c / n - dot(m, c) / total) ** 2) - (float(m.sum()) - 1) * noise
    return max(spread / room, 0.0)


def shrunken(c: Floats, n: Floats, noise: float, many: Floats | None = None) -> Floats:
    r"""The means :math:`\hat y_j`; a group without trials has the overall mean."""
    m = np.ones(len(c)) if many is None else many
    total = dot(m, n)
    average = dot(m, c) / total if total > 0 else 0.0
    tau2 = between(c, n, noise, many)
    if tau2 == 0:
        return np.full(len(c), average)
    kappa = max(noise / tau2, 1e-9)
    return (c + kappa * average) / (n + kappa)
