"""From per-user values to the methods: holdout, IPS, SNIPS, each stratum, stratified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Bools, Floats
from counterrank.ranking import Measure
from counterrank.stratified.cut import Strata
from counterrank.stratified.face import Blend, Face
from counterrank.stratified.feedback import Feedback
from counterrank.stratified.propensities import Propensities
from counterrank.stratified.published import has_labels

HOLDOUT, IPS, SNIPS, STRATIFIED = "holdout", "IPS", "SNIPS", "stratified"
PUBLISHED = "IPS-published"


def methods(strata: Strata, known: Propensities, measures: Sequence[Measure]) -> tuple[str, ...]:
    """The names of all methods, in the order in which they are shown."""
    weighted = [IPS, SNIPS] if known.there else []
    weighted += [PUBLISHED] if known.labels(measures) else []
    return (HOLDOUT, *weighted, STRATIFIED, *strata.names)


@dataclass(frozen=True)
class Methods:
    """Which methods there are of one measure, and who counts under them.

    ``place`` is that of the measure among those of the feedback. ``labelled`` says that some
    measure has labels, so that there are values for it.
    """

    measure: Measure
    place: int
    strata: tuple[str, ...]
    labelled: bool
    no_relevant: str

    def single(self, known: Feedback, scores: Floats, there: Bools) -> list[Face]:
        """Every method but the stratified one; a stratum's face may have nobody who counts.

        ``scores`` is ways x systems x users, as a layout scores them, ``there`` are the users that
        count at all.
        """
        ways, m = iter(scores), self.measure
        base = known.users.counted(self.place, 0, there, self.no_relevant)
        found = [face(HOLDOUT, m, next(ways), base)]
        if known.mean_weight is not None:
            found += _weighted(m, known.mean_weight[self.place], next(ways), base)
        if self.labelled:
            x = next(ways)
            found += [face(PUBLISHED, m, x, base)] if has_labels(m) else []
        for q, (name, x) in enumerate(zip(self.strata, ways, strict=True), 1):
            within = known.users.counted(self.place, q, there, self.no_relevant)
            found.append(face(name, m, x, within))
        return found


def faces(each: Sequence[Face], rows: Floats, strata: int) -> dict[str, Face | Blend]:
    """All methods of one measure, from those that are ratios of means; the last are ``strata``.

    ``rows`` is the feedback of each stratum and user. A stratum in which nobody has anything to
    find has no value and is left out.
    """
    whole, within = each[: len(each) - strata], each[len(each) - strata :]
    filled = np.array([one.base.any() for one in within])
    there = [one for one, some in zip(within, filled, strict=True) if some]
    found: dict[str, Face | Blend] = {one.method: one for one in whole}
    found[STRATIFIED] = Blend(STRATIFIED, there, rows[filled])
    return found | {one.method: one for one in there}


def _weighted(measure: Measure, a: Floats, x: Floats, base: Floats) -> list[Face]:
    r"""IPS and SNIPS, whose users count :math:`b_u a_u` instead of :math:`b_u`.

    A geometric mean is divided by the geometric mean of :math:`a_u`, user by user.
    """
    if measure.mean == "geometric":
        own = np.divide(x, a, out=np.zeros_like(x), where=a > 0)
        self_normalised = face(SNIPS, measure, own, base * (a > 0))
    else:
        self_normalised = face(SNIPS, measure, x, base * a)
    return [face(IPS, measure, x, base), self_normalised]


def face(method: str, measure: Measure, x: Floats, base: Floats) -> Face:
    """One method from per-user values (systems x users) and how much each user counts."""
    if measure.mean == "geometric":
        x = np.log(np.maximum(x, measure.floor))
    return Face(method, x * (base > 0), base, measure.mean)
