"""Where DCG and nDCG order two systems differently, and which of the two estimates a total."""

from __future__ import annotations

from itertools import combinations

from counterrank.arrays import Floats
from counterrank.inference import inversion_rate
from counterrank.trust.diagnosis import Diagnosis


def agreement(systems: list[str], dcg: Floats, ndcg: Floats, k: int | None) -> Diagnosis:
    """Compare the two orders; ``dcg`` and ``ndcg`` are units x systems.

    An inversion is named by the pair whose two differences are furthest from zero, in standard
    errors of the smaller.
    """
    cut = "" if k is None else f"@{k}"
    total, share = dcg.mean(axis=0), ndcg.mean(axis=0)
    rate = inversion_rate(total, share)
    flips = [
        (min(abs(_z(dcg, a, b)), abs(_z(ndcg, a, b))), a, b)
        for a, b in combinations(range(len(systems)), 2)
        if (total[a] - total[b]) * (share[a] - share[b]) < 0
    ]
    if not flips:
        text = f"DCG{cut} and nDCG{cut} put the systems in the same order."
        return Diagnosis("agreement", f"DCG{cut}, nDCG{cut}", rate, 0.0, "pass", text)
    _, a, b = max(flips)
    a, b = (a, b) if total[a] > total[b] else (b, a)
    pairs = "1 pair" if len(flips) == 1 else f"{len(flips)} pairs"
    text = (
        f"DCG{cut} and nDCG{cut} order {pairs} differently: DCG puts {systems[a]} above"
        f" {systems[b]} ({total[a]:.4f} against {total[b]:.4f}), nDCG the reverse"
        f" ({share[a]:.4f} against {share[b]:.4f}). DCG estimates a total; nDCG, a mean of"
        " ratios, does not (Jeunen et al. 2024, Lemma 5.2)."
    )
    return Diagnosis("agreement", f"DCG{cut}, nDCG{cut}", rate, 0.0, "caution", text)


def _z(x: Floats, a: int, b: int) -> float:
    d = x[:, a] - x[:, b]
    spread = d.std()
    return float(d.mean() / spread) if spread else 0.0
