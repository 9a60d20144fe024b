"""Where DCG and nDCG order two systems differently, and which of the two estimates a total."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.stats.correlation import inversion_rate
from counterrank.stats.units import Estimate


def agreement(
    systems: Sequence[str],
    dcg: Sequence[Estimate],
    ndcg: Sequence[Estimate],
    labels: tuple[str, str],
) -> Diagnosis:
    """Compare the orders of all systems by their DCG and by their nDCG, over the same units.

    An inversion is named by the pair whose two differences are furthest from zero, in standard
    errors of the smaller.
    """
    total, share = (np.array([e.value for e in each]) for each in (dcg, ndcg))
    rate = inversion_rate(total, share)
    flips = [
        (min(abs(_z(dcg[a], dcg[b])), abs(_z(ndcg[a], ndcg[b]))), a, b)
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


def _z(a: Estimate, b: Estimate) -> float:
    """The difference in standard errors; the spread is that of all units, not of a sample."""
    d = a - b
    spread = d.se * np.sqrt((d.n - 1) / d.n)
    return float(d.value / spread) if spread > 0 else 0.0
