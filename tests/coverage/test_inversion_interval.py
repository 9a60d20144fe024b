"""The interval of the inversion rate covers the rate expected of as many users."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from counterrank.assess.metric_agreement import compare_orders
from counterrank.assess.unit_values import Values
from counterrank.stats.estimates import normal_quantile
from counterrank.stats.plan import Plan


@pytest.mark.parametrize("apart", [0.05, 0.2])
def test_inversion_interval_covers(apart):
    users, systems, repeats = 150, 8, 250
    rng = np.random.default_rng(2)
    first = rng.normal(size=systems)
    second = 0.7 * first + 0.7 * rng.normal(size=systems)
    names = tuple(f"s{s}" for s in range(systems))
    found = []
    for _ in range(repeats):
        noise = 0.5 * rng.normal(size=(2, users, systems))
        noise[1] = 0.8 * noise[0] + 0.6 * noise[1]
        x = np.stack([apart * first + noise[0], apart * second + noise[1]])
        values = Values(names, ("a", "b"), pl.Series(range(users)), x.transpose(2, 0, 1), ())
        done = compare_orders(values, Plan(draws=1, resamples=100))
        found.append((done.rows[0].value, done.rows[0].se))
    rate, spread = np.array(found).T
    covered = np.mean(np.abs(rate - rate.mean()) <= normal_quantile(0.975) * spread)
    assert covered > 0.95 - 3 * np.sqrt(0.95 * 0.05 / repeats)
