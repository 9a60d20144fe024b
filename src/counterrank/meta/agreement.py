r"""Do two measures put systems in the same order?

Over the systems: Pearson's and Kendall's correlation of their values, and the probability of
inversion, the share of pairs of systems that the two measures order differently (Jeunen et al.
2024, section 6; ties by its rule). Its interval is :math:`\pm z` standard deviations over resampled
users; what it covers is the rate expected of as many users like these.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from counterrank.arrays import Bools, Floats, Ints
from counterrank.inference import Keep, at_once, permutation_test
from counterrank.meta.resampling import all_pairs, under_resampling
from counterrank.meta.values import Values
from counterrank.progress import Progress, quiet
from counterrank.stats.correlation import ROUNDING, kendall_tau


def directions(totals: Floats, systems: int) -> Ints:
    """1, 0 or -1 for each pair of systems (last axis): which is ahead."""
    left, right = np.array(all_pairs(systems)).T
    gap = totals[..., left] - totals[..., right]
    gap[np.abs(gap) <= ROUNDING * np.abs(totals).max(axis=-1, keepdims=True)] = 0
    return np.sign(gap).astype(np.int64)


def inverted(first: Ints, second: Ints) -> Floats:
    """Share of pairs ordered differently, of ``directions`` (last axis: pairs).

    As ``inversion_rate``: equal in both is left out, equal in the first only is a disagreement,
    equal in the second only is an agreement.
    """
    counted = (first != 0) | (second != 0)
    differ = (first * second < 0) | ((first == 0) & (second != 0))
    among = counted.sum(axis=-1)
    share: Floats = differ.sum(axis=-1) / np.maximum(among, 1)
    return share


@dataclass(frozen=True)
class Agreement:
    """Of two measures: correlations over the systems and the inversion rate with its spread."""

    first: int
    second: int
    pearson: float
    kendall: float
    inversion: float
    spread: float


@dataclass(frozen=True)
class Orders:
    """``totals`` is measures x systems; ``p`` of each pair (measures x pairs), NaN if not asked."""

    totals: Floats
    agreements: list[Agreement]
    direction: Ints
    p: Floats

    def opposed(self, first: int, second: int, alpha: float) -> list[int]:
        """Pairs of systems that two measures call different, each the other way round."""
        turned = self.direction[first] * self.direction[second] < 0
        both: Bools = turned & (self.p[first] <= alpha) & (self.p[second] <= alpha)
        return np.flatnonzero(both).tolist()


def orders(
    values: Values,
    *,
    draws: int,
    resamples: int,
    seed: int,
    progress: Progress = quiet,
    keep: Keep = at_once,
) -> Orders:
    """Every two measures compared, each over the users that all systems have."""
    systems, count = len(values.systems), len(values.measures)
    scores = [values.scores(m) for m in range(count)]
    total = np.array([x.mean(axis=0) for x in scores])  # 0 for units left out: same order
    ahead = directions(total, systems)

    def rates(sums: list[Floats]) -> Floats:
        each = [directions(s, systems) for s in sums]
        return np.stack([inverted(a, b) for a, b in combinations(each, 2)], axis=1)

    again = under_resampling(
        scores, rates, resamples=resamples, seed=seed, progress=progress, keep=keep
    )
    totals = values.totals()
    found = [
        Agreement(
            a,
            b,
            _pearson(totals[a], totals[b]),
            float(kendall_tau(total[a], total[b])),
            float(inverted(ahead[a], ahead[b])),
            float(again[:, j].std(ddof=1)),
        )
        for j, (a, b) in enumerate(combinations(range(count), 2))
    ]
    return Orders(totals, found, ahead, _tested(scores, ahead, draws, seed, progress, keep))


def _pearson(x: Floats, y: Floats) -> float:
    """Pearson's correlation; not a number where one side does not vary."""
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt(np.sum(x**2) * np.sum(y**2)))
    return float(np.sum(x * y)) / size if size > 0 else float("nan")


def _tested(
    scores: list[Floats], ahead: Ints, draws: int, seed: int, progress: Progress, keep: Keep
) -> Floats:
    """p-values of the pairs that some two measures order differently; the others need none."""
    pairs = all_pairs(scores[0].shape[1])
    p = np.full(ahead.shape, np.nan)
    turned = np.flatnonzero((ahead > 0).any(axis=0) & (ahead < 0).any(axis=0))
    if len(turned):
        p[:, turned] = permutation_test(
            scores,
            [pairs[j] for j in turned],
            draws=draws,
            seed=seed,
            precision="double",
            progress=progress,
            keep=keep,
        ).p
    return p
