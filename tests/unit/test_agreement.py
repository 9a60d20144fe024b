"""Agreement with open-loop feedback: taus, their tests and their intervals over users."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kendalltau

from counterrank.core.errors import CounterrankError
from counterrank.stats.correlation import dependent_correlations, kendall_tau
from counterrank.stratified.open_loop import agreements
from making import ratios, stratified


def world(seed, systems=12, users=200, draws=1000, drawn=0):
    """Open loop, holdout and a stratified value that follows the open loop more closely."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=systems)
    other = rng.normal(size=systems)

    def values(centre):
        return centre[:, None] + 2 * rng.normal(size=(systems, users))

    strata = np.stack([values(truth), values(0.5 * truth + 0.5 * other)])
    made = {"draws": draws, "seed": drawn}
    feedback = np.tile([[3.0], [1.0]], users)
    opened, holdout = ratios(values(truth), ids=away(users), **made), values(other + 0.5 * truth)
    methods = {
        "holdout": ratios(holdout, **made),
        "stratified": stratified(strata, np.ones((2, users)), feedback, **made),
        "Q1": ratios(strata[0], **made),
        "Q2": ratios(strata[1], **made),
    }
    return opened, methods


def away(users):
    """Ids of users who are nobody else."""
    return np.arange(10_000, 10_000 + users)


def taus(truth, method):
    return kendalltau([e.value for e in truth], [e.value for e in method]).statistic


@pytest.mark.parametrize("seed", range(5))
def test_kendall_tau_are_scipys(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 6, (2, 30, 9)).astype(float) / 7
    y[3] = y[3, 0]
    y[4, 2] = np.nan
    got = kendall_tau(x, y)
    assert np.isnan(got[[3, 4]]).all()
    for row in set(range(30)) - {3, 4}:
        assert got[row] == pytest.approx(kendalltau(x[row], y[row]).statistic, abs=1e-12)


def test_rounding_makes_no_order():
    x = np.array([[0.1 + 0.2, 0.3, 0.5]])
    assert kendall_tau(x, x[:, ::-1].copy()) == pytest.approx(kendalltau([1, 1, 2], [2, 1, 1])[0])


def test_rows_against_the_formulas():
    truth, methods = world(0)
    rows = agreements("nDCG", truth, methods)
    assert [row.estimator for row in rows] == ["holdout", "stratified", "Q1", "Q2"]
    base = taus(truth, methods["holdout"])
    for row, method in zip(rows, methods.values(), strict=True):
        tau = taus(truth, method)
        assert row.kendall == pytest.approx(tau, abs=1e-12)
        assert row.low <= row.kendall <= row.high
        assert row.difference == pytest.approx(tau - base, abs=1e-12)
        tested = dependent_correlations(tau, base, taus(methods["holdout"], method), 12)
        assert (row.t, row.t_two_sided) == pytest.approx((tested.t, tested.p_two_sided))
        inside = row.difference_low <= 0 <= row.difference_high
        assert inside == (row.p >= 0.05)
    assert (rows[0].difference, rows[0].p, rows[0].t) == (0, 1, 0)


def test_noise_is_extrapolated_away():
    """Systems in one order everywhere: noise hides part of it, and settled finds most of it."""
    rng = np.random.default_rng(1)
    centre, users = np.arange(40.0)[:, None] / 10, 100
    truth = ratios(centre + np.zeros((40, users)), ids=away(users), draws=200)
    gaps = []
    for _ in range(20):
        noisy = ratios(centre + 5 * rng.normal(size=(40, users)), draws=200)
        (row,) = agreements("m", truth, {"holdout": noisy}, draws=200)
        gaps.append((1 - row.kendall, 1 - row.settled))
    seen, left = np.mean(gaps, axis=0)
    assert seen > 0.1
    assert left < 0.4 * seen


def test_shared_users_are_paired():
    """The same noise on both sides: paired, a resample moves both and tau stays sure of itself."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(12, 1)) + 2 * rng.normal(size=(12, 200))
    place = np.arange(200)

    def se(ids):
        truth, same = ratios(x, ids=ids, draws=1000), ratios(x, draws=1000)
        return agreements("m", truth, {"same": same}, baseline="same")[0].se

    apart = se(away(200))
    assert se(place) == pytest.approx(0)
    assert apart > 0.01
    assert 0.005 < se(np.where(place % 2 == 0, place, away(200))) < apart


def test_seed_and_draws():
    first, again, other = (
        agreements("m", *world(3, draws=100, drawn=seed), draws=100) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    assert first[0].draws == 100


def test_a_method_without_an_order_has_no_tau():
    truth, methods = world(4, draws=50)
    flat = ratios(np.ones((12, 200)), draws=50)
    row = agreements("m", truth, {"holdout": methods["holdout"], "flat": flat}, draws=50)[1]
    assert math.isnan(row.kendall)
    assert math.isnan(row.p)
    assert math.isnan(row.t_two_sided)


def test_refusals():
    truth, methods = world(5)
    with pytest.raises(CounterrankError, match="no method"):
        agreements("m", truth, methods, baseline="IPS")
    few, sides = world(6, systems=3)
    with pytest.raises(CounterrankError, match="four systems"):
        agreements("m", few, sides)
