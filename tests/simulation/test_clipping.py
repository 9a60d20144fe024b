"""Clipped weights: their bias is in the interval, or said; a clip that was chosen covers."""

from __future__ import annotations

import numpy as np
import pytest

import counterrank as cr
from one_slot_shop import FULL, Shop, Tally, holds, tally, tolerance

FAR = (0.9, 0.07, 0.02, 0.01)
NEAR = (0.7, 0.15, 0.1, 0.05)
CLIPPED = (
    "IPS(clip=5)",
    "IPS(clip=20)",
    "IPS(clip=90)",
    "SNIPS(clip=20)",
    "DR(clip=20)",
    "SNDR(clip=20)",
)
SAID = ("clipping", "heavy_tail")


def rows(full: bool) -> list[dict]:
    """Clips that lose much and little, and the choice of a sweep."""
    count, found = 1000 if full else 30, []
    for sessions in (1000, 4000) if full else (2000,):
        shop = Shop(sessions=sessions, logger=FAR)
        found += tally(
            shop, f"far target, {sessions:,} sessions", count, estimator=CLIPPED, about=SAID
        )
    for name, logger in (("near", NEAR), ("far", FAR)):
        for sessions in (1000, 4000) if full else (4000,):
            shop = Shop(sessions=sessions, logger=logger)
            condition = f"clip chosen by the sweep, {name} target, {sessions:,} sessions"
            found += sweep(shop, condition, count)
    return found


def sweep(shop: Shop, condition: str, count: int) -> list[dict]:
    """The interval of what SLOPE chose, against the truth."""
    rng, (target, logged) = np.random.default_rng(1), shop.truth()
    one = Tally(condition, "chosen")
    for _ in range(count):
        log, run = shop.sample(rng)
        found = cr.estimate(
            log, {"new": run}, reward="reward", estimator="DR", logged="propensity", sweep="clip",
            bounds="none",
        )  # fmt: skip
        best = found.tables["choices"][0]
        one.add(
            best.low <= target <= best.high,
            best.lift_low <= target / logged - 1 <= best.lift_high,
            any(d.id == "heavy_tail" and d.state != "pass" for d in found.diagnostics),
        )
    return [one.row()]


@pytest.fixture(scope="module")
def table() -> list[dict]:
    return rows(FULL)


def test_clipped_values_are_covered(table):
    """The most that clipping can do is in the interval: it covers in at least so many logs."""
    for row in table:
        n = row["replications"]
        for name in ("coverage_value", "coverage_lift"):
            if "chosen" not in row["condition"]:
                assert row[name] >= 0.95 - tolerance(0.95, n), row


def test_what_a_sweep_chose_is_covered(table):
    chosen = [row for row in table if "chosen" in row["condition"]]
    assert chosen
    for row in chosen:
        assert holds(row, low=0.92), row


def test_the_bias_is_weight_lost_times_the_range_of_rewards():
    """By hand, from the log: what lies above the clipped value can be no more than that."""
    shop = Shop(sessions=800, logger=FAR, sigma=0.5)
    log, run = shop.sample(np.random.default_rng(2))
    found = cr.estimate(
        log, {"new": run}, reward="reward", estimator=["IPS(clip=20)", "SNIPS(clip=20)"],
        logged="propensity",
    )  # fmt: skip
    item, paid = log["item"].to_numpy(), log["reward"].to_numpy()
    p, e = np.array(shop.logger)[item], np.array(shop.target)[item]
    whole, cut = e / p, e * np.minimum(20, 1 / p)
    lost = np.mean(whole - cut)
    ips, snips = (found.estimate("new", label) for label in ("IPS(clip=20)", "SNIPS(clip=20)"))
    assert ips.bias == pytest.approx((0.0, lost * paid.max()), rel=1e-10)
    usual = np.sum(paid * cut) / np.sum(cut)
    assert snips.bias == pytest.approx((-lost * usual, lost * (paid.max() - usual)), rel=1e-10)
    low, high = ips.interval()
    row = next(r for r in found.estimates if r.estimator == "IPS(clip=20)")
    assert (row.low, row.high) == pytest.approx((low, high))
    assert high - ips.value == pytest.approx(ips.value - low + lost * paid.max())
    live = found.estimate("logged")
    against = next(c for c in found.comparisons if c.estimator == "IPS(clip=20)")
    assert (against.low, against.high) == pytest.approx((ips - live).interval())
    bias = (ips / live).bias
    assert bias == pytest.approx((0.0, lost * paid.max() / live.value))
    assert against.lift_high - against.lift > bias[1] > against.lift - against.lift_low


def test_a_value_that_clipping_may_have_lowered_is_not_called_worse():
    """IPS(clip=1) of a better target lies far below: no p may speak against it."""
    log, run = Shop(sessions=4000, logger=FAR).sample(np.random.default_rng(3))
    found = cr.estimate(
        log, {"new": run}, reward="reward", estimator="IPS(clip=1)", logged="propensity"
    )
    comparison = found.comparisons[0]
    assert comparison.difference < 0
    assert comparison.high > 0
    assert comparison.p == 1
