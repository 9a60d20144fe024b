r"""Permutation tests inside the engine: a unit's sign in a draw is a bit of its id's hash.

For draw :math:`b`, measure and system the flipped sum :math:`\sum_u s_{ub} x_u` adds up over parts,
and the statistic of a pair is the difference of two of them (`counterrank.inference.permutation`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats, Ints
from counterrank.moments.drawn import Hashes, signs
from counterrank.moments.resamples import tiles

FLIPS = 10_000  # sign patterns where units are too many to keep


@dataclass(frozen=True, eq=False)
class Flips:
    """``sums`` of flipped values, draws x measures x systems.

    ``observed`` and ``squares`` are the sums of differences and of their squares, measures x
    pairs. ``pairs`` has the places of two systems in each row.
    """

    sums: Floats
    observed: Floats
    squares: Floats
    pairs: Ints

    @classmethod
    def of(cls, scores: Floats, ids: Hashes, pairs: Ints, *, draws: int, seed: int) -> Flips:
        """Of one part: units x measures x systems, 0 for a unit that a measure does not count."""
        units, measures, systems = scores.shape
        # the same shift for all systems of a unit changes no difference, and keeps digits
        centred = scores - scores.mean(axis=2, keepdims=True)
        flat = centred.reshape(units, measures * systems)
        sums = np.zeros((draws, measures * systems))
        for some, patterns in tiles(units, draws):
            heads = signs(ids[some], patterns, seed).astype(float)
            sums[patterns.start : patterns.stop] -= 2 * (heads @ flat[some])
        sums += flat.sum(axis=0)
        difference = scores[:, :, pairs[:, 0]] - scores[:, :, pairs[:, 1]]
        return cls(
            sums.reshape(draws, measures, systems),
            difference.sum(axis=0),
            np.sum(difference**2, axis=0),
            pairs,
        )

    def __add__(self, other: Flips) -> Flips:
        """Of both parts together."""
        return Flips(
            self.sums + other.sums,
            self.observed + other.observed,
            self.squares + other.squares,
            self.pairs,
        )
