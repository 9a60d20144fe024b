r"""Assumption 5: what a target shows was shown before, in the same context.

Of an item that no session of its context showed nothing is known but that it is like others: its
worth lies between the 10 % and the 90 % quantile of those that were. The parameter is the exposure
of such items; it is known exactly.
"""

from __future__ import annotations

import numpy as np

from counterrank.assumptions.assumption import Assumption, Belief, Shift, Told
from counterrank.assumptions.evidence import Placement
from counterrank.core.arrays import sum_by

QUANTILES = (0.1, 0.9)


class UnseenItems(Assumption):
    """Items that were never shown are worth as much as the mean of those that were."""

    name = "unseen items"
    corner = "support"
    source = "the 10% and 90% quantiles of the worth of items that were shown"
    needs = "candidates: the set the ranker chose from, and some sessions that show others"

    def learn(self, belief: Belief) -> Told:
        return Told(told=True)

    def shifts(self, belief: Belief, learned: Told, place: Placement) -> list[Shift]:
        log, fit = belief.log, belief.plain
        never = place.group >= log.groups
        if not never.any():
            return []
        seen = fit.due > 0
        ends = np.quantile(fit.q[:-1][seen], QUANTILES) if seen.any() else np.zeros(2)
        each = sum_by(place.session, belief.at(place, fit).exposure * never, log.n)
        return [
            Shift(float(each.mean() * move), log.by_cluster((each - each.mean()) * move))
            for move in ends - fit.q[-1]
        ]
