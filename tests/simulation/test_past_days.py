"""Days and experiments that have nothing to do with each other are seldom said to go together."""

from __future__ import annotations

import os

import numpy as np
import pytest

from counterrank.assess.case_correlation import correlate

FULL = os.environ.get("COUNTERRANK_FULL") == "1"

# days, arms, autocorrelation, spread of what an arm keeps, spread of what a day's arms share
SERIES = {
    "20 days, one arm, autocorrelation 0.8": (20, 1, 0.8, 0.0, 0.0),
    "20 days, 3 arms that share the day": (20, 3, 0.0, 0.0, 2.0),
    "30 days, 3 arms, autocorrelation 0.5, shared days": (30, 3, 0.5, 0.0, 2.0),
    "40 days, 3 arms that differ for good": (40, 3, 0.0, 1.0, 0.0),
    "10 days, 3 arms, autocorrelation 0.8": (10, 3, 0.8, 0.0, 0.0),
}


def autocorrelated(rng, days, arms, phi):
    x = np.empty((days, arms))
    x[0] = rng.normal(size=arms)
    for day in range(1, days):
        x[day] = phi * x[day - 1] + np.sqrt(1 - phi**2) * rng.normal(size=arms)
    return x


def series(rng, days, arms, phi, kept, shared):
    """Figures of arms on days: a day's own, an arm's own, and noise that fades from day to day."""
    noise = autocorrelated(rng, days, arms, phi) + shared * autocorrelated(rng, days, 1, phi)
    return noise + kept * rng.normal(size=(1, arms))


def labels(groups, members):
    return [str(g) for g in range(groups) for _ in range(members)], [
        str(m) for _ in range(groups) for m in range(members)
    ]


def rows(full: bool) -> list[dict]:
    found = []
    count = 2000 if full else 300
    for number, (condition, (days, arms, *how)) in enumerate(SERIES.items()):
        rng, wrong = np.random.default_rng(number), 0
        for _ in range(count):
            x, y = (series(rng, days, arms, *how).ravel() for _ in "xy")
            wrong += correlate(x, y, *labels(days, arms), series=True).p <= 0.05
        found.append(row(condition, 0.05, wrong / count, count))
    for groups in (8, 20):
        rng, wrong = np.random.default_rng(groups), 0
        for _ in range(count):
            # the effects of an experiment share its control, offline and online alike
            x, y = (rng.normal(size=(groups, 3)) + rng.normal(size=(groups, 1)) for _ in "xy")
            wrong += correlate(x.ravel(), y.ravel(), *labels(groups, 3), series=False).p <= 0.05
        found.append(row(f"{groups} experiments of 3 arms", 0.05, wrong / count, count))
    return found


def row(condition, nominal, rate, count):
    return {
        "condition": condition, "nominal": nominal, "error_rate": rate, "replications": count,
    }  # fmt: skip


@pytest.fixture(scope="module")
def table():
    return rows(FULL)


def test_unrelated_series_are_seldom_related(table):
    """At most the nominal rate and 3 Monte Carlo errors; 17 to 50 % before."""
    for r in table:
        error = np.sqrt(r["nominal"] * (1 - r["nominal"]) / r["replications"])
        assert r["error_rate"] <= r["nominal"] + 0.02 + 3 * error, r


def test_related_series_are_found():
    rng, found = np.random.default_rng(1), 0
    for _ in range(100):
        x = series(rng, 30, 2, 0.5, 0.0, 1.0)
        y = x + 0.8 * x.std() * rng.normal(size=x.shape)
        found += correlate(x.ravel(), y.ravel(), *labels(30, 2), series=True).p <= 0.05
    assert found >= 90


def test_few_days_cannot_be_sure():
    x = np.arange(10.0)
    assert correlate(x, x, *labels(10, 1), series=True).p >= 0.1
