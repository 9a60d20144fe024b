r"""The difference of a candidate that was picked because it looked best.

Of many candidates the best looks better than it is: what was picked is partly luck. Given
differences :math:`X \sim N(\mu, \Sigma)` and the winner :math:`w = \arg\max_j X_j`, write
:math:`X_j = Z_j + \frac{\Sigma_{jw}}{\Sigma_{ww}} X_w`, where :math:`Z` is independent of
:math:`X_w`. Then :math:`w` wins exactly where :math:`X_w` lies between

.. math::
    V_- = \max_{j: \Sigma_{jw} < \Sigma_{ww}} \frac{\Sigma_{ww} Z_j}{\Sigma_{ww} - \Sigma_{jw}},
    \qquad
    V_+ = \min_{j: \Sigma_{jw} > \Sigma_{ww}} \frac{\Sigma_{ww} Z_j}{\Sigma_{ww} - \Sigma_{jw}}

so that :math:`X_w` has a normal distribution cut to :math:`[V_-, V_+]`, whose quantiles give
:math:`\mu_w`. The hybrid form (Andrews, Kitagawa and McCloskey 2024, section 4) cuts it also to
:math:`\mu_w \pm c_\beta \sqrt{\Sigma_{ww}}`, where :math:`c_\beta` is simultaneous at level
:math:`1 - \beta` for :math:`\beta = \alpha / 10`, and leaves :math:`(\alpha - \beta) / (1 - \beta)`
to the rest. So the interval is never much longer than the simultaneous one, and is nearly the plain
one where the winner is far ahead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from counterrank.core.arrays import Floats, Ints
from counterrank.stats.estimates import Estimate, quantile
from counterrank.stats.inference import critical_value

SHARE = 0.1  # of the error that is left to the simultaneous interval
NAN = float("nan")
TIE = 1e-9
STEPS = 60  # halvings: to the last digits


def correct_winner(
    estimates: Sequence[Estimate], a: Ints, b: Ints, largest: Floats, level: float, up: int
) -> tuple[int, float, float, float]:
    """The place of the best of estimates ``a`` less ``b``, its corrected difference and interval.

    ``largest`` are draws of the largest t. For few clusters the covariance is larger by as much as
    Student's interval is wider than the normal one. With ``up`` -1 less is better.
    """
    value = np.array([e.value for e in estimates])
    psi = np.stack([e.influence for e in estimates])
    x, apart = up * (value[a] - value[b]), psi[a] - psi[b]
    sizes, freedom = estimates[0].sizes, estimates[0].freedom
    wider = quantile(level, "t", freedom) / quantile(level, "normal", freedom)
    covariance = (wider / sizes.n) ** 2 * sizes.factor * (apart @ apart.T)
    critical = critical_value(largest, 1 - SHARE * (1 - level), freedom)
    place, middle, low, high = winners_difference(x, covariance, level, critical)
    return (place, middle, low, high) if up > 0 else (place, -middle, -high, -low)


def winners_difference(
    x: Floats, covariance: Floats, level: float, critical: float
) -> tuple[int, float, float, float]:
    """The place of the largest, its median-unbiased estimate, and both ends of its interval.

    ``critical`` is that of the largest of all \\|t\\|, at level ``1 - SHARE * (1 - level)``.
    """
    w = int(np.argmax(x))
    variance = covariance[w, w]
    if not variance > 0:
        return w, NAN, NAN, NAN
    slope = covariance[:, w] / variance
    others = np.flatnonzero(np.abs(1 - slope) > TIE)  # not the winner, nor its equals
    bound = (x - slope * x[w])[others] / (1 - slope[others])
    below, above = bound[slope[others] < 1], bound[slope[others] > 1]
    low, high = below.max(initial=-np.inf), above.min(initial=np.inf)
    error, sigma = 1 - level, float(np.sqrt(variance))
    if min(x[w] - low, high - x[w]) <= TIE * sigma:
        return w, NAN, NAN, NAN  # nobody won
    tail = error * (1 - SHARE) / (1 - SHARE * error) / 2
    at = float(x[w])
    found = [
        _mean(at, sigma, (float(low), float(high)), critical, p) for p in (0.5, 1 - tail, tail)
    ]
    return w, found[0], found[1], found[2]


def _mean(
    x: float, sigma: float, cut: tuple[float, float], critical: float, quantile: float
) -> float:
    """The mean of which ``x`` is such a quantile: it falls as the mean grows, so by bisection."""
    begin, end = x - critical * sigma, x + critical * sigma
    for _ in range(STEPS):
        mean = (begin + end) / 2
        side = 1 if x > mean else -1  # areas are taken from the nearer tail, which keeps digits
        low = _beyond(side * max((cut[0] - mean) / sigma, -critical))
        high = _beyond(side * min((cut[1] - mean) / sigma, critical))
        at = (low - _beyond(side * (x - mean) / sigma)) / (low - high) if low != high else 0.0
        begin, end = (mean, end) if at > quantile else (begin, mean)
    return (begin + end) / 2


def _beyond(z: float) -> float:
    """P(Z > z)."""
    return math.erfc(z / math.sqrt(2)) / 2
