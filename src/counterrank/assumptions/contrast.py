r"""Assumption 3, by worth: what an item earns does not depend on the best that stands above it.

Readers who have had what they came for want less of what follows, and a poor item looks poorer
below a good one. With the worth :math:`m` of the best item above, less what item and rank say of
it, :math:`z = m - \hat a_g - \hat b_r` in standard deviations,

.. math:: E[c] = \mu\, e^{\kappa z}, \qquad
          \hat\kappa = \frac{\sum_i (c_i - \mu_i)\, z_i}{\sum_i \mu_i z_i^2}

The shift is :math:`D \hat\kappa`, where :math:`D` is how the target's value moves with
:math:`\kappa`, less how its estimate does.
"""

from __future__ import annotations

import math

import numpy as np

from counterrank.assumptions.assumption import Assumption, Belief, Shift, Told
from counterrank.assumptions.evidence import Placement
from counterrank.assumptions.own_slopes import Ridge, ScoreTerms
from counterrank.assumptions.score_test import ROUNDS, SURE, positive_ratio
from counterrank.core.arrays import Floats, Ints, sum_by

ROUGH = 0.1  # of a reward by standard deviation: with a larger error the log says nothing


class Contrast(Assumption):
    """Good items above take nothing from an item, and give it nothing."""

    name = "contrast"
    corner = "ranks"
    default = 0.05
    source = "a choice: 5% of the reward by standard deviation of the best item above"
    needs = "context: what tells readers apart, and some lists shuffled at random"

    def learn(self, belief: Belief) -> Told:
        log, fit = belief.log, belief.tilted
        best = best_above(log.rows.session, fit.q[log.group])
        ranks = log.given.shape[1]
        group, rank = _two_way_means(best, fit.mu, log.group, log.rank, log.groups, ranks)
        z = best - group[log.group] - rank[log.rank]
        scale = math.sqrt(float(fit.mu @ z**2 / max(float(fit.mu.sum()), 1e-300)))
        if scale <= 1e-9 * float(np.abs(best).max(initial=0)) or not log.rows.named:
            return Told(says="Nothing tells items apart from what stands above them.")
        z /= scale
        score, information = (log.rows.reward - fit.mu) * z, fit.mu * z**2
        S, H = score.sum(keepdims=True), information.sum(keepdims=True)
        se = float(np.sqrt(np.sum(log.rows_by_cluster(score) ** 2)) / H[0])
        size, found = float(S[0] / H[0]), bool(abs(S[0] / H[0]) > SURE * se)
        way = "more" if size > 0 else "less"
        says = f"Below a better item one earns {abs(size):.1%} {way} (standard error {se:.1%})."
        terms = ScoreTerms(log.rows.session, np.zeros(len(z), np.int64), score, information)
        return Told(size, se, found or se < ROUGH, found, says, {
            "ridge": Ridge(S, H, math.inf, size / se, 1.0), "terms": terms, "z": z,
            "means": (np.append(group, 0.0), rank), "scale": scale})  # fmt: skip

    def shifts(self, belief: Belief, learned: Told, place: Placement) -> list[Shift]:
        log, fit, more = belief.log, belief.tilted, learned.more
        if not more:
            return []
        (group, rank), at = more["means"], belief.at(place, fit)
        best = best_above(place.session, fit.q[place.group])
        z = (best - group[place.group] - rank[place.rank]) / more["scale"]
        each = sum_by(place.session, at.direct * z, log.n)
        each -= sum_by(log.rows.session, at.model * fit.q[log.group] * more["z"], log.n)
        if not learned.told:
            move = each * self.range(belief)
            psi = log.by_cluster(move - move.mean())
            return [Shift(way * float(move.mean()), way * psi) for way in (1, -1)]
        slope = np.array([each.mean()])
        return [more["ridge"].shift(log, slope, more["terms"], each * learned.size)]


def best_above(session: Ints, worth: Floats) -> Floats:
    """The greatest worth above each row of its session, 0 where there is nothing; rows in order."""
    step = 2 * float(np.abs(worth).max(initial=0)) + 1e-300
    best = np.maximum.accumulate(worth + session * step)
    first = np.append(True, session[1:] != session[:-1])
    return np.where(first, 0.0, np.append(0.0, best[:-1]) - session * step)


def _two_way_means(
    x: Floats, weight: Floats, group: Ints, rank: Ints, groups: int, ranks: int
) -> tuple[Floats, Floats]:
    """Effects of group and rank that x is the sum of, by least squares."""
    in_group, at_rank = sum_by(group, weight, groups), sum_by(rank, weight, ranks)
    own, by = np.zeros(groups), np.zeros(ranks)
    for _ in range(ROUNDS):
        by = positive_ratio(sum_by(rank, weight * (x - own[group]), ranks), at_rank)
        own = positive_ratio(sum_by(group, weight * (x - by[rank]), groups), in_group)
    return own, by
