"""Where DCG and nDCG order two systems differently, and which of the two estimates a total."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from counterrank.arrays import Floats
from counterrank.inference import inversion_rate
from counterrank.trust.diagnosis import Diagnosis


def agreement(systems: list[str], dcg: Floats, ndcg: Floats, labels: tuple[str, str]) -> Diagnosis:
    """Compare the two orders; ``dcg`` and ``ndcg`` are units x systems.

    An inversion is named by the pair whose two differences are furthest from zero, in standard
    errors of the smaller.
    """
    total, share = dcg.mean(axis=0), ndcg.mean(axis=0)
    rate = inversion_rate(total, share)
    flips = [
        (min(abs(_z(dcg, a, b)), abs(_z(ndcg, a, b))), a, b)
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
