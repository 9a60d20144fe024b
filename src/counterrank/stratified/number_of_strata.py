"""How many strata? Cuts into several numbers side by side, and which of them to take.

Strata serve by holding like feedback (Thompson 2012): what is left of the variance of log
propensities within them says how unlike it still is. More strata leave less, and hold fewer users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterrank.stratified.stratification import Stratification
from counterrank.stratified.stratified_value import STRATIFIED

LEFT = 0.1  # of the variance: five strata of a normal covariate leave about this (Cochran 1968)
USERS = 30  # with something to find, in every stratum
OF_AGREEMENT = ("kendall", "difference", "p", "t_one_sided")


@dataclass(frozen=True)
class NumberRow:
    """One number of strata by one measure.

    ``filled`` of the ``strata`` hold feedback. ``within`` is the share of the variance of log
    propensities left within them, ``users`` the fewest with something to find in one, ``se`` the
    mean standard error of stratified values over systems. ``kendall`` is the tau of the stratified
    order with the open loop, ``difference`` that less holdout's, with its ``p`` over users and the
    one-sided p of the published test; NaN without an open loop.
    """

    measure: str
    strata: int
    filled: int
    within: float
    users: int
    se: float
    kendall: float
    difference: float
    p: float
    t_one_sided: float


def take_number(tried: Sequence[Stratification]) -> tuple[Stratification, Mapping[str, Any]]:
    """The cut to take, with the rows of all and the reasons."""
    rows = [row for one in tried for row in _rows(one)]
    fewest = {one.request.bins: int(one.lists.counts.counted[:, 1:].min()) for one in tried}
    enough = [one for one in tried if fewest[one.request.bins] >= USERS] or [tried[0]]
    alike = [one for one in enough if one.scheme.within <= LEFT]
    chosen = alike[0] if alike else min(enough, key=lambda one: one.scheme.within)
    number, left = chosen.request.bins, chosen.scheme.within
    said = [
        f"Take {number} strata: {left:.0%} of the variance of log propensities is left within them,"
        f" and each has {fewest[number]:,} users or more with something to find.",
        f"No fewer leave {LEFT:.0%} or less with {USERS} users each."
        if alike
        else f"No number tried leaves {LEFT:.0%} or less with {USERS} users in each stratum.",
    ]
    taus = [row.kendall for row in rows if row.strata > 1 and not np.isnan(row.kendall)]
    if taus:
        better = sum(row.difference > 0 and row.p < 0.05 for row in rows if row.strata > 1)
        said.append(
            f"Agreement with the open loop goes from {min(taus):.3f} to {max(taus):.3f}; it is"
            f" above holdout's beyond chance over users in {better} of {len(taus)} cases."
        )
    return chosen, {"numbers": rows, "recommendation": said}


def _rows(one: Stratification) -> list[NumberRow]:
    """One number of strata by every measure."""
    agreement = {a.measure: a for a in one.agreement() if a.estimator == STRATIFIED.estimator}
    return [
        NumberRow(
            measure=str(m),
            strata=one.request.bins,
            filled=len(one.scheme.strata.names),
            within=one.scheme.within,
            users=int(one.lists.counts.counted[place, 1:].min()),
            se=float(np.mean([e.se for e in one.estimates(STRATIFIED, m)])),
            **{name: getattr(agreement.get(str(m)), name, np.nan) for name in OF_AGREEMENT},
        )
        for place, m in enumerate(one.request.measures)
    ]
