"""Does the 95 % interval of SNIPS hold the truth 95 % of the time? Ours, and one that does not.

The Open Bandit Pipeline (obp 0.5.7, `SelfNormalizedInverseProbabilityWeighting` in
`obp/ope/estimators.py`, `estimate_interval`) resamples the products r_i w_i / mean(w), with the
mean of the weights fixed at what the whole log gave. A ratio varies with both of its parts.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.ope.estimators import estimator
from counterrank.ope.estimators.clipped_weight import Rows
from counterrank.stats.units import Key, Units

RUNS, FEWER, ROUNDS, DRAWS = 3_000, 500, 1_000, 200  # resampling is slow: in fewer runs


def band(runs):
    """How far a share of 95 % may stray by chance: once in a thousand, both sides."""
    return 3.3 * (0.95 * 0.05 / runs) ** 0.5


# name: logging and target probabilities of each arm, mean and noise of its reward
WORLDS = {
    # rewards far from 0: the products vary with the weights, their ratio does not
    "far from zero": (np.full(10, 0.1), np.arange(1, 11) / 55, np.full(10, 5.0), 1.0),
    # heavy weights where little is earned
    "heavy weights earn little": (
        np.array([0.1, 0.9]), np.array([0.5, 0.5]), np.array([0.0, 1.0]), 0.1,
    ),
}  # fmt: skip


def drawn(rng, world):
    p0, p, mean, noise = WORLDS[world]
    arm = rng.choice(len(p0), ROUNDS, p=p0)
    return arm, p[arm] / p0[arm], mean[arm] + noise * rng.normal(size=ROUNDS), float(p @ mean)


def ours(w, c):
    none, ones = np.empty(0), np.ones(len(w))
    rows = Rows(
        start=np.arange(len(w)), reward=c, e=w, e0=ones, seen=ones, q=none, cell=none,
        cell_rank=none, place=none, views=ones, direct=none,
    )  # fmt: skip
    snips, key = estimator("SNIPS"), Key("new", "reward", "SNIPS")
    units = Units(pl.Series(np.arange(len(w))), {key: tuple(snips.sums(rows, "session"))})
    return units.estimate(key, snips.combined("session")).interval(0.95)


def fixed_normaliser(rng, w, c):
    """obp's interval: percentiles of the resampled mean of the products."""
    product = c * w / w.mean()
    means = product[rng.integers(len(w), size=(DRAWS, len(w)))].mean(axis=1)
    return np.percentile(means, [2.5, 97.5])


def covered(world):
    """Share of intervals that hold the truth and their mean width: ours, and obp's."""
    rng = np.random.default_rng(7)
    found = ([], [])
    for run in range(RUNS):
        _, w, c, truth = drawn(rng, world)
        found[0].append((*ours(w, c), truth))
        if run < FEWER:
            found[1].append((*fixed_normaliser(rng, w, c), truth))
    for low, high, truth in (np.array(x).T for x in found):
        yield np.mean((low <= truth) & (truth <= high)), np.mean(high - low)


def test_far_from_zero_the_fixed_normaliser_is_too_wide():
    (share, width), (their_share, their_width) = covered("far from zero")
    assert abs(share - 0.95) < band(RUNS)
    assert their_share > 0.95 + band(FEWER)
    assert their_width > 2 * width


def test_with_heavy_weights_the_fixed_normaliser_misses():
    (share, width), (their_share, their_width) = covered("heavy weights earn little")
    assert abs(share - 0.95) < band(RUNS)
    assert their_share < 0.6
    assert their_width < width / 2


def test_the_verb_gives_the_interval_measured_here():
    world = "heavy weights earn little"
    arm, w, c, _ = drawn(np.random.default_rng(1), world)
    p0, p, _, _ = WORLDS[world]
    session = np.arange(ROUNDS)
    log = pl.DataFrame(
        {"session": session, "item": arm, "rank": 1, "reward": c, "propensity": p0[arm]}
    )
    run = pl.DataFrame(
        {
            "session": np.repeat(session, len(p)),
            "item": np.tile(np.arange(len(p)), ROUNDS),
            "rank": 1,
            "propensity": np.tile(p, ROUNDS),
        }
    )
    result = cr.estimate(log, {"new": run}, estimator="SNIPS", logged="propensity", test="none")
    row = next(row for row in result.estimates if row.system == "new")
    assert (row.low, row.high) == pytest.approx(ours(w, c), rel=1e-9)
