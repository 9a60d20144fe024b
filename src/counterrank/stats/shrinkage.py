r"""How far a mean of few trials is pulled towards what it should be (empirical Bayes by moments).

Group :math:`j` has :math:`n_j` trials that sum to :math:`c_j`; :math:`y_j = c_j / n_j`. Around a
prior :math:`\pi_j`, true means have variance :math:`\tau^2` and a trial has noise :math:`\sigma^2`.
With a prior that is known, and with the overall mean of :math:`k` groups as the prior,

.. math:: E \sum_j n_j (y_j - \pi_j)^2 = \sigma^2 k + \tau^2 n, \qquad
          E \sum_j n_j (y_j - \bar y)^2 = \sigma^2 (k - 1)
          + \tau^2 \left(n - \sum_j n_j^2 / n\right)

and with :math:`\kappa = \sigma^2 / \tau^2`, the mean of a beta-binomial model of these moments is

.. math:: \hat y_j = (c_j + \kappa \pi_j) / (n_j + \kappa).
"""

from __future__ import annotations

import numpy as np

from counterrank.core.arrays import Floats, dot


def variance_of_means(
    c: Floats,
    n: Floats,
    noise: float,
    *,
    prior: Floats | None = None,
    many: Floats | None = None,
) -> float:
    r"""The variance :math:`\tau^2` of the true means, 0 if chance explains all the spread.

    ``prior``: what the means should be (None: the overall mean). ``many``: how many groups are
    alike, where a class of them is one entry.
    """
    seen = n > 0
    m = np.ones(int(seen.sum())) if many is None else many[seen]
    c, n = c[seen], n[seen]
    total, groups = dot(m, n), float(m.sum())
    if total <= 0:
        return 0.0
    if prior is None:
        centre: Floats | float = dot(m, c) / total
        degrees, room = groups - 1, total - dot(m, n**2) / total
    else:
        centre, degrees, room = prior[seen], groups, total
    if room <= 1e-9 * total:
        return 0.0
    spread = dot(m, n * (c / n - centre) ** 2) - degrees * noise
    return max(spread / room, 0.0)


def shrink_means(
    c: Floats,
    n: Floats,
    noise: float,
    *,
    prior: Floats | None = None,
    many: Floats | None = None,
) -> Floats:
    r"""The means :math:`\hat y_j`; a group without trials has its prior, or the overall mean."""
    tau2 = variance_of_means(c, n, noise, prior=prior, many=many)
    if prior is None:
        m = np.ones(len(c)) if many is None else many
        total = dot(m, n)
        prior = np.full(len(c), dot(m, c) / total if total > 0 else 0.0)
        kappa = max(noise / tau2, 1e-9) if tau2 > 0 else np.inf
    else:
        kappa = noise / tau2 if tau2 > 0 else np.inf
    out = prior.copy()
    if np.isfinite(kappa):
        seen = n > 0
        out[seen] = (c[seen] + kappa * prior[seen]) / (n[seen] + kappa)
    return out
