"""Where DCG and nDCG order two systems differently, and which of the two estimates a total."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from counterrank.arrays import Floats
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.estimates import Uncertain
from counterrank.stats.correlation import inversion_rate


@dataclass(frozen=True)
class Ordered:
    """Systems by one measure: their means, and the difference of two in standard errors."""

    means: Floats
    z: Callable[[int, int], float]

    @classmethod
    def of(cls, x: Floats) -> Ordered:
        """From values, units x systems."""
        return cls(x.mean(axis=0), partial(_z, x))

    @classmethod
    def summed(cls, estimates: Sequence[Uncertain]) -> Ordered:
        """From sums over the same units."""
        return cls(np.array([e.value for e in estimates]), partial(_z_summed, estimates))


def agreement(
    systems: list[str], dcg: Ordered, ndcg: Ordered, labels: tuple[str, str]
) -> Diagnosis:
    """Compare the two orders.

    An inversion is named by the pair whose two differences are furthest from zero, in standard
    errors of the smaller.
    """
    total, share = dcg.means, ndcg.means
    rate = inversion_rate(total, share)
    flips = [
        (min(abs(dcg.z(a, b)), abs(ndcg.z(a, b))), a, b)
        for a, b in combinations(range(len(systems)), 2)
        if (total[a] - total[b]) * (share[a] - share[b]) < 0
    ]
    if not flips:
        text = f"{labels[0]} and {labels[1]} put the systems in the same order."
        return Diagnosis("agreement", ", ".join(labels), rate, 0.0, "pass", text)
    strength, a, b = max(flips)
    a, b = (a, b) if total[a] > total[b] else (b, a)
    pairs = "1 pair" if len(flips) == 1 else f"{len(flips)} pairs"
    text = (
        f"{labels[0]} and {labels[1]} order {pairs} differently: DCG puts {systems[a]} above"
        f" {systems[b]} ({total[a]:.4f} against {total[b]:.4f}), nDCG the reverse"
        f" ({share[a]:.4f} against {share[b]:.4f}). DCG estimates a total; nDCG, a mean of"
        " ratios, does not (Jeunen et al. 2024, Lemma 5.2)."
    )
    if strength < 1.96:
        text += " One of these differences may be chance."
    return Diagnosis("agreement", ", ".join(labels), rate, 0.0, "caution", text)


def _z(x: Floats, a: int, b: int) -> float:
    """Difference of two columns' means in standard errors."""
    d = x[:, a] - x[:, b]
    spread = d.std() / np.sqrt(len(d))
    return float(d.mean() / spread) if spread else 0.0


def _z_summed(estimates: Sequence[Uncertain], a: int, b: int) -> float:
    """The same where values are not kept; the spread is that of all units, not of a sample."""
    d = estimates[a] - estimates[b]
    spread = d.se * np.sqrt((d.n - 1) / d.n)
    return float(d.value / spread) if spread else 0.0
