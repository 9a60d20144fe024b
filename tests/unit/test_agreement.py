"""Agreement with open-loop feedback: taus, their tests and their intervals over users."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kendalltau

from counterrank.errors import CounterrankError
from counterrank.inference import dependent_correlations
from counterrank.stats.correlation import kendall_tau
from counterrank.stratified import Blend, Face, agreements


def world(seed, systems=12, users=200):
    """Open loop, holdout and a stratified value that follows the open loop more closely."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=systems)
    other = rng.normal(size=systems)

    def face(name, centre):
        return Face(name, centre[:, None] + 2 * rng.normal(size=(systems, users)), np.ones(users))

    strata = [face("Q1", truth), face("Q2", 0.5 * truth + 0.5 * other)]
    blend = Blend("stratified", strata, np.tile([[3.0], [1.0]], users))
    return face("open loop", truth), [face("holdout", other + 0.5 * truth), blend, *strata]


@pytest.mark.parametrize("seed", range(5))
def test_kendalls_are_scipys(seed):
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
    assert [row.method for row in rows] == ["holdout", "stratified", "Q1", "Q2"]
    base = kendalltau(truth.value, methods[0].value).statistic
    for row, method in zip(rows, methods, strict=True):
        tau = kendalltau(truth.value, method.value).statistic
        assert row.tau == pytest.approx(tau, abs=1e-12)
        assert row.low <= row.tau <= row.high
        assert row.difference == pytest.approx(tau - base, abs=1e-12)
        between = kendalltau(methods[0].value, method.value).statistic
        tested = dependent_correlations(tau, base, between, 12)
        assert (row.t, row.t_two_sided) == pytest.approx((tested.t, tested.p_two_sided))
        inside = row.difference_low <= 0 <= row.difference_high
        assert inside == (row.p >= 0.05)
    assert (rows[0].difference, rows[0].p, rows[0].t) == (0, 1, 0)


def test_noise_is_extrapolated_away():
    """Systems in one order everywhere: noise hides part of it, and settled finds most of it."""
    rng = np.random.default_rng(1)
    centre, users = np.arange(40.0)[:, None] / 10, 100
    truth = Face("open loop", centre + 0 * rng.normal(size=(40, users)), np.ones(users))
    gaps = []
    for _ in range(20):
        noisy = Face("holdout", centre + 5 * rng.normal(size=(40, users)), np.ones(users))
        (row,) = agreements("m", truth, [noisy], draws=200)
        gaps.append((1 - row.tau, 1 - row.settled))
    seen, left = np.mean(gaps, axis=0)
    assert seen > 0.1
    assert left < 0.4 * seen


def test_shared_users_are_paired():
    """The same noise on both sides: paired, a resample moves both and tau stays sure of itself."""
    truth, methods = world(2)
    same = Face("same", truth.top, truth.base)
    place = np.arange(len(truth.base))
    options = {"baseline": "same", "draws": 200}
    assert agreements("m", truth, [same], place=place, **options)[0].se == pytest.approx(0)
    assert agreements("m", truth, [same], **options)[0].se > 0.01
    half = np.where(place % 2 == 0, place, -1)
    some = agreements("m", truth, [same], place=half, **options)[0].se
    assert 0.005 < some < agreements("m", truth, [same], **options)[0].se
    assert methods


def test_seed_and_draws():
    truth, methods = world(3)
    first, again, other = (agreements("m", truth, methods, draws=100, seed=s) for s in (1, 1, 2))
    assert first == again
    assert first != other
    assert first[0].draws == 100


def test_a_method_without_an_order_has_no_tau():
    truth, methods = world(4)
    flat = Face("flat", np.ones_like(truth.top), truth.base)
    row = agreements("m", truth, [methods[0], flat], draws=50)[1]
    assert math.isnan(row.tau)
    assert math.isnan(row.p)
    assert math.isnan(row.t_two_sided)


def test_refusals():
    truth, methods = world(5)
    with pytest.raises(CounterrankError, match="no method"):
        agreements("m", truth, methods, baseline="IPS")
    few, sides = world(6, systems=3)
    with pytest.raises(CounterrankError, match="four systems"):
        agreements("m", few, sides)
