"""An evaluation from sums alone: what can be the same is, and the rest is near or refused."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

import counterrank as cr
from counterrank.data.runs import Policies
from counterrank.engine import Local
from counterrank.stats.plan import Plan
from cutting import COUNTS, LABELS, MANY, cut, tied, uneven

POLICIES = ("zero", "skip")
FEW = ["nDCG@5", "pnDCG@3", "AP(mean=geometric)@5", "RR(rel=4)", "ARP@3", "DCG"]


def both(truth, runs, labels, plan, count, **policies):
    whole = cr.evaluate(
        truth, runs, measure=labels, test=plan.test, draws=plan.draws, interval=plan.interval,
        resamples=plan.resamples, baseline=plan.baseline, **policies,
    )  # fmt: skip
    return whole, cut(truth, runs, count, labels, plan, Policies(**policies), inference="moments")


def near(a, b, *, but=(), tolerance=1e-11):
    """The same rows, numbers to rounding."""
    assert len(a) == len(b)
    for one, two in zip(map(asdict, a), map(asdict, b), strict=True):
        assert one.keys() == two.keys()
        for key in one.keys() - set(but):
            if isinstance(one[key], float):
                assert one[key] == pytest.approx(two[key], abs=tolerance, nan_ok=True), key
            else:
                assert one[key] == two[key], key


@pytest.fixture(scope="module", params=[(m, n) for m in POLICIES for n in POLICIES], ids="-".join)
def by_policy(request):
    """What values per unit say under both policies, whatever the number of buckets."""
    truth, runs = uneven()
    policies = dict(zip(("missing", "no_relevant"), request.param, strict=True))
    return truth, runs, policies, cr.evaluate(truth, runs, measure=LABELS, test="t", **policies)


@pytest.mark.parametrize("count", COUNTS)
def test_every_measure(by_policy, count):
    truth, runs, policies, whole = by_policy
    plan = Plan(test="t")
    sums = cut(truth, runs, count, LABELS, plan, Policies(**policies), inference="moments")
    near(sums.estimates, whole.estimates, tolerance=1e-10)
    near(sums.comparisons, whole.comparisons, tolerance=1e-8)
    near(sums.diagnostics, whole.diagnostics)
    assert sums.tables == whole.tables
    assert sums.protocol["inference"]["inference"] == "moments"


@pytest.mark.parametrize("count", COUNTS)
def test_ties(count):
    truth, runs = uneven(1)
    whole, sums = both(truth, tied(runs), FEW, Plan(test="none"), count, missing="skip")
    near(sums.diagnostics, whole.diagnostics)
    assert any(d.name == "ties" and d.state == "fail" for d in sums.diagnostics)


def test_permutation_and_bootstrap_are_near():
    """Signs and weights are others, so p and ends differ by chance alone."""
    truth, runs = uneven(2)
    plan = Plan(draws=4000, interval="bootstrap", resamples=1000, baseline="a")
    whole, sums = both(truth, runs, FEW, plan, 5)
    near(sums.estimates, whole.estimates, but=("low", "high"), tolerance=1e-10)
    chance = ("low", "high", "p", "p_corrected")
    near(sums.comparisons, whole.comparisons, but=chance, tolerance=1e-9)
    for a, b in zip(sums.comparisons, whole.comparisons, strict=True):
        assert abs(a.p - b.p) < 0.03
        assert abs(a.p_corrected - b.p_corrected) < 0.05
        assert a.low == pytest.approx(b.low, abs=0.6 * b.se)
        assert a.high == pytest.approx(b.high, abs=0.6 * b.se)


def test_the_number_of_buckets_changes_nothing_but_rounding():
    truth, runs = uneven(3)
    plan = Plan(draws=300, interval="bootstrap", resamples=100)
    one, *more = (
        cut(truth, runs, count, FEW, plan, Policies(missing="skip"), inference="moments")
        for count in (*COUNTS, MANY)
    )
    for other in more:
        near(other.estimates, one.estimates, tolerance=1e-10)
        near(other.comparisons, one.comparisons, tolerance=1e-9)


def test_what_needs_values_is_refused():
    truth, runs = uneven(4)
    sums = cut(truth, runs, 3, FEW, Plan(test="t"), Policies(), inference="moments")
    assert np.isfinite(sums.estimate("a", "DCG").se)
    assert "nDCG@5" in repr(sums)
    with pytest.raises(cr.UsageError, match="only their moments were kept"):
        sums.by_unit()
    with pytest.raises(cr.UsageError, match="wilcoxon"):
        cut(truth, runs, 3, FEW, Plan(test="wilcoxon"), Policies(), inference="moments")


@pytest.mark.parametrize("policies", [{"missing": "error"}, {"no_relevant": "error"}])
def test_refused_with_the_same_words(policies):
    truth, runs = uneven(5)
    with pytest.raises(cr.InputError) as whole:
        cr.evaluate(truth, runs, measure=["RR"], **policies)
    with pytest.raises(cr.InputError) as sums:
        cut(truth, runs, 4, ["RR"], Plan(), Policies(**policies), inference="moments")
    assert str(sums.value) == str(whole.value)


def test_asked_for_in_memory():
    truth, runs = uneven(6)
    found = cr.evaluate(truth, runs, measure=FEW, engine=Local(inference="moments"), test="t")
    near(found.estimates, cr.evaluate(truth, runs, measure=FEW, test="t").estimates)
    assert found.protocol["inference"]["why"] == "as asked for"


def test_the_switch_and_its_threshold_are_told():
    """60 users less two, three systems, two measures and what diagnostics look at beside them."""
    truth, runs = uneven(7)
    columns = 3 * (2 + 2)
    for room, kind in ((8 * 58 * columns, "units"), (8 * 58 * columns - 1, "moments")):
        found = cut(truth, runs, 4, ["nDCG@5", "RR@5"], Plan(test="t"), Policies(),
                    inference="auto", budget=room)  # fmt: skip
        told = found.protocol["inference"]
        assert (told["inference"], told["threshold"]) == (kind, room)
        assert told["why"].startswith("58 units x 12 columns need 5.6 kB")
