r"""Discriminative power: how well a measure tells systems apart (Valcarce et al. 2020, 4.2).

Every pair of systems gets the p of a paired permutation test. The curve is all p-values in falling
order; :math:`DP = \sum_j p_j` is the area under it, the lower the better. Sakai (2006) counts the
share of pairs below a level, Lu et al. (2016) take the median p.

How sure DP is, comes from resampling users. A permutation test of every resample would cost a
thousand times the one test, so there p is that of the normal distribution the flipped sums tend to:

.. math:: p = \frac{1 + N \cdot 2 \Phi(-|D| / \sqrt Q)}{1 + N}

with :math:`N` flips. Its DP on the sample itself stands beside the permutation's. Resampled
p-values are off centre (a second helping of noise moves them), so only the spread of
:math:`\log DP` is used: :math:`DP \exp(\pm z \cdot sd)`. What it covers is the DP expected of as
many users like these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats
from counterrank.inference import Keep, at_once, permutation_test
from counterrank.inference.intervals import normal_quantile
from counterrank.meta.resampling import all_pairs, differences, products, under_resampling
from counterrank.meta.values import Values
from counterrank.progress import Progress, quiet


@dataclass(frozen=True)
class Power:
    """p-values (measures x pairs), and log DP of each resample (draws x measures).

    ``approximate`` is DP by the normal distribution on the sample itself.
    """

    p: Floats
    pairs: list[tuple[int, int]]
    draws: int
    approximate: Floats
    again: Floats

    @property
    def dp(self) -> Floats:
        """:math:`DP` of each measure."""
        dp: Floats = self.p.sum(axis=1)
        return dp

    @property
    def spread(self) -> Floats:
        """Standard deviation of log DP."""
        spread: Floats = self.again.std(axis=0, ddof=1)
        return spread

    def interval(self, level: float) -> Floats:
        """Low and high end for each measure; no p is above 1, so no DP above the pairs."""
        half = normal_quantile(0.5 + level / 2) * self.spread
        high = np.minimum(self.dp * np.exp(half), len(self.pairs))
        return np.stack([self.dp * np.exp(-half), high], axis=1)

    def apart(self, a: int, b: int, level: float) -> bool:
        """Whether the DP of two measures differ, by the spread of their log ratio."""
        spread = float((self.again[:, a] - self.again[:, b]).std(ddof=1))
        ratio = abs(float(np.log(self.dp[a] / self.dp[b])))
        return ratio > normal_quantile(0.5 + level / 2) * spread


def discriminative_power(
    values: Values,
    *,
    draws: int,
    resamples: int,
    seed: int,
    progress: Progress = quiet,
    keep: Keep = at_once,
) -> Power:
    """p-values of all pairs in all measures, and DP under resampled users."""
    scores = [values.scores(m) for m in range(len(values.measures))]
    systems = len(values.systems)
    pairs = all_pairs(systems)
    tested = permutation_test(
        scores, pairs, draws=draws, seed=seed, precision="double", progress=progress, keep=keep
    )

    def dps(sums: list[Floats]) -> Floats:
        each = [normal_p(*differences(s, systems), tested.draws).sum(axis=1) for s in sums]
        return np.stack(each, axis=1)

    columns = [products(x) for x in scores]
    again = under_resampling(
        columns, dps, resamples=resamples, seed=seed, progress=progress, keep=keep
    )
    approximate = dps([c.sum(axis=0, keepdims=True) for c in columns])[0]
    return Power(tested.p, pairs, tested.draws, approximate, np.log(again))


def normal_p(difference: Floats, square: Floats, draws: int) -> Floats:
    """The two-sided p that a permutation test with so many flips would tend to."""
    from scipy.special import ndtr

    flat = square <= 1e-12 * np.max(square, initial=0.0)  # two systems alike: nothing to flip
    z = np.abs(difference) / np.sqrt(np.where(flat, np.inf, square))
    p: Floats = (1 + draws * 2 * ndtr(-z)) / (1 + draws)
    return p
