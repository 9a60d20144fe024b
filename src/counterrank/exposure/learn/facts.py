"""What a log says rank by rank: counts that add up over buckets of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats, Ints, renumbered, summed
from counterrank.exposure.learn.rows import Rows

DEEPEST = 2000  # beyond, the covariance of all ranks no longer fits well in memory


@dataclass(frozen=True)
class Facts:
    """Counts of a log; ``shown`` are rows at rank 1, 2, ..., ``sums`` what else a method adds up.

    ``low`` and ``high`` bound the rewards; ``viewed`` says whether views were logged.
    """

    by: str
    viewed: bool
    rows: int
    sessions: int
    clusters: int
    deepest: int
    low: float
    high: float
    shown: Floats
    sums: Mapping[str, Floats]

    @classmethod
    def of(cls, data: Rows, sums: Mapping[str, Floats]) -> Facts:
        """The facts of some rows."""
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


def added(parts: Sequence[Facts]) -> Facts:
    """The facts of all buckets together."""
    return Facts(
        by=parts[0].by,
        viewed=parts[0].viewed,
        rows=sum(part.rows for part in parts),
        sessions=sum(part.sessions for part in parts),
        clusters=sum(part.clusters for part in parts),
        deepest=max(part.deepest for part in parts),
        low=min(part.low for part in parts),
        high=max(part.high for part in parts),
        shown=together([part.shown for part in parts]),
        sums={name: together([p.sums[name] for p in parts]) for name in parts[0].sums},
    )


def together(arrays: Sequence[Floats]) -> Floats:
    """The sum of arrays over ranks, some of which end earlier."""
    out = np.zeros(max(map(len, arrays)))
    for x in arrays:
        out[: len(x)] += x
    return out


def counted(group: Ints, x: Floats | None = None) -> Floats:
    """Sum of ``x``, or number, at 0, 1, ...; a rank beyond the deepest is not looked at."""
    near = group <= DEEPEST
    if not near.all():
        group, x = group[near], None if x is None else x[near]
    return summed(group, np.ones(len(group)) if x is None else x, 1)
