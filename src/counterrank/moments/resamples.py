r"""The bootstrap by Poisson weights: every cluster is drawn Poisson(1) times, by its id alone.

Resample :math:`b` has :math:`\sum_g w_{gb} n_g` units and sums :math:`\sum_g w_{gb} S_g`
(Hanley and MacGibbon 2006; Chamandy et al. 2012). Both add up over parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from counterrank.core.arrays import Floats, Ints, over, summed
from counterrank.data.ids import Hashes
from counterrank.stats.draws import poisson_weights

UNITS, DRAWS = 2048, 1024  # weights or signs held at a time


@dataclass(frozen=True, eq=False)
class Resamples:
    """``n`` units of each draw, and ``sums`` of their columns, draws x columns."""

    n: Floats
    sums: Floats

    @classmethod
    def of(
        cls, columns: Floats, ids: Hashes, cluster: Ints | None = None, *, draws: int, seed: int
    ) -> Resamples:
        """Of one part: units x columns. ``ids`` are of clusters; without clusters, of units."""
        rows = np.column_stack([columns, np.ones(len(columns))])
        if cluster is not None:
            rows = np.stack([summed(cluster, x, len(ids)) for x in rows.T], axis=1)
        sums = np.zeros((draws, rows.shape[1]))
        for units, some in tiles(len(ids), draws):
            weights = poisson_weights(ids[units], some, seed)
            sums[some.start : some.stop] += weights.astype(float) @ rows[units]
        return cls(sums[:, -1], sums[:, :-1])

    def __add__(self, other: Resamples) -> Resamples:
        """Of both parts together."""
        return Resamples(self.n + other.n, self.sums + other.sums)

    @property
    def means(self) -> Floats:
        """Mean of each column in each draw; none where nobody was drawn."""
        return over(self.sums, self.n[:, None])


def tiles(units: int, draws: int) -> Iterator[tuple[slice, range]]:
    """Blocks of units and draws that bound what is held at a time."""
    for begin, start in product(range(0, units, UNITS), range(0, draws, DRAWS)):
        yield slice(begin, begin + UNITS), range(start, min(start + DRAWS, draws))
