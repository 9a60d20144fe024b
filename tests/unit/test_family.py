"""Simultaneous intervals over the candidates of one question, and Fieller's of lifts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from counterrank.core.merge import merge
from counterrank.stats.compare import compare
from counterrank.stats.functions_of_means import mean
from counterrank.stats.inference import critical_value, largest_t
from counterrank.stats.moments import Moments
from counterrank.stats.plan import Plan
from counterrank.stats.units import Key, Units


def compared(values, plan, *, clusters=None, parts=0, lower=()):
    """Comparisons of the columns of a matrix (units x systems), the first is the baseline."""
    names = [f"s{j}" for j in range(values.shape[1])]
    keys = [Key(name, "m") for name in names]
    units = Units(
        pl.Series(np.arange(len(values))),
        {key: (np.ascontiguousarray(values[:, j]),) for j, key in enumerate(keys)},
        clusters=None if clusters is None else pl.Series(clusters),
        draws=plan.drawn(),
    )
    groups = [[(Key(a, "m"), Key(b, "m")) for a, b in plan.pairs(names)]]
    functions = dict.fromkeys(keys, mean)
    if not parts:
        return compare(units, groups, functions, plan, lower=lower)
    whole = replace(units, draws=plan.drawn("moments"))
    cut = [whole.select(np.arange(len(values)) % parts == n) for n in range(parts)]
    return compare(
        merge([Moments.of(part, functions, groups) for part in cut]), groups, functions, plan,
        lower=lower,
    )  # fmt: skip


def critical(values, plan):
    """How many standard errors the family's interval goes to either side."""
    row = compared(values, plan)[0]
    return (row.family_high - row.difference) / row.se


@pytest.mark.parametrize(("units", "systems"), [(9, 3), (21, 5), (400, 9)])
def test_all_pairs_of_independent_systems_are_tukeys(units, systems):
    rng = np.random.default_rng(units)
    x, _ = np.linalg.qr(rng.normal(size=(units, systems + 1)))
    x = x - x.mean(axis=0)
    x, _ = np.linalg.qr(x[:, :systems])  # uncorrelated, of one variance
    found = critical(x, Plan(test="t"))
    exact = stats.studentized_range.ppf(0.95, systems, units - 1) / np.sqrt(2)
    assert found == pytest.approx(exact, rel=0.02)  # the error of a quantile of 20,000 draws


@pytest.mark.parametrize(("candidates", "dunnett"), [(1, 1.96), (2, 2.21), (4, 2.44), (8, 2.65)])
def test_candidates_of_one_baseline_are_dunnetts(candidates, dunnett):
    """Dunnett (1964): two-sided 5 %, correlation 1/2, many degrees of freedom."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2000, candidates + 1))
    x, _ = np.linalg.qr(x - x.mean(axis=0))
    assert critical(x, Plan(test="t", baseline="s0")) == pytest.approx(dunnett, rel=0.015)


def table(seed=0, units=60, systems=6):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(units, 1)) + rng.normal(size=(units, systems)) / 3
    return x + 0.1 * np.arange(systems) + 5


@pytest.mark.parametrize("baseline", [None, "s0"])
@pytest.mark.parametrize("interval", ["normal", "t", "bootstrap"])
def test_moments_give_the_same_to_the_last_digits(interval, baseline):
    x = table()
    x[:, 4] = x[:, 3]  # two systems alike: their correlation is 1
    plan = Plan(baseline, "t", interval=interval, resamples=200)
    for one, other in zip(compared(x, plan), compared(x, plan, parts=4), strict=True):
        for name in (
            "family_low", "family_high", "lift", "lift_low", "lift_family_high",
            "selected_difference", "selected_low", "selected_high",
        ):  # fmt: skip
            x, y = getattr(one, name), getattr(other, name)
            assert y == (None if x is None else pytest.approx(x, rel=1e-12, abs=1e-12)), name


@pytest.mark.parametrize("interval", ["normal", "t", "bootstrap", "bca"])
def test_the_family_is_wider_than_one_and_wider_over_all(interval):
    x = table(units=100)
    plan = Plan("s0", "t", interval=interval, resamples=300)
    one, alone = compared(x, plan), compared(x, replace(plan, correct="none"))
    for a, b in zip(one, alone, strict=True):
        assert a.family_low < a.low < a.high < a.family_high
        assert (b.family_low, b.family_high) == (a.low, a.high)


def test_the_claim_is_read_off_the_family():
    for seed in range(20):
        x = table(seed)
        for lower in ((), ("m",)):
            for row in compared(x, Plan("s0", "t"), lower=lower):
                sign = (row.family_low > 0) - (row.family_high < 0)
                words = ("cannot_tell", "better", "worse")
                assert row.claim == words[-sign if lower else sign]


def test_few_units_that_all_agree_show_nothing():
    x = np.column_stack([np.arange(3.0), np.arange(3.0) + 1])
    row = compared(x, Plan("s0", "t"))[0]
    assert (row.se, row.claim) == (0, "cannot_tell")
    many = np.column_stack([np.arange(30.0), np.arange(30.0) + 1])
    assert compared(many, Plan("s0", "t"))[0].claim == "better"


def test_a_family_covers_as_often_as_it_says():
    """12 candidates of equal value in 25 clusters of 4 units: all at once, and one by one."""
    rng, runs, level = np.random.default_rng(5), 150, 0.9
    plan, held, alone, picked = Plan("s0", "t", level=level, interval="t"), 0, 0, 0
    code = np.repeat(np.arange(25), 4)
    for _ in range(runs):
        shared = rng.normal(size=(25, 13))[code] + rng.normal(size=(25, 1))[code]
        rows = compared(shared + rng.normal(size=(100, 13)), plan, clusters=code)
        held += all(r.family_low <= 0 <= r.family_high for r in rows)
        alone += all(r.low <= 0 <= r.high for r in rows)
        (best,) = (r for r in rows if r.selected_low is not None)
        assert best.difference == max(r.difference for r in rows)
        picked += best.selected_low <= 0 <= best.selected_high
    spread = np.sqrt(level * (1 - level) / runs)
    assert abs(held / runs - level) < 3 * spread
    assert abs(picked / runs - level) < 3 * spread
    assert alone / runs < level - 6 * spread


def test_pairs_without_a_spread_are_not_counted():
    x = table()
    estimates = [Units(pl.Series(np.arange(60)), {Key("s", "m"): (x[:, 0],)})]
    e = estimates[0].estimate(Key("s", "m"), mean)
    assert len(largest_t([e, e], np.array([1]), np.array([0]), np.zeros(1))) == 0
    assert critical_value(np.empty(0), 0.95, 59) == pytest.approx(stats.t.ppf(0.975, 59))


# lifts


def fieller(a, b, q):
    """Ends of all lifts that the data do not contradict, by search over a fine grid."""
    d, base = a - b, abs(b.mean())
    grid = np.linspace(-3, 3, 240_001)
    far = np.abs(d.mean() - grid * base)
    turned = np.sign(b.mean()) * b
    cov = np.cov(d, turned) / len(d)
    se = np.sqrt(cov[0, 0] - 2 * grid * cov[0, 1] + grid**2 * cov[1, 1])
    inside = grid[far <= q * se]
    return inside.min(), inside.max()


@pytest.mark.parametrize("centre", [3.0, -3.0, 0.6, -0.6])
def test_the_interval_of_a_lift_is_fiellers(centre):
    rng = np.random.default_rng(3)
    b = centre + rng.normal(size=200)
    a = b + 0.3 + 0.5 * rng.normal(size=200)
    row = compared(np.column_stack([b, a]), Plan("s0", "t"))[0]
    low, high = fieller(a, b, stats.t.ppf(0.975, 199))
    assert (row.lift_low, row.lift_high) == pytest.approx((low, high), abs=1e-4)
    assert row.lift == pytest.approx(row.difference / abs(b.mean()))


def test_no_lift_over_a_baseline_that_may_be_nothing():
    rng = np.random.default_rng(3)
    b = 0.05 + rng.normal(size=200)
    for interval in ("normal", "t", "bootstrap"):
        row = compared(np.column_stack([b, b + 1]), Plan("s0", "t", interval=interval))[0]
        assert row.lift is None
        assert np.isnan([row.lift_low, row.lift_high]).all()
        assert row.claim == "better"


@settings(max_examples=60, deadline=None)
@given(
    st.floats(-50, 50), st.floats(-5, 5), st.sampled_from(["normal", "t", "bootstrap", "bernstein"])
)
def test_a_lift_has_the_sign_of_its_difference(centre, shift, interval):
    """Whatever the sign of the values: more is never shown as less."""
    rng = np.random.default_rng(7)
    b = centre + rng.normal(size=50)
    x = np.column_stack([b, b + shift + rng.normal(size=50) / 10])
    plan = Plan("s0", "t", interval=interval, resamples=50)
    spans = dict.fromkeys((Key("s0", "m"), Key("s1", "m")), 1.0)
    units = Units(
        pl.Series(np.arange(50)), {k: (x[:, j],) for j, k in enumerate(spans)}, draws=plan.drawn()
    )
    group = [(Key("s1", "m"), Key("s0", "m"))]
    row = compare(units, [group], dict.fromkeys(spans, mean), plan, spans=spans)[0]
    if row.lift is not None:
        assert np.sign(row.lift) == np.sign(row.difference)
        assert interval == "bernstein" or row.lift_low <= row.lift_high
    if row.claim != "cannot_tell":
        assert (row.claim == "better") == (row.difference > 0)
