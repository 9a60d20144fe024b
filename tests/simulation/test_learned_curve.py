"""Intervals of values and lifts cover where the position model was learned.

Sessions by a generator of its own: a user looks at each rank by chance and clicks what is seen and
liked. The logger goes by liking with noise, so items move. ``near`` swaps the first two ranks,
``far`` turns lists upside down.
"""

from __future__ import annotations

import os
from functools import cache
from itertools import product

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from told_errors import assert_told

FULL = bool(os.environ.get("COUNTERRANK_FULL"))
LEVEL = 0.95
SEEN = np.array([0.9, 0.6, 0.45, 0.35, 0.25])
DEPTH, ITEMS = len(SEEN), 40
LIKING = np.random.default_rng(1).uniform(0.1, 0.9, ITEMS)
TURNS = {"near": [1, 0, 2, 3, 4], "far": [4, 3, 2, 1, 0]}
METHODS = ("views", "harvest", "em")
SOURCES = ("this log", "another log")
ESTIMATORS = ("IPS", "SNIPS", "DR")


def lists(rng: np.random.Generator, sessions: int) -> np.ndarray:
    noise = 0.6 * rng.gumbel(size=(sessions, ITEMS))
    return np.argsort(-np.log(LIKING) - noise, axis=1)[:, :DEPTH]


def log(seed: int, sessions: int, method: str) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Users come three times on average; only ``views`` knows what was seen."""
    rng = np.random.default_rng(seed)
    item = lists(rng, sessions)
    viewed = rng.random(item.shape) < SEEN
    click = viewed & (rng.random(item.shape) < LIKING[item])
    session = np.repeat(np.arange(sessions), DEPTH)
    frame = pl.DataFrame(
        {
            "session": session,
            "user": rng.integers(0, sessions // 3, sessions)[session],
            "item": item.ravel(),
            "rank": np.tile(np.arange(1, DEPTH + 1), sessions),
            "viewed": viewed.ravel().astype(int),
            "click": click.ravel().astype(int),
        }
    )
    run = frame.select("session", "rank")
    runs = {n: run.with_columns(item=item[:, turn].ravel()) for n, turn in TURNS.items()}
    return frame if method == "views" else frame.drop("viewed"), runs


@cache
def truth() -> dict[str, float]:
    """What each ranker earns per session, over many lists."""
    liked = LIKING[lists(np.random.default_rng(99), 400_000)]
    turns = {"logged": list(range(DEPTH)), **TURNS}
    return {name: float((SEEN * liked[:, turn]).sum(axis=1).mean()) for name, turn in turns.items()}


def cover(method: str, source: str, sessions: int, replications: int) -> list[dict]:
    """A row for each target and estimator; ``source`` is the log that the curve comes from.

    ``errors`` are those of value and difference as shares of their standard errors. Each method and
    source has logs of its own.
    """
    true, hits, errors = truth(), {}, {}
    first = 100_000 * (2 * METHODS.index(method) + SOURCES.index(source))
    for seed in range(first, first + 2 * replications, 2):
        table, runs = log(seed, sessions, method)
        bias = method
        if source == "another log":
            bias = cr.exposure(log(seed + 1, sessions, method)[0], method=method).model
        found = cr.estimate(
            table, runs, position_bias=bias, estimator=ESTIMATORS, level=LEVEL, bounds="none"
        )
        values = {(e.system, e.estimator): e for e in found.estimates}
        for c in found.comparisons:
            e, here = values[c.system, c.estimator], true[c.system]
            lift = c.lift_low <= here / true["logged"] - 1 <= c.lift_high
            apart = (c.difference - here + true["logged"]) / c.se
            hits.setdefault((c.system, c.estimator), []).append((e.low <= here <= e.high, lift))
            errors.setdefault((c.system, c.estimator), []).append(((e.value - here) / e.se, apart))
    return [
        {
            "condition": f"curve by {method} from {source}, {system} target, {sessions:,} sessions",
            "estimator": estimator,
            "nominal": LEVEL,
            "coverage_value": float(np.mean(held, axis=0)[0]),
            "coverage_lift": float(np.mean(held, axis=0)[1]),
            "replications": replications,
            "errors": np.array(errors[system, estimator]),
        }
        for (system, estimator), held in hits.items()
    ]


def rows(full: bool) -> list[dict]:
    """Coverage for each method, source of the curve, target and estimator."""
    return [
        row
        for sessions in ((2000, 10_000) if full else (2000,))
        for method in METHODS
        for source in SOURCES
        for row in cover(method, source, sessions, 1000 if full else 30)
    ]


def test_values_and_lifts_cover_with_a_learned_curve():
    """Each row within three errors of its count around 93 to 97 %; all together, much nearer."""
    found = rows(FULL)
    assert len(found) == (72 if FULL else 36)
    for what in ("coverage_value", "coverage_lift"):
        covers = np.array([row[what] for row in found])
        count = found[0]["replications"]
        error = 3 * np.sqrt(LEVEL * (1 - LEVEL) / count)
        assert covers == pytest.approx(LEVEL, abs=0.02 + error), found
        # rows of one method and source share their logs: six groups are independent
        assert covers.mean() == pytest.approx(LEVEL, abs=0.01 + error / np.sqrt(6))
    # a curve of this log makes errors smaller, one of another log larger: each is looked at alone
    for name, source in product(ESTIMATORS, SOURCES):
        own = {row["condition"]: row["errors"] for row in found if row["estimator"] == name}
        near, far = (
            np.concatenate([z for c, z in own.items() if f"from {source}, {turn}" in c])
            for turn in TURNS
        )
        assert_told(np.hstack([near, far]), f"{name}, curve from {source}")
