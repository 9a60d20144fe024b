"""The interval of DP covers the DP expected of as many users."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from counterrank.assess.discriminative_power import discriminative_power
from counterrank.assess.unit_values import Values
from counterrank.stats.plan import Plan


@pytest.mark.parametrize("apart", [0.05, 0.15])
def test_dp_interval_covers(apart):
    users, systems, repeats = 150, 6, 250
    rng = np.random.default_rng(1)
    skill = np.linspace(0, apart, systems)
    names = tuple(f"s{s}" for s in range(systems))
    dp, ends = [], []
    for _ in range(repeats):
        x = skill + 0.3 * rng.normal(size=(users, 1)) + 0.5 * rng.normal(size=(users, systems))
        values = Values(names, ("m",), pl.Series(range(users)), x.T[:, None], ())
        found = discriminative_power(values, Plan(draws=500, resamples=100))
        dp.append(found.dp[0])
        ends.append(found.interval(0.95)[0])
    low, high = np.array(ends).T
    covered = np.mean((low <= np.mean(dp)) & (np.mean(dp) <= high))
    noise = np.sqrt(0.95 * 0.05 / repeats)
    assert covered > 0.95 - 3 * noise
