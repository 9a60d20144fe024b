"""Each measure's formula once more, in plain Python, one user at a time, without NumPy.

``ranked`` is the user's list of item ids, best first; ``rated`` maps judged items to ratings.
Nothing here is shared with the library.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, log2

EPS = 1e-5


def relevant(rated, rel):
    return {i for i, r in rated.items() if r >= rel}


def nonrelevant(rated, rel):
    return {i for i, r in rated.items() if 0 <= r < rel}


def gain_of(r, kind, rel):
    if kind == "binary":
        return 1.0 if r >= rel else 0.0
    r = max(r, 0)
    return float(r) if kind == "linear" else 2.0**r - 1


def cut(ranked, k):
    return ranked if k is None else ranked[:k]


def cg(ranked, rated, k=None, gain="linear", rel=1):
    return sum(gain_of(rated[i], gain, rel) for i in cut(ranked, k) if i in rated)


def dcg(ranked, rated, k=None, gain="linear", rel=1, discount=lambda r: 1 / log2(r + 1)):
    total = 0.0
    for rank, item in enumerate(cut(ranked, k), 1):
        if item in rated:
            total += gain_of(rated[item], gain, rel) * discount(rank)
    return total


def idcg(rated, k=None, gain="linear", rel=1, discount=lambda r: 1 / log2(r + 1)):
    best = sorted((gain_of(r, gain, rel) for r in rated.values()), reverse=True)
    return sum(g * discount(rank) for rank, g in enumerate(cut(best, k), 1))


def ndcg(ranked, rated, k=None, gain="linear", rel=1, ideal="k"):
    own = {i: rated[i] for i in ranked if i in rated} if ideal == "list" else rated
    best = idcg(own, None if ideal == "all" else k, gain, rel)
    return dcg(ranked, rated, k, gain, rel) / best if best else 0.0


def precision(ranked, rated, k=None, rel=1, over="k"):
    hits = len(set(cut(ranked, k)) & relevant(rated, rel))
    n = len(cut(ranked, k)) if k is None or over == "listed" else k
    return hits / n if n else 0.0


def recall(ranked, rated, k=None, rel=1):
    R = relevant(rated, rel)
    return len(set(cut(ranked, k)) & R) / len(R) if R else 0.0


def f1(ranked, rated, k=None, rel=1, over="k"):
    p, r = precision(ranked, rated, k, rel, over), recall(ranked, rated, k, rel)
    return 2 * p * r / (p + r) if p + r else 0.0


def ap(ranked, rated, k=None, rel=1, over="all"):
    R = relevant(rated, rel)
    total = sum(
        precision(ranked, rated, rank, rel)
        for rank, item in enumerate(cut(ranked, k), 1)
        if item in R
    )
    n = min(len(R), k) if over == "min" and k is not None else len(R)
    return total / n if n else 0.0


def rr(ranked, rated, k=None, rel=1):
    R = relevant(rated, rel)
    return next((1 / rank for rank, i in enumerate(cut(ranked, k), 1) if i in R), 0.0)


def err(ranked, rated, k=None, top=5):
    value, reach = Fraction(0), Fraction(1)
    for rank, item in enumerate(cut(ranked, k), 1):
        stop = Fraction(2 ** max(rated.get(item, 0), 0) - 1, 2**top)
        value += reach * stop / rank
        reach *= 1 - stop
    return float(value)


def bpref(ranked, rated, k=None, rel=1):
    R, N = relevant(rated, rel), nonrelevant(rated, rel)
    total, above = 0.0, 0
    for item in cut(ranked, k):
        if item in R:
            total += 1 if above == 0 else 1 - min(above, len(R)) / min(len(N), len(R))
        elif item in N:
            above += 1
    return total / len(R) if R else 0.0


def infap(ranked, rated, k=None, rel=1, variant="paper"):
    R, N = relevant(rated, rel), nonrelevant(rated, rel)
    total, r_above, n_above, pooled = 0.0, 0, 0, 0
    for rank, item in enumerate(cut(ranked, k), 1):
        if item in R:
            ratio = (r_above + EPS) / (r_above + n_above + 2 * EPS)
            share = 1.0 if variant == "paper" or rank == 1 else pooled / (rank - 1)
            total += 1.0 if rank == 1 else 1 / rank + (rank - 1) / rank * share * ratio
        r_above += item in R
        n_above += item in N
        pooled += item in rated
    return total / len(R) if R else 0.0


def rprec(ranked, rated, k=None, rel=1):
    R = relevant(rated, rel)
    depth = len(R) if k is None else min(len(R), k)
    return len(set(ranked[:depth]) & R) / len(R) if R else 0.0


def success(ranked, rated, k=None, rel=1):
    return float(bool(set(cut(ranked, k)) & relevant(rated, rel)))


def rbp(ranked, rated, k=None, rel=1, p=0.8):
    R = relevant(rated, rel)
    return (1 - p) * sum(p ** (r - 1) for r, i in enumerate(cut(ranked, k), 1) if i in R)


def arp(ranked, rated, k=10, rel=1):
    R = relevant(rated, rel)
    ranks = [ranked.index(i) + 1 if i in ranked else k + 1 for i in R]
    return sum(min(r, k + 1) for r in ranks) / len(R) if R else 0.0


def judged(ranked, rated, k=None):
    top = cut(ranked, k)
    return sum(rated.get(i, -1) >= 0 for i in top) / len(top) if top else 0.0


def geometric(values, floor=1e-5):
    return exp(sum(log(max(v, floor)) for v in values) / len(values))
