"""Intervals of every method cover what they should, and IPS finds what feedback hides."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.results.result import Result
from counterrank.stats.plan import Plan

REPEATS, USERS, ITEMS = 1000, 150, 12


@pytest.fixture(scope="module")
def population() -> tuple[Result, dict[str, float]]:
    """Many users of one platform; each sees head items more often and likes what he likes.

    Each user draws eight of twelve items to be shown, by a propensity that depends on both; a
    judgment is a shown item. Two rankers: one by popularity, one by a dim view of taste.
    """
    rng = np.random.default_rng(7)
    n = REPEATS * USERS
    taste = rng.normal(size=(n, ITEMS))
    like = taste + 0.5 * rng.normal(size=taste.shape) > 0.3
    chance = np.where(np.arange(ITEMS) < 3, 0.8, 0.25) * rng.uniform(0.6, 1.2, (n, 1))
    shown = rng.random((n, ITEMS)) < chance
    user, item = np.nonzero(shown)
    judged = pl.DataFrame(
        {"user": user, "item": item, "rating": like[user, item].astype(np.int8),
         "propensity": chance[user, item]}
    )  # fmt: skip
    noise = rng.normal(size=(2, *like.shape))
    scores = {"popular": 2.0 * (np.arange(ITEMS) < 3) + 0.5 * noise[0],
              "personal": 0.5 * taste + noise[1]}  # fmt: skip
    runs, truth = {}, {}
    for name, score in scores.items():
        rank = (-score).argsort(axis=1).argsort(axis=1) + 1
        u, i = np.nonzero(rank <= 6)
        runs[name] = pl.DataFrame({"user": u, "item": i, "rank": rank[u, i]})
        gain = np.where(rank <= 5, like / np.log2(rank + 1), 0).sum(axis=1)
        truth[name] = float(gain[np.unique(user)].mean())  # users without feedback are no users
    options = {"measure": ["DCG@5", "nDCG@5"], "propensity": "propensity", "cut": "quantile"}
    return cr.strata(judged, runs, strata=3, no_relevant="skip", **options), truth


def test_intervals_cover(population) -> None:
    result, _ = population
    plans = [Plan(test="t", interval=kind) for kind in ("normal", "t")]
    # three standard errors of a share of 1,000 repeats; the truth is the value of all users
    near = 3 * np.sqrt(0.95 * 0.05 / REPEATS)
    repeat = np.arange(len(result.units.ids)) * REPEATS // len(result.units.ids)
    inside = {key: np.zeros(2) for key in result.functions}
    for r in range(REPEATS):
        part = result.units.select(repeat == r)
        for key, function in result.functions.items():
            truth, own = result.units.estimate(key, function).value, part.estimate(key, function)
            for k, plan in enumerate(plans):
                low, high = plan.ends(own)
                inside[key][k] += low <= truth <= high
    for key, count in inside.items():
        assert count / REPEATS == pytest.approx(0.95, abs=near), key


def test_ips_finds_what_all_feedback_would_say(population) -> None:
    """DCG over all that users like, shown or not: IPS is unbiased for it, holdout is not."""
    result, truth = population
    # users who like nothing that was shown are left out of the mean, though they exist
    skipped = len(result.units.ids) / result.estimate("popular", "DCG@5", "holdout").n
    rows = {(r.system, r.method): r for r in result.estimates if r.measure == "DCG@5"}
    for system, value in truth.items():
        ips, holdout = rows[system, "IPS"], rows[system, "holdout"]
        assert ips.value / skipped == pytest.approx(value, abs=4 * ips.se)
        assert holdout.value / skipped < 0.8 * value
