"""Inference without values per unit: what adds up over parts of the units is enough.

Moments give standard errors, differences and ratios; weights and signs that depend on a unit's id
alone give the bootstrap and the permutation test.
"""

from counterrank.moments.merged import Merged
from counterrank.moments.resamples import Resamples
from counterrank.moments.room import ROOM, Kept, keeps_units, kept
from counterrank.moments.sums import Draws, Sums, laid, summed
from counterrank.stats.draws import FLIPS, Flips, poisson_weights, signs
from counterrank.stats.moments import Root as Moments

__all__ = [
    "FLIPS", "ROOM", "Draws", "Flips", "Kept", "Merged", "Moments", "Resamples",
    "Sums", "keeps_units", "kept", "laid", "poisson_weights", "signs", "summed",
]  # fmt: skip
