"""The demonstration keeps its promises: honest intervals, and a reversal that is really there.

Many logs of the same feed. Candidates of one log share most of its noise, so whatever is
averaged is averaged by log first, and its error is that of independent logs.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from counterrank.api import demo
from counterrank.api.exposure import exposure
from counterrank.simulate import platform
from sizes import replications

LOGS, SESSIONS = replications(100, by_day=30), 4000
LABELS = ("DR", "SNIPS", "IPS")
GROUPS = {"all": ("OnPolicy", *LABELS), **{label: (label,) for label in ("OnPolicy", *LABELS)}}
ROWS = {"all": 13, "OnPolicy": 1}


@pytest.fixture(scope="module")
def truth():
    return {name: known[demo.REWARD].value for name, known in demo.feed().truth().items()}


@pytest.fixture(scope="module")
def found(truth):
    world = demo.feed()
    results = []
    for seed in range(LOGS):
        sample = platform(world, sessions=SESSIONS, seed=seed, runs=demo.CANDIDATES)
        bias = exposure(sample.log, reward="click").model
        results.append(demo.reveal(demo.estimate_feed(sample.log, sample.runs, bias), truth))
    return results


def by_log(found, labels, of):
    """``of`` every row of these estimators: logs x rows."""
    return np.array([[of(r) for r in one.truth if r.estimator in labels] for one in found])


@pytest.mark.parametrize("group", GROUPS)
def test_intervals_hold_the_truth_as_often_as_they_claim(found, group):
    inside = by_log(found, GROUPS[group], lambda r: r.inside == "yes")
    assert inside.shape == (LOGS, ROWS.get(group, 4))
    share = inside.mean(axis=1)
    independent = sqrt(0.95 * 0.05 / inside.size)  # the error can hardly be smaller than this
    error = max(share.std(ddof=1) / sqrt(LOGS), independent)
    assert abs(share.mean() - 0.95) < 3 * error, (share.mean(), error)


@pytest.mark.parametrize("group", GROUPS)
def test_standard_errors_are_the_spread_of_the_estimates(found, group):
    """Squared errors in standard errors are 1 on average: a sharper look at the same intervals."""
    half = 1.959964
    off = by_log(
        found, GROUPS[group], lambda r: (r.estimate - r.truth) * 2 * half / (r.high - r.low)
    )
    square = (off**2).mean(axis=1)
    assert abs(square.mean() - 1) < 3 * square.std(ddof=1) / sqrt(LOGS)
    mean = off.mean(axis=1)
    assert abs(mean.mean()) < 3 * mean.std(ddof=1) / sqrt(LOGS)


def test_the_reversal_is_true(truth):
    """Whatever the sample: nDCG's favourite is worth less than production, DR's the most."""
    assert max(demo.CANDIDATES, key=truth.__getitem__) == "long_form"
    assert truth["short_form"] < 0.9 * truth["logged"]
    assert truth["long_form"] > 1.2 * truth["logged"]


def test_the_reversal_shows_in_the_logs(found, truth):
    """By nDCG in every log, by DR in 95 of 100, with a tenth of the demonstration's sessions."""
    assert {demo.best_by(one, "nDCG") for one in found} == {"short_form"}
    best = [demo.best_by(one, "DR") for one in found]
    assert best.count("long_form") >= 0.95 * LOGS
    for one, name in zip(found, best, strict=True):
        lost = 1 - truth["short_form"] / truth[name]
        assert one.loss == pytest.approx(lost)
        assert f"picked short_form: {lost:.0%} less watch time than {name}" in one.revealed


def test_what_is_estimated_does_not_know_the_truth(found):
    """Another truth changes what is revealed, and nothing that was told before."""
    one = found[0]
    other = demo.reveal(one, dict.fromkeys(one.systems, 1.0))
    keys = ("truth", "revealed")
    before, after = one.to_dict()["tables"], other.to_dict()["tables"]
    assert all(before[key] != after[key] for key in keys)
    assert {k: v for k, v in before.items() if k not in keys} == {
        k: v for k, v in after.items() if k not in keys
    }
    assert one.protocol["logged_exposure"] == "rank"  # not the simulator's exposures
