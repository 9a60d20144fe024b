"""One table of units: estimates, differences and comparisons, from rows or from their moments."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from counterrank.core.errors import UsageError
from counterrank.core.merge import merge
from counterrank.stats import functions_of_means as f
from counterrank.stats.compare import compare
from counterrank.stats.draws import Draws
from counterrank.stats.moments import Moments
from counterrank.stats.plan import Plan
from counterrank.stats.units import Key, Units
from counterrank.stratified.stratified_value import Stratified

A, B, C = (Key(name, "x") for name in "abc")


def table(n=400, *, clusters=False, masks=False, draws=None, seed=1):
    rng = np.random.default_rng(seed)
    base = rng.gamma(2.0, size=n)
    columns = {k: (base * rng.uniform(size=n), base) for k in (A, B, C)}
    users = pl.Series([f"u{x}" for x in rng.integers(0, n // 4, n)]) if clusters else None
    counted = {B: rng.uniform(size=n) < 0.7} if masks else {}
    return Units(pl.Series(np.arange(n)), columns, counted, users, draws or Draws())


def parts(units: Units, count=5):
    place = np.arange(len(units.ids)) % count
    return [units.select(place == number) for number in range(count)]


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("clusters", [False, True])
def test_merged_parts_are_the_whole_to_the_last_bit(clusters, masks):
    whole = table(clusters=clusters, masks=masks)
    again = merge(parts(whole)[::-1])
    for key in (A, B, C):
        one, other = whole.estimate(key, f.ratio), again.estimate(key, f.ratio)
        assert (one.value, one.se, one.n, one.clusters) == (
            other.value,
            other.se,
            other.n,
            other.clusters,
        )


def test_influence_is_that_of_the_formula():
    units = table()
    x, w = units.columns[A]
    psi = (x - x.sum() / w.sum() * w) / w.mean()
    e = units.estimate(A, f.ratio)
    np.testing.assert_allclose(e.influence, psi, rtol=1e-12, atol=1e-12)
    assert e.se == pytest.approx(np.std(psi, ddof=1) / np.sqrt(len(psi)), rel=1e-12)


def test_clusters_are_summed_before_they_are_squared():
    units = table(clusters=True)
    psi = units.influence(A, f.ratio)
    sums = pl.DataFrame({"u": units.clusters, "psi": psi}).group_by("u").sum()["psi"].to_numpy()
    size = units.clusters.value_counts()["count"].to_numpy().astype(float)
    n, share = len(psi), size / len(psi)
    # what clusters' own effects leave in their sums, term by term: the sum over clusters of
    # n_g^2 E(a_g - sum_h share_h a_h)^2 with independent a of variance 1
    left = sum(
        s**2 * ((1 - p) ** 2 + np.sum(share**2) - p**2) for s, p in zip(size, share, strict=True)
    )
    expected = np.sqrt(np.sum(size**2) / left * np.sum(sums**2)) / n
    found = units.estimate(A, f.ratio)
    assert found.se == pytest.approx(expected, rel=1e-12)
    assert found.freedom == pytest.approx(1 / np.sum(share**2) - 1, rel=1e-12)


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("test", ["t", "bootstrap"])
def test_moments_of_parts_give_the_same_comparisons(clusters, masks, test):
    plan = Plan(baseline="a", test=test, interval="bootstrap", resamples=500, seed=3)
    units = table(clusters=clusters, masks=masks, draws=plan.drawn())
    functions = dict.fromkeys((A, B, C), f.ratio)
    groups = [[(B, A)], [(C, A)]]
    pieces = merge([part.by_cluster(3) for part in parts(units)])
    moments = merge([Moments.of(piece, functions, groups) for piece in pieces.values()])
    for key in functions:
        one, other = units.estimate(key, f.ratio), moments.estimate(key, f.ratio)
        assert other.value == pytest.approx(one.value, rel=1e-12)
        assert other.se == pytest.approx(one.se, rel=1e-12)
        np.testing.assert_allclose(other.resamples, one.resamples, rtol=1e-11)
    for one, other in zip(
        compare(units, groups, functions, plan), compare(moments, groups, functions, plan),
        strict=True,
    ):  # fmt: skip
        for name, value in vars(one).items():
            close = (
                pytest.approx(value, rel=1e-9, nan_ok=True) if isinstance(value, float) else value
            )
            assert vars(other)[name] == close, name


def test_flips_while_reading_test_as_well_as_flips_of_values():
    plan = Plan(draws=10_000, seed=2)
    units = table(draws=plan.drawn("moments"))
    functions, groups = dict.fromkeys((A, B, C), f.mean), [[(B, A), (C, A), (C, B)]]
    moments = merge([Moments.of(part, functions, groups) for part in parts(units)])
    ours, theirs = (compare(t, groups, functions, plan) for t in (moments, units))
    for one, other in zip(ours, theirs, strict=True):
        assert one.difference == pytest.approx(other.difference, rel=1e-12)
        assert one.p == pytest.approx(other.p, abs=0.02)


def test_estimates_over_other_units_refuse_to_subtract():
    units = table(masks=True)
    with pytest.raises(UsageError, match="same units"):
        units.estimate(A, f.ratio) - units.estimate(B, f.ratio)
    shared = units.over(A, B)
    assert (shared.estimate(A, f.ratio) - shared.estimate(B, f.ratio)).n == units.count(B)


def test_columns_that_keys_share_are_held_once():
    units = table()
    base = units.columns[A][1]
    assert all(units.columns[key][1] is base for key in (A, B, C))
    again = merge(parts(units))
    assert again.columns[A][1] is again.columns[B][1]


@pytest.mark.parametrize(
    ("function", "means", "slopes"),
    [
        (f.mean, [2.0], [1.0]),
        (f.geometric, [0.3], [np.exp(0.3)]),
        (f.ratio, [2.0, 5.0], [1 / 5, -2 / 25]),
        (f.self_normalised, [1.0, 2.0, 3.0, 4.0], [1, 3 / 4, 2 / 4, -2 * 3 / 16]),
        (f.sum_of_ratios, [1.0, 2.0, 4.0, 5.0, 0.5, 0.0], [0.125, 0, -0.03125, 0, 0.25, 0]),
        (f.PerView(f.mean), [3.0, 2.0], [0.5, -0.75]),
    ],
)
def test_gradients_by_a_complex_step_are_the_derivatives(function, means, slopes):
    np.testing.assert_allclose(f.gradient(function, np.array(means)), slopes, rtol=1e-14)


def test_the_stratified_value_leaves_out_a_stratum_with_nothing_to_find():
    value = Stratified(2)
    means = np.array([1.0, 2.0, 0.0, 0.0, 3.0, 5.0])  # x1, w1, x2, w2, n1, n2
    assert value(means) == pytest.approx(0.5)
