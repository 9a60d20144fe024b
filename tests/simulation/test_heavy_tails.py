"""Log-normal revenue: no interval covers from so few sessions, so it must be said beforehand."""

from __future__ import annotations

import numpy as np
import pytest

import counterrank as cr
from one_slot_shop import FULL, Shop, holds, tally, tolerance

SAID = ("heavy_tail",)


def rows(full: bool) -> list[dict]:
    """Revenue of three tails and clicks, in logs of 500 to 2,000 sessions."""
    count, found = 1000 if full else 40, []
    for sessions in (500, 1000, 2000):
        for sigma in (2.0, 1.5, 1.0) if full else (2.0,):
            name = f"log-normal revenue, sigma {sigma:g}, {sessions:,} sessions"
            shop = Shop(sessions=sessions, sigma=sigma, rate=0.3)
            found += tally(shop, name, count, about=SAID)
        found += tally(Shop(sessions=sessions), f"clicks, {sessions:,} sessions", count, about=SAID)
    return found


@pytest.fixture(scope="module")
def table() -> list[dict]:
    return rows(FULL)


def test_heavy_tails_are_covered_or_said(table):
    for row in table:
        if "revenue" in row["condition"]:
            assert holds(row), row


def test_clicks_are_covered_and_nothing_is_said(table):
    clicks = [row for row in table if "clicks" in row["condition"]]
    for row in clicks:
        n = row["replications"]
        assert row["diagnosed"] <= 0.05 + tolerance(0.05, n), row
        assert min(row["coverage_value"], row["coverage_lift"]) >= 0.93 - 1.3 * tolerance(0.93, n)


def test_the_tail_is_said_of_the_reward_that_has_it():
    """Clicks and revenue of one log: only revenue's rows are cautioned."""
    log, run = Shop(sessions=1500, sigma=2.0, rate=0.3).sample(np.random.default_rng(4))
    day = np.random.default_rng(4).integers(0, 14, len(log))
    log = log.with_columns(click=(log["reward"] > 0).cast(float), day=day)
    found = cr.estimate(
        log,
        {"new": run},
        reward=["click", "reward"],
        estimator="IPS",
        logged="propensity",
        bounds="none",
    )
    loud = {d.subject for d in found.not_passing if d.id == "heavy_tail"}
    assert loud == {"new, IPS, reward", "logged, reward"}
    verdict = {r.measure: r.verdict for r in found.estimates if r.system == "logged"}
    assert verdict["click"] == "pass" != verdict["reward"]


def test_winsorised_rewards_are_another_quantity_and_say_so():
    """The cap is a quantile of the rewards other than 0; the value is the mean of rewards so cut.

    The same in memory, by way of the disk and by moments.
    """
    log, run = Shop(sessions=1500, sigma=2.0, rate=0.3).sample(np.random.default_rng(5))
    ask = {"reward": "reward", "estimator": "IPS", "logged": "propensity", "winsorise": 0.95}
    found = cr.estimate(log, {"new": run}, **ask)
    paid = np.sort(log["reward"].to_numpy())
    paid = paid[paid > 0]
    cap = paid[len(paid) - int(0.05 * len(paid)) - 1]
    assert found.protocol["winsorise"] == {"reward": cap}
    assert f"cut: reward to {cap:g}" in found.to_dict()["estimand"]
    cut = np.minimum(log["reward"].to_numpy(), cap)
    assert found.estimates[0].value == pytest.approx(cut.mean(), rel=1e-12)
    for more in ({"partitions": 3}, {"partitions": 3, "inference": "moments"}):
        again = cr.estimate(log, {"new": run}, **ask, **more)
        for a, b in zip(found.estimates, again.estimates, strict=True):
            assert (b.value, b.high) == pytest.approx((a.value, a.high), rel=1e-10)
        tails = [[d.value for d in r.diagnostics if d.id == "heavy_tail"] for r in (found, again)]
        assert tails[1] == pytest.approx(tails[0], rel=1e-8)
