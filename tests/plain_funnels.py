"""The estimators of conversions in plain Python, and estimates over some of a result's users."""

from __future__ import annotations

from math import inf, log2

from counterrank.stats.units import Units

CURVES = {
    "DCG@3": lambda r: 1 / log2(r + 1) if r <= 3 else 0.0,
    "CG@2": lambda r: 1.0 if r <= 2 else 0.0,
    "P@4": lambda r: 0.25 if r <= 4 else 0.0,
    "RBP(p=0.5)": lambda r: 0.5 * 0.5 ** (r - 1),
    "power": lambda r: 1 / r,
}


def value(users, lists, pairs, label, curve, clip=inf, floor=0.0) -> float:
    """``lists``: user to items, best first; ``pairs``: (user, item) to click, y, ctr, cvr."""
    naive = ips = direct = missed = weight = listed = 0.0
    for user in users:
        for rank, item in enumerate(lists.get(user, []), 1):
            z, y, p, h = pairs[user, item]
            c = curve(rank)
            w = min(clip, 1 / max(p, floor))
            naive += z * y * c
            ips += z * y * c * w
            direct += h * c
            missed += z * (y - h) * c * w
            weight += z * c * w
            listed += c
    n = len(users)
    return {
        "Naive": naive / n,
        "IPS": ips / n,
        "SNIPS": ips / weight * listed / n,
        "DM": direct / n,
        "DR": (direct + missed) / n,
        "SNDR": direct / n + missed / weight * listed / n,
    }[label]


def some_users(result, begin, end, *keys):
    """Estimates of these keys over the users from ``begin`` to before ``end``."""
    whole = result.units
    columns = {key: tuple(x[begin:end] for x in whole.columns[key]) for key in keys}
    units = Units(whole.ids[begin:end], columns)
    return [units.estimate(key, result.functions[key]) for key in keys]
