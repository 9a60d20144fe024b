r"""What no log can tell: logged propensities are conditional on all that the logger knew.

The marginal sensitivity model (Tan 2006; Zhao, Small and Bhattacharya 2019): the odds of showing an
item, given all the logger knew, differ from the logged ones by a factor of at most
:math:`\Gamma`. A weight's inverse propensity :math:`1/p` then lies between :math:`1 + (1/p - 1) /
\Gamma` and :math:`1 + (1/p - 1)\,\Gamma`. The value is farthest off where rewards above their model
take one end and those below it the other.

Where views were logged there is a trace: an item that earns more of a view where it stands high was
put there for those who like it, or the rank itself sells. By Bayes' rule :math:`P(r \mid c = 1) /
P(r) = t_r / \bar t`, so :math:`\log \Gamma` is the spread of :math:`\log t_r` over views, if the
logger's knowledge is all that there is to it. Of an exposure, which is the mean over ranks, that
spread is all that is left open, chance included: nobody can have known more and left less.
"""

from __future__ import annotations

import numpy as np

from counterrank.assumptions.assumption import SEEN, Assumption, Belief, Shift, Told
from counterrank.assumptions.evidence import Placement
from counterrank.assumptions.two_way import TwoWay

LOUD = 3.5  # standard errors of the rank that is farthest off


class Confounding(Assumption):
    """The logged propensity is all there is to know of why an item was shown."""

    name = "confounding"
    corner = "confounding"
    default = 0.1
    source = (
        "a choice: odds of showing an item that are off by a factor of 1.1, of an exposure no more"
        " than views leave open"
    )
    needs = "context: all that the ranker looked at, a column each"
    assumed = True

    def applies(self, belief: Belief) -> bool:
        """A chance was logged: of an item at its rank, or over all ranks (an exposure)."""
        return belief.log.by_rank or belief.log.drawn

    def range(self, belief: Belief) -> float:
        """Of exposures no more than what ranks seem to sell, be it by chance."""
        own = super().range(belief)
        if self.name in belief.allow or belief.log.by_rank or not traceable(belief):
            return own
        return min(own, round(rank_spread(belief.tilted), 3))

    def learn(self, belief: Belief) -> Told:
        gamma = trace(belief)
        if not gamma:
            says = "No log" if traceable(belief) else "Without views in named contexts nothing"
            says = f"{says} tells whether the logger knew more than its chances say."
            lacks = "viewed" if belief.log.rows.views == "latent" else "context"
            return Told(says=says, more={} if belief.log.by_rank else {"log": lacks})
        harm = ", which does no harm here," if belief.log.by_rank else ""
        says = (
            f"What a view of the same item earns changes with its rank: the rank itself sells{harm}"
            " or the logger knew who likes what, and then its odds are off by a factor of"
            f" {1 + gamma:.2f}, typically."
        )
        return Told(gamma, told=True, found=True, says=says)

    def state(self, learned: Told, reach: float, harmless: float) -> str:
        if not learned.found:
            return super().state(learned, reach, harmless)
        return "caution" if reach > SEEN * harmless else "assumed"

    def shifts(self, belief: Belief, learned: Told, place: Placement) -> list[Shift]:
        log, fit = belief.log, belief.tilted
        gamma = 1 + (learned.size if learned.found else self.range(belief))
        rest = log.paid - log.rows.seen * fit.by_rank[log.rank] * fit.q[log.group]
        up, down = ((odds - 1) * (1 - place.chance) for odds in (gamma, 1 / gamma))
        moves = (np.where(way * rest > 0, up, down) * rest for way in (1, -1))
        return [Shift.mean(log, log.rows.by_session(place.weight * move)) for move in moves]


def traceable(belief: Belief) -> bool:
    """Whether what the logger knew would show in what views earn."""
    return belief.log.rows.views != "latent" and belief.log.rows.named


def trace(belief: Belief) -> float:
    """Gamma - 1 by what ranks seem to sell; 0 where that is chance, or less than is assumed."""
    if not traceable(belief):
        return 0.0
    fit = belief.tilted
    z = np.abs(np.log(fit.t[1:])) / np.maximum(fit.error[1:], 1e-300)
    gamma = rank_spread(fit)
    return gamma if np.max(z, initial=0) > LOUD and gamma > Confounding.default else 0.0


def rank_spread(fit: TwoWay) -> float:
    """The typical factor by which ranks change what a view earns, less 1."""
    views, far = fit.expected.sum(axis=0) / fit.t, np.log(fit.t)
    far = far - views @ far / views.sum()
    return float(np.expm1(np.sqrt(views @ far**2 / views.sum())))
