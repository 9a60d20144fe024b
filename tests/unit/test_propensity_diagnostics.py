"""Diagnostics of click and conversion models: silent where they are right, loud where not."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from clicked_world import world
from counterrank.diagnostics.funnel_checks import (
    EVENTS,
    chance_model,
    event_overlap,
    outcome_model,
)
from counterrank.nuisance.calibration import (
    calibration,
    click_calibrations,
    every_pair,
    overlap,
)
from counterrank.nuisance.cross_fit import cross_fit

CLICK = EVENTS["ctr"]


def click_model(fit, label):
    """The diagnostic of clicks by pair."""
    return next(chance_model({"pair": fit}, label, CLICK))


def conversion_model(fit, label):
    return outcome_model(fit, label, CLICK)


def diagnosed(models):
    """Of clicks, of conversions (each clicked pair weighed by 1/ctr), and of overlap."""
    user, item, y = models.pairs.clicked
    weight = 1 / models.ctr(user, item)
    conversions = calibration(user, item, y, models.cvr(user, item), weight)
    return [
        *chance_model(click_calibrations(models), models.clicks.label, CLICK),
        conversion_model(conversions, models.conversions.label),
        event_overlap(overlap(models), CLICK),
    ]


@pytest.mark.parametrize("kind", ["all", "rows"])
def test_models_that_are_right_pass(kind):
    for seed in range(5):
        pairs = world(400, 60, seed=seed).drawn(seed, pairs=kind)
        found = diagnosed(cross_fit(pairs))
        assert [d.state for d in found] == ["pass"] * 5, found


def test_an_overfitted_model_is_found_out():
    pairs = world(300, 60).drawn(0)
    found = diagnosed(cross_fit(pairs, ctr="factors(d=4,l2=0.3)", cvr="rates"))[0]
    assert found.state == "fail"
    assert found.value > found.threshold
    assert "take another model" in found.meaning


def test_wrong_predictions_are_loud_and_right_ones_silent():
    place = world(600, 60)
    pairs = place.drawn(1)
    user, item, z = every_pair(pairs, 0)
    p = place.ctr[user, item]
    u, i, y = pairs.clicked
    h, w = place.cvr[u, i], 1 / place.ctr[u, i]
    assert click_model(calibration(user, item, z, p), "given").state == "pass"
    assert conversion_model(calibration(u, i, y, h, w), "given").state == "pass"
    assert click_model(calibration(user, item, z, 0.7 * p), "given").state == "fail"
    steep = p**1.5 * (z.mean() / np.mean(p**1.5))  # right on average, wrong at every height
    assert calibration(user, item, z, steep).ratio == pytest.approx(1)
    assert click_model(calibration(user, item, z, steep), "given").state == "fail"
    assert conversion_model(calibration(u, i, y, 0.6 * h, w), "given").state == "fail"


def test_a_conversion_model_right_for_clicked_pairs_alone_is_loud():
    """Those who click much buy little; the mean of clicked pairs is not that of all."""
    place = world(2000, 20, kind="items")
    keen = np.arange(2000)[:, None] < 1000
    biased = replace(
        place,
        ctr=np.where(keen, 0.05, 0.4) * np.ones(20),
        cvr=np.where(keen, 0.8, 0.2) * np.ones(20),
    )
    u, i, y = biased.drawn(0).clicked
    h = np.full(len(y), y.mean())
    assert conversion_model(calibration(u, i, y, h), "unweighted").state == "pass"
    assert conversion_model(calibration(u, i, y, h, 1 / biased.ctr[u, i]), "x").state == "fail"


def test_bins_ratios_and_errors_by_hand():
    row = np.arange(40)
    user, item = row // 4, row % 10
    y, p = (row % 4 == 0).astype(float), np.repeat([0.3, 0.6], 20)
    found = calibration(user, item, y, p)
    low, high = y[:20].sum() / 6, y[20:].sum() / 12
    assert found.by_bin == pytest.approx([low, high])
    assert found.ratio == pytest.approx(10 / 18)
    residual, left = y - p, y - 10 / 18 * p
    squares = 10 / 9 * sum(residual[user == u].sum() ** 2 for u in range(10))
    more = 10 / 9 * sum(left[item == i].sum() ** 2 for i in range(10)) - sum(left**2)
    squares += max(more, 0)
    assert found.se == pytest.approx(np.sqrt(squares) / 18)
    t = (found.ratio - 1) / found.se
    assert found.p_ratio == pytest.approx(2 * student.sf(abs(t), 9))
    thin = calibration(user, item, y, np.repeat([0.2, 0.4], 20))
    assert len(thin.by_bin) == 1, "4 expected clicks are too few for a bin"


def test_a_common_error_shows_with_few_items():
    """Were it taken for scatter between items, t could not exceed the root of their number."""
    for items in (8, 12):
        place = world(1500, items)
        for seed in range(5):
            pairs = place.drawn(seed)
            user, item, z = every_pair(pairs, 0)
            p = place.ctr[user, item]
            u, i, y = pairs.clicked
            h, w = place.cvr[u, i], 1 / place.ctr[u, i]
            assert click_model(calibration(user, item, z, p), "given").state == "pass"
            assert conversion_model(calibration(u, i, y, h, w), "given").state == "pass"
            assert click_model(calibration(user, item, z, 0.6 * p), "given").state == "fail"
            assert conversion_model(calibration(u, i, y, 0.4 * h, w), "given").state == "fail"


def test_predictions_of_nothing_or_below_0_are_no_accident():
    pairs = world(300, 20).drawn(0)
    u, i, y = pairs.clicked
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert conversion_model(calibration(u, i, y, 0 * y), "zero").state == "caution"
        below = calibration(u, i, y, np.full(len(y), -0.2))
    assert below.se > 0
    assert conversion_model(below, "below").state == "fail"


def test_standard_errors_are_those_of_replications():
    """Users share a mood and items a wrong rate: errors must know both."""
    place = world(150, 40)
    ratios, errors = [], []
    random = np.random.default_rng(0)
    for _ in range(300):
        mood, rate = random.normal(0, 0.6, (150, 1)), random.normal(0, 0.4, (1, 40))
        p = 0.1 * np.exp(mood + rate - (0.36 + 0.16) / 2)
        z = (random.random(p.shape) < p).astype(float).ravel()
        user, item = np.divmod(np.arange(6000), 40)
        found = calibration(user, item, z, np.full(6000, 0.1))
        ratios.append(found.ratio)
        errors.append(found.se)
    assert place.ctr.shape == (150, 40)
    spread = np.std(ratios, ddof=1)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(spread, rel=4 / np.sqrt(2 * 300))


def test_the_test_of_calibration_holds_its_level():
    place = world(300, 50)
    user, item = np.divmod(np.arange(15000), 50)
    p = place.ctr.ravel()
    ps = []
    for seed in range(300):
        z = (np.random.default_rng([seed, 9]).random(15000) < p).astype(float)
        ps.append(calibration(user, item, z, p).p)
    assert np.mean(np.array(ps) < 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 300)
    assert np.mean(np.array(ps) < 0.001) < 0.02


def test_overlap_tells_small_probabilities():
    fine = overlap(cross_fit(world(300, 40).drawn(0)))
    assert event_overlap(fine, CLICK).state == "pass"
    assert fine.smallest <= fine.quantiles[0.01] <= fine.quantiles[0.5]
    rare = overlap(cross_fit(world(3000, 40, average=-8).drawn(0)))
    assert event_overlap(rare, CLICK).state == "fail"
    assert rare.below > 0.5
    n = cross_fit(world(300, 40).drawn(0))
    user, item = np.divmod(np.arange(12000), 40)
    assert fine.effective == pytest.approx(12000**2 / np.sum(1 / n.ctr(user, item)))


def test_many_pairs_are_judged_by_some_users(monkeypatch):
    n = cross_fit(world(400, 50).drawn(0))
    whole = click_calibrations(n)["pair"]
    monkeypatch.setattr("counterrank.nuisance.calibration.MOST_PAIRS", 5000)
    part = click_calibrations(n)["pair"]
    assert (whole.users, part.users) == (400, 100)
    assert part.ratio == pytest.approx(whole.ratio, abs=4 * part.se)
