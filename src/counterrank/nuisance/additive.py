r"""User and item effects that add up, shrunken: a logistic model with two crossed effects.

.. math:: \eta_{ui} = \mu + a_u + b_i, \qquad
          \max_{\mu, a, b} \sum_{(u, i)} \omega_{ui} \, \ell(y_{ui}, \eta_{ui})
          - \frac{\lambda_a}{2} \sum_u a_u^2 - \frac{\lambda_b}{2} \sum_i b_i^2

:math:`\ell` is the log-likelihood of a click or conversion of probability
:math:`1 / (1 + e^{-\eta})`; outcomes other than 0 and 1 have mean :math:`\eta` and
:math:`\ell = -(y - \eta)^2 / 2`. The penalties are those of normal effects whose variance is found
by moments: with :math:`\tau^2` between the rates of items and :math:`\kappa = \sigma^2 / \tau^2` as
in `nuisance/shrinkage.py`, :math:`\lambda_b = \kappa` for values and
:math:`\bar y (1 - \bar y) \kappa` on the logit, so that a small effect is shrunken as a rate would
be, by :math:`n / (n + \kappa)`.

The solution has :math:`\sum_i \omega (y - \hat y) = \lambda_a a_u` for every user and the same for
items. As :math:`\mu` is free, effects of each side sum to 0 and there is no error on average.
Newton's steps take turns between users and items; what their mean moves goes into :math:`\mu`.
"""

from __future__ import annotations

import numpy as np

from counterrank.core.arrays import Floats, dot
from counterrank.nuisance.fitted_model import logit
from counterrank.nuisance.margins import Margins
from counterrank.nuisance.shrinkage import shrink_means, variance_of_means

TURNS, CLOSE, LONGEST = 100, 1e-6, 2.0
RIGID = 1e12  # the penalty of effects that chance explains


def effects(margins: Margins, noise: float, link: str) -> tuple[float, Floats, Floats]:
    r""":math:`\mu`, :math:`a` and :math:`b`, given the noise :math:`\sigma^2` of a pair."""
    observed, many = margins.observed, margins.many
    average, penalty = _average(margins, link), penalties(margins, noise, link)
    mu = float(logit(average)) if link == "logit" else average
    effect = [
        np.zeros(len(c)) if penalty[side] == RIGID else _start(margins, side, noise, link) - mu
        for side, c in enumerate(observed)
    ]
    for _ in range(TURNS):
        longest = 0.0
        for side in (1, 0):
            fitted, slope = margins.expected(mu + effect[0], effect[1], link, side)
            score = observed[side] - fitted - penalty[side] * effect[side]
            moved = effect[side] + np.clip(score / (slope + penalty[side]), -LONGEST, LONGEST)
            shift = dot(many[side], moved) / float(many[side].sum())
            longest = max(longest, float(np.abs(moved - shift - effect[side]).max(initial=0)))
            effect[side], mu = moved - shift, mu + shift
        if longest < CLOSE:
            break
    return mu, effect[0], effect[1]


def penalties(margins: Margins, noise: float, link: str) -> list[float]:
    r"""The penalties :math:`\lambda_a` and :math:`\lambda_b`."""
    average = _average(margins, link)
    scale = average * (1 - average) if link == "logit" else 1.0
    found = []
    for side in zip(margins.observed, margins.trials, margins.many, strict=True):
        tau2 = variance_of_means(side[0], side[1], noise, many=side[2])
        found.append(float(np.clip(scale * noise / tau2, 1e-9, RIGID)) if tau2 > 0 else RIGID)
    return found


def _average(margins: Margins, link: str) -> float:
    """The overall mean; where all outcomes are alike, with half a pair of the other."""
    many = margins.many[0]
    total, pairs = dot(many, margins.observed[0]), dot(many, margins.trials[0])
    average = total / pairs if pairs > 0 else 0.0
    return (total + 0.5) / (pairs + 1) if link == "logit" and not 0 < average < 1 else average


def _start(margins: Margins, side: int, noise: float, link: str) -> Floats:
    """Shrunken rates of one side alone, near enough for Newton's steps."""
    rate = shrink_means(
        margins.observed[side], margins.trials[side], noise, many=margins.many[side]
    )
    return logit(np.clip(rate, 1e-6, 1 - 1e-6)) if link == "logit" else rate
