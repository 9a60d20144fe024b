r"""Assumption 5: what a target shows was shown before, in the same context.

Of an item that no session of its context showed nothing is known but that it is like others: its
worth lies between the 10 % and the 90 % quantile of those that were. The parameter is the exposure
of such items; it is known exactly. Estimates with a model or normalised weights take it for the
mean. IPS counts 0 what it has no row for, which of a logger without chance is all that was not in
the same session's list: what the model says of that is lacking there, too.
"""

from __future__ import annotations

import numpy as np

from counterrank.assumptions.assumption import Assumption, Belief, Shift, Told
from counterrank.assumptions.evidence import LogEvidence, Placement
from counterrank.core.arrays import Bools, Floats, sum_by

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
        each = _by_session(log, place, belief.at(place, fit).exposure, never)
        return [each * float(end - fit.q[-1]) for end in ends]

    def counted_0(self, belief: Belief, place: Placement) -> Shift:
        """What a model says of all that IPS counts 0."""
        log = belief.log
        lacking = place.group >= log.groups
        if not log.drawn:
            lacking = np.ones(len(place.group), bool)
            lacking[place.cell[place.cell >= 0]] = False
        return _by_session(log, place, belief.at(place, belief.plain).direct, lacking)


def _by_session(log: LogEvidence, place: Placement, x: Floats, chosen: Bools) -> Shift:
    """The mean over sessions of a sum over a target's chosen cells."""
    return Shift.mean(log, sum_by(place.session, x * chosen, log.n))
