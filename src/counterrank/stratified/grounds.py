"""What a stratified evaluation rests on: the cut, the propensities, what feedback there is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats
from counterrank.diagnostics.judged_lists import ListStatistics, RatingStatistics
from counterrank.once import once
from counterrank.stratified.cut import Strata
from counterrank.stratified.feedback import Counts
from counterrank.stratified.propensities import Propensities


@dataclass(frozen=True)
class StratumRow:
    """One stratum: its propensities from ``low`` to ``high``, and what feedback it holds."""

    name: str
    low: float
    high: float
    share: float
    users: int
    items: int
    ratings: int


@dataclass(frozen=True, eq=False)
class Grounds:
    """What the numbers rest on: the cut, the propensities, counts of ratings, strata and lists.

    ``weights`` are, for each measure, the sum of the weights of what there is to find, and the sum
    of their squares; ``judged`` is the mean share of a system's lists that is judged.
    """

    cut: Strata
    propensities: Propensities
    ratings: RatingStatistics
    counts: Counts
    weights: Floats | None
    lists: tuple[ListStatistics, ...]
    judged: tuple[float, ...]

    @once
    def strata(self) -> list[StratumRow]:
        """What each stratum holds."""
        cut, counts = self.cut, self.counts
        return [
            StratumRow(
                name=name,
                low=float(cut.low[q]),
                high=float(cut.high[q]),
                share=float(counts.rows[q] / counts.rows.sum()),
                users=int(counts.users[q]),
                items=int(np.count_nonzero(counts.items[q])),
                ratings=int(counts.rows[q]),
            )
            for q, name in enumerate(cut.names)
        ]
