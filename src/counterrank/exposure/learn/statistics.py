"""What a log says rank by rank: counts that add up over partitions of users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from counterrank.arrays import Floats, Ints, renumbered, summed
from counterrank.core.merge import by_key, padded
from counterrank.exposure.learn.impressions import Impressions

DEEPEST = 2000  # beyond, the covariance of all ranks no longer fits well in memory


@dataclass(frozen=True)
class RankStatistics:
    """Counts of a log; ``shown`` are rows at rank 1, 2, ..., ``sums`` what else a method adds up.

    ``low`` and ``high`` bound the rewards; ``viewed`` says whether views were logged.
    """

    by: str
    viewed: bool
    rows: int
    sessions: int
    clusters: int
    deepest: Annotated[int, max]
    low: Annotated[float, min]
    high: Annotated[float, max]
    shown: Annotated[Floats, padded]
    sums: Annotated[dict[str, Floats], by_key(padded)]

    @classmethod
    def of(cls, data: Impressions, sums: dict[str, Floats]) -> RankStatistics:
        """The counts of some rows."""
        clipped = np.minimum(data.rank, DEEPEST + 1)
        return cls(
            by=data.by,
            viewed=data.viewed is not None,
            rows=len(data.rank),
            sessions=len(renumbered(data.session)[0]),
            clusters=data.clusters,
            deepest=data.depth,
            low=float(data.reward.min(initial=np.inf)),
            high=float(data.reward.max(initial=-np.inf)),
            shown=np.bincount(clipped, minlength=1)[1:].astype(float),
            sums=sums,
        )

    @property
    def scale(self) -> float:
        """What rewards are divided by to lie between 0 and 1."""
        return max(self.high, 1.0)


def counts(group: Ints, x: Floats | None = None) -> Floats:
    """Sum of ``x``, or number, at 0, 1, ...; a rank beyond the deepest is not looked at."""
    near = group <= DEEPEST
    if not near.all():
        group, x = group[near], None if x is None else x[near]
    return summed(group, np.ones(len(group)) if x is None else x, 1)
