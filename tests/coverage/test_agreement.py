"""Intervals of taus over users, on data drawn anew many times."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from counterrank.stratified.open_loop import agreements
from making import ratios

SETS, SYSTEMS, USERS, DRAWS = 300, 20, 150, 150


def drawn(rng, centres, ids, seed):
    """One data set: open loop, holdout, other. Systems of one kind err on the same users."""
    kind = 0.7 * rng.normal(size=(SYSTEMS, 4))

    def noise():
        return kind @ rng.normal(size=(4, USERS)) + rng.normal(size=(SYSTEMS, USERS))

    closed = noise()
    noises = (noise(), closed, 0.6 * closed + 0.8 * noise())
    made = {"draws": DRAWS, "seed": seed}
    opened, holdout, other = (c[:, None] + x for c, x in zip(centres, noises, strict=True))
    methods = {"holdout": ratios(holdout, **made), "other": ratios(other, **made)}
    return ratios(opened, ids=ids, **made), methods


@pytest.mark.parametrize(("spread", "follows"), [(0.1, 0.9), (0.3, 0.9), (0.3, 0.5)])
def test_intervals_cover_the_expected_tau(spread, follows):
    """Between 93 and 95 %: the spread of resampled taus is a little less than that of taus."""
    rng = np.random.default_rng(21)
    truth, own, third = rng.normal(size=(3, SYSTEMS))
    rest = np.sqrt(1 - follows**2)
    centres = spread * np.array([truth, follows * truth + rest * own, 0.5 * truth + 0.8 * third])
    rows = []
    for number in range(SETS):
        ids = np.arange(USERS) if number % 2 else np.arange(USERS, 2 * USERS)
        open_loop, methods = drawn(rng, centres, ids, number)
        rows.append(agreements("m", open_loop, methods, draws=DRAWS)[1])
    expected = np.mean([(r.kendall, r.difference) for r in rows], axis=0)
    inside = [
        (r.low <= expected[0] <= r.high, r.difference_low <= expected[1] <= r.difference_high)
        for r in rows
    ]
    covered = np.mean(inside, axis=0)
    low, high = binom.ppf(0.0005, SETS, 0.93), binom.ppf(0.9995, SETS, 0.95)
    assert np.all((low <= SETS * covered) & (SETS * covered <= high)), covered
