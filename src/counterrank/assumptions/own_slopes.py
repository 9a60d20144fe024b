r"""Assumption 4, item by item: no item gains or loses more than others when its rank changes.

An unlogged device with a curve of its own, or readers who go deep for what they like, give items
slopes of their own: :math:`E[c] = \mu\, e^{\gamma_g (\ell - \bar\ell_g)}` with :math:`\ell = \log_2
r`. The parameter is their spread :math:`\tau`.

.. math:: \hat\gamma_g = \frac{S_g}{H_g + \phi \tau^{-2}}, \quad S_g = \sum_i (c_i - \mu_i)\,
          (\ell_i - \bar\ell_g), \quad H_g = \sum_i \mu_i (\ell_i - \bar\ell_g)^2

where :math:`\phi` is the variance of a reward over its mean: 1 of rare clicks, more of seconds. The
shift is :math:`\sum_g D_g \hat\gamma_g`, where :math:`D_g` is how the target's value moves with
:math:`\gamma_g`, less how its estimate does with factors of ranks fitted anew. What was shrunken
away has variance :math:`\sum_g D_g^2 \phi^2 \tau^{-2} / (H_g + \phi \tau^{-2})^2`. None of it
depends on the unit of rewards.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterrank.assumptions.assumption import Assumption, Belief, Shift, Told
from counterrank.assumptions.evidence import LogEvidence, Placement
from counterrank.assumptions.score_test import positive_ratio
from counterrank.assumptions.two_way import depth
from counterrank.core.arrays import Floats, Ints, sum_by

FOUND, LEAST, ROUGH = 4.0, 0.3, 0.3


class Ridge(NamedTuple):
    r"""Scores :math:`S` and informations :math:`H` of many small effects, their spread and noise.

    ``noise`` is :math:`\phi`, the variance of scores over their information.
    """

    score: Floats
    information: Floats
    spread: float
    z: float
    noise: float

    @property
    def found(self) -> bool:
        """Whether the effects differ beyond chance."""
        return self.z > FOUND

    def allowing(self, spread: float) -> Ridge:
        """The same with a spread that is allowed for, where the log leaves more open or nothing."""
        return self._replace(spread=max(self.spread, spread) if self.spread < math.inf else spread)

    @property
    def most(self) -> str:
        """How far effects may spread, in words."""
        return f"by {self.spread:.0%} or less" if self.spread < 10 else "by nothing this log shows"

    @property
    def effect(self) -> Floats:
        """Each effect, shrunken."""
        if self.spread <= 0:
            return np.zeros(len(self.score))
        return self.score / (self.information + self.noise * self.spread**-2)

    def shift(self, log: LogEvidence, slope: Floats, terms: ScoreTerms, each: Floats) -> Shift:
        """The shift of a value that moves by ``slope`` with each effect; ``each`` session's own."""
        if self.spread <= 0:
            return Shift(0.0, np.zeros(log.clusters))
        part = slope / (self.information + self.noise * self.spread**-2)
        user = log.rows.cluster[terms.session]
        psi = sum_by(user, log.n * terms.score * part[terms.of], log.clusters)
        lost = float(np.sum((part * self.noise / self.spread) ** 2)) * (4 if self.found else 1)
        return Shift(float(slope @ self.effect), psi + Shift.mean(log, each).psi, lost)


class ScoreTerms(NamedTuple):
    """What adds up to scores and informations: the effect ``of`` each term, and its session."""

    session: Ints
    of: Ints
    score: Floats
    information: Floats


def ridge(
    log: LogEvidence,
    terms: ScoreTerms,
    count: int,
    least: float,
    default: float,
    kept: Floats | float = 1.0,
) -> Ridge:
    r"""Effects by what their scores have in common among users.

    With :math:`S_{pu}, H_{pu}` of user :math:`u` and weights that are best for a spread
    :math:`\tau_0` (``default``),

    .. math:: \tau^2 = \frac{\sum_p W_p \sum_{u \ne v} S_{pu} S_{pv}}
              {\sum_p W_p \sum_{u \ne v} H_{pu} H_{pv}}, \qquad
              W_p = (H_p + \phi \tau_0^{-2})^{-2}

    plus a standard error: a spread that is missed by more makes the shift's interval too narrow in
    few logs, and over all of them it holds as often as it says. At least ``least`` once it is
    found. The fit takes a part of each score's variance, and leaves ``kept``.
    """
    user = log.rows.cluster[terms.session]
    cells, cell = np.unique(terms.of * log.clusters + user, return_inverse=True)
    of, who = np.divmod(cells, log.clusters)
    s, h = (sum_by(cell, x, len(cells)) for x in (terms.score, terms.information))
    S, H = (sum_by(of, x, count) for x in (s, h))
    noise = float(terms.score @ terms.score / max(float(H.sum()), 1e-300)) or 1.0
    W = (H + noise * default**-2) ** -2.0
    bottom = float(W @ (H**2 - sum_by(of, h**2, count)))
    top = float(W @ (S**2 - kept * sum_by(of, s**2, count)))
    by_user = sum_by(who, s * (W * S)[of] - W[of] * s**2, log.clusters)
    se = math.sqrt(2 * float(by_user @ by_user))
    if bottom <= 1e-9 * float(W @ H**2) or se <= 0:  # nothing came to two users
        return Ridge(S, H, math.inf, 0.0, noise)
    found = top > FOUND * se
    spread = max(math.sqrt((max(top, 0.0) + se) / bottom), least if found else 0.0)
    return Ridge(S, H, spread, top / se, noise)


class OwnSlopes(Assumption):
    """All items lose alike when they move down."""

    name = "own slopes"
    corner = "ranks"
    of_ranks = True
    default = 0.1
    source = "a choice: a typical difference of 10% per doubling of the rank between items"
    needs = "context: what tells readers apart (device, page, segment), a column each"

    def learn(self, belief: Belief) -> Told:
        log, fit = belief.log, belief.tilted
        far = depth(log)[log.rank]
        mean = positive_ratio(*(sum_by(log.group, x, log.groups) for x in (fit.mu * far, fit.mu)))
        z = far - mean[log.group]
        left = (log.rows.reward - fit.mu) * z
        terms = ScoreTerms(log.rows.session, log.group, left, fit.mu * z**2)
        own = ridge(log, terms, log.groups, LEAST, self.default)
        told = log.rows.named and bool(own.information.sum() > 0) and own.spread < ROUGH
        says = f"{own.most} in what a doubling of the rank costs them."
        if own.found:
            says = (
                f"in what a doubling of the rank costs them, typically by {own.spread:.0%}: readers"
                " of some kind go deeper, or see other ranks."
            )
        more = {"ridge": own, "mean": mean, "terms": terms}
        return Told(own.spread, 0.0, told or own.found, own.found, f"Items differ {says}", more)

    def shifts(self, belief: Belief, learned: Told, place: Placement) -> list[Shift]:
        log, fit, own = belief.log, belief.tilted, learned.more["ridge"]
        if not learned.told:
            own = own.allowing(self.range(belief))
        far, mean = depth(log), np.append(learned.more["mean"], 0.0)
        at = belief.at(place, fit)
        cell = at.direct * (far[place.rank] - mean[place.group]) * (place.group < log.groups)
        rows = belief.carried(place, fit) * (far[log.rank] - mean[log.group])
        D = sum_by(place.group, cell, log.groups + 1)[:-1] - sum_by(log.group, rows, log.groups)
        gamma = np.append(own.effect, 0.0)
        each = sum_by(place.session, cell * gamma[place.group], log.n)
        each -= sum_by(log.rows.session, rows * gamma[log.group], log.n)
        return [own.shift(log, D / log.n, learned.more["terms"], each)]
