"""Estimators from logs in plain Python, written from their formulas, for comparison."""

from __future__ import annotations

import math


def exposure(model, rank):
    """c(r) of the models used in tests."""
    return 1 / math.log2(rank + 1) if model == "log2" else 1 / rank


def sessions(log, run, model, views="latent"):
    """Per session: rows (reward, e, e0, v, item) and the target's items with their exposure."""
    out = {}
    for s in sorted({row["session"] for row in log}):
        target = {r["item"]: exposure(model, r["rank"]) for r in run if r["session"] == s}
        rows = []
        for row in (r for r in log if r["session"] == s):
            e0 = row.get("exposure", exposure(model, row["rank"]))
            v = row["viewed"] if views == "observed" else exposure(model, row["rank"])
            v = 1 if views == "rows" else v
            rows.append((row["reward"], target.get(row["item"], 0.0), e0, v, row["item"]))
        out[s] = (rows, target)
    return out


def weight(e, e0, clip):
    return e * min(clip, 1 / e0)


def ips(data, clip=math.inf):
    return sum(c * weight(e, e0, clip) for rows, _ in data.values() for c, e, e0, _, _ in rows) / (
        len(data)
    )


def views(data):
    return sum(sum(target.values()) for _, target in data.values()) / len(data)


def snips(data, clip=math.inf):
    top = sum(c * weight(e, e0, clip) for rows, _ in data.values() for c, e, e0, _, _ in rows)
    low = sum(v * weight(e, e0, clip) for rows, _ in data.values() for _, e, e0, v, _ in rows)
    return views(data) * top / low


def dm(data, q):
    return sum(e * q[i] for _, target in data.values() for i, e in target.items()) / len(data)


def dr(data, q, clip=math.inf):
    missed = sum(
        weight(e, e0, clip) * (c - v * q[i])
        for rows, _ in data.values()
        for c, e, e0, v, i in rows
        if e > 0
    )
    return dm(data, q) + missed / len(data)


def sndr(data, q, clip=math.inf):
    top = sum(
        weight(e, e0, clip) * (c - v * q[i])
        for rows, _ in data.values()
        for c, e, e0, v, i in rows
        if e > 0
    )
    low = sum(v * weight(e, e0, clip) for rows, _ in data.values() for _, e, e0, v, _ in rows)
    return dm(data, q) + views(data) * top / low
