"""Tests, corrections and intervals against textbook procedures and other software."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
import scipy.stats

import counterrank as cr
from counterrank.core import arrays
from counterrank.stats import permutation as module
from counterrank.stats.draws import Flips, flip_codes, signs
from counterrank.stats.functions_of_means import geometric, mean, ratio, ratio_or_zero
from counterrank.stats.inference import detectable, interval, t_test, wilcoxon
from counterrank.stats.permutation import permutation_test
from making import estimates, world


def sample(n=200, systems=4, seed=0):
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(0.5, 0.2, (n, 1)) + 0.1 * rng.normal(size=(n, systems)), 0, 1)


def test_mean_has_the_textbook_standard_error_and_interval():
    x = sample()[:, 0]
    (e,) = estimates(x)
    assert e.value == pytest.approx(x.mean())
    assert e.se == pytest.approx(x.std(ddof=1) / np.sqrt(len(x)))
    low, high = interval(e, level=0.95, method="t")
    expected = scipy.stats.ttest_1samp(x, 0).confidence_interval()
    assert (low, high) == pytest.approx((expected.low, expected.high))
    low, high = interval(e, level=0.9, method="normal")
    assert high - low == pytest.approx(2 * 1.6448536269514722 * e.se)


@pytest.mark.parametrize("function", [mean, geometric, ratio, ratio_or_zero])
def test_influence_is_the_derivative_of_the_value(function):
    """Weigh one unit a little more: the value moves by its influence."""
    x, w = sample()[:, 0], sample()[:, 3] + 0.1
    columns = {mean: (x,), geometric: (np.log(np.maximum(x, 1e-5)),)}.get(function, (x, w))
    (e,) = estimates(columns, function=function)
    step = 1e-6
    for u in (0, 7, 120):
        weight = np.full(len(x), 1 / len(x))
        weight += step * ((np.arange(len(x)) == u) - weight)
        moved = function(weight @ np.stack(columns, axis=1))
        assert (moved - e.value) / step == pytest.approx(e.influence[u], rel=1e-3, abs=1e-6)
    assert e.influence.mean() == pytest.approx(0, abs=1e-12)


def test_difference_and_ratio_are_paired():
    x = sample()
    a, b = estimates(x[:, 0], x[:, 1], resamples=4000, seed=1)
    d = a - b
    paired = scipy.stats.ttest_rel(x[:, 0], x[:, 1])
    assert d.value == pytest.approx(x[:, 0].mean() - x[:, 1].mean())
    assert t_test(d) == pytest.approx(paired.pvalue)
    lift = a / b
    assert lift.value == pytest.approx(x[:, 0].mean() / x[:, 1].mean())
    assert lift.se == pytest.approx(lift.resamples.std(), rel=0.06)


def test_clusters_count_as_one():
    x = sample()[:, 0]
    users = np.repeat(np.arange(len(x)), 2)
    (doubled,) = estimates(np.repeat(x, 2), clusters=users, resamples=4000)
    assert doubled.se == pytest.approx(estimates(x)[0].se)
    assert estimates(np.repeat(x, 2))[0].se < 0.75 * doubled.se
    assert doubled.se == pytest.approx(doubled.resamples.std(), rel=0.06)


def brute(x, pairs):
    """All sign patterns, one pair at a time, in plain Python."""
    out = []
    for a, b in pairs:
        d = x[:, a] - x[:, b]
        seen = abs(d.sum())
        sums = [abs(np.dot(s, d)) for s in product((1, -1), repeat=len(d))]
        out.append(np.mean([t >= seen - 1e-12 for t in sums]))
    return out


@pytest.mark.parametrize("kind", ["continuous", "discrete"])
def test_exact_permutation_equals_enumeration(kind):
    x = sample(n=9, seed=4)
    x = np.round(x, 1) if kind == "discrete" else x
    pairs = list(combinations(range(4), 2))
    found = permutation_test([x], pairs)
    assert found.exact
    assert found.p[0] == pytest.approx(brute(x, pairs))


def test_maxt_equals_enumeration():
    x, y = sample(n=8, seed=1), sample(n=8, seed=2)
    pairs = [(0, 1), (2, 3)]
    found = permutation_test([x, y], pairs)
    each = permutation_test([x, y], pairs, family="measure")
    d = [v[:, a] - v[:, b] for v in (x, y) for a, b in pairs]
    z = np.array([
        [abs(np.dot(s, e)) / np.sqrt(np.sum(e**2)) for e in d] for s in product((1, -1), repeat=8)
    ])  # fmt: skip
    seen = np.array([abs(e.sum()) / np.sqrt(np.sum(e**2)) for e in d])
    top = z.max(axis=1)
    assert found.maxt.ravel() == pytest.approx([(top >= s - 1e-12).mean() for s in seen])
    top = z[:, :2].max(axis=1)
    assert each.maxt[0] == pytest.approx([(top >= s - 1e-12).mean() for s in seen[:2]])
    assert np.all(found.maxt >= found.p)


def test_sampled_permutation_agrees_with_scipy():
    x = sample(n=60, seed=8)
    found = permutation_test([x], [(0, 1), (1, 2)], draws=20_000)
    for j, (a, b) in enumerate([(0, 1), (1, 2)]):
        theirs = scipy.stats.permutation_test(
            (x[:, a], x[:, b]), lambda u, v, axis: np.mean(u - v, axis=axis),
            permutation_type="samples", n_resamples=20_000, vectorized=True,
            rng=np.random.default_rng(1),
        ).pvalue  # fmt: skip
        spread = np.sqrt(2 * theirs * (1 - theirs) / 20_000)
        assert abs(found.p[0, j] - theirs) < 4 * spread + 1e-4


def test_single_and_double_precision_agree(monkeypatch):
    """Also for two systems that differ by a millionth, where single precision would drown."""
    x = np.hstack([sample(n=300, seed=3), sample(n=300, seed=3)[:, :1]])
    x[:, 4] += 1e-6 * np.random.default_rng(0).normal(size=300)
    pairs = list(combinations(range(5), 2))
    double = permutation_test([x, np.round(x, 1)], pairs, draws=3000)
    monkeypatch.setattr(module, "SMALL", 0)
    single = permutation_test([x, np.round(x, 1)], pairs, draws=3000)
    assert np.abs(single.p - double.p).max() <= 1 / 3000
    assert np.abs(single.maxt - double.maxt).max() <= 1 / 3000


def test_seed_and_chunks(monkeypatch):
    x = sample(n=40)
    one = permutation_test([x], [(0, 1)], draws=5000, seed=1)
    assert permutation_test([x], [(0, 1)], draws=5000, seed=1).p == one.p
    assert permutation_test([x], [(0, 1)], draws=5000, seed=2).p != one.p
    assert one.draws == 8192
    monkeypatch.setattr(arrays, "TILE", 64)
    assert permutation_test([x], [(0, 1)], draws=5000, seed=1).p == one.p


def test_flips_are_a_group_that_keeps_its_level():
    """Whatever signs the truth gives the units, p <= a in at most a share a of them, max-T too."""
    rng = np.random.default_rng(0)
    d, code = rng.normal(size=(12, 3)).cumsum(axis=1), rng.integers(0, 16, 12).astype(np.int64)
    pairs = np.array([(1, 0), (2, 0), (2, 1)])
    turns = np.array(list(product((1.0, -1.0), repeat=12)))
    found = []
    for some in turns:
        x = [some[:, None] * d]
        found.append(module.flipped_test(Flips.of(x, pairs, code, 4)))
    for p in (np.array([f.p for f in found]), np.array([f.maxt.min(keepdims=True) for f in found])):
        for a in np.unique(p):
            assert np.all((p <= a).mean(axis=0) <= a + 1e-12)


def test_more_flips_are_cosets(monkeypatch):
    """The same test with few bits and many cosets, up to chance; and by plain sums of signs."""
    x = sample(n=80, seed=2)
    whole = permutation_test([x], [(0, 1), (2, 3)], draws=1 << 14)
    monkeypatch.setattr(module, "MOST", 6)
    cosets = permutation_test([x], [(0, 1), (2, 3)], draws=1 << 14)
    assert cosets.draws == whole.draws == 1 << 14
    spread = np.sqrt(2 * whole.p * (1 - whole.p) / (1 << 14))
    assert np.all(np.abs(cosets.p - whole.p) <= 4 * spread + 1e-4)
    ids = np.arange(80, dtype=np.uint64)
    code, d = flip_codes(ids, 6, 0), x[:, 0] - x[:, 1]
    group = 1.0 - 2 * (np.bitwise_count(np.arange(64)[:, None] & code) & 1)
    turned = [1 - 2.0 * signs(ids, range(63 + b, 64 + b), 0)[0] if b else 1.0 for b in range(256)]
    sums = np.abs(np.concatenate([group @ (d * turn) for turn in turned]))
    assert cosets.p[0, 0] == np.mean(sums >= abs(d.sum()) - 1e-9)


def test_nearly_identical_systems_keep_their_digits():
    """A pair that differs by a millionth: sums of squared differences and p as in plain sums."""
    rng = np.random.default_rng(1)
    x = rng.random((400, 3))
    x[:, 1] = x[:, 0] + 1e-6 * rng.normal(size=400)
    pairs = np.array([(1, 0), (2, 0)])
    flips = Flips.of([x], pairs, flip_codes(np.arange(400, dtype=np.uint64), 14, 0), 14)
    d = x[:, pairs[:, 0]] - x[:, pairs[:, 1]]
    assert flips.squares[0] == pytest.approx((d**2).sum(axis=0), rel=1e-10)
    alone = permutation_test([x[:, :2]], [(1, 0)], draws=1 << 14)
    assert module.flipped_test(flips).p[0, 0] == alone.p[0, 0]


def test_flips_by_the_number_of_comparisons():
    bits = [module.flips_for(n).bit_length() - 1 for n in (1, 256, 512, 1260, 30_000)]
    assert bits == [17, 17, 16, 14, 14]


def test_shift_of_a_whole_unit_changes_nothing():
    """Only differences count: adding the same to all systems of a user is no evidence."""
    x = sample(n=50)
    shifted = x + np.random.default_rng(0).normal(size=(50, 1)) * 100
    a, b = (permutation_test([v], [(0, 1), (2, 3)], draws=2000) for v in (x, shifted))
    assert np.array_equal(a.p, b.p)


def test_wilcoxon_equals_other_software():
    x = sample(n=30, systems=3, seed=6)
    d = x[:, 0] - x[:, 1] + 1e-3  # no zeros: the ways to treat them differ
    assert wilcoxon(d) == pytest.approx(scipy.stats.wilcoxon(d).pvalue)
    assert wilcoxon(np.zeros(5)) == 1.0


def test_every_test_and_correction_runs_through_evaluate():
    truth, runs = world()
    for test in ("permutation", "t", "bootstrap", "wilcoxon"):
        for correct in ("none", "holm", "bh", "maxt"):
            if correct == "maxt" and test != "permutation":
                with pytest.raises(cr.UsageError, match="max-T needs"):
                    cr.evaluate(truth, runs, test=test, correct=correct)
                continue
            rows = cr.evaluate(
                truth, runs, measure=["nDCG@5", "AP@5"], test=test, correct=correct, draws=500,
                resamples=500,
            ).comparisons  # fmt: skip
            assert len(rows) == 6
            assert all(0 < r.p <= 1 and 0 < r.p_corrected <= 1 for r in rows)
            assert all(r.p_corrected >= r.p - 1e-12 for r in rows)


def test_bootstrap_resamples_ratios_as_ratios():
    weight = np.random.default_rng(0).gamma(1, 1, 300)
    (e,) = estimates((0.3 * weight, weight), function=ratio, resamples=200)
    assert e.resamples.std() < 1e-12
    assert e.se == pytest.approx(0, abs=1e-12)


def test_bca_equals_scipy():
    x = np.random.default_rng(3).exponential(size=100)
    (e,) = estimates(x, resamples=20_000)
    low, high = interval(e, level=0.95, method="bca", resamples=e.resamples)
    theirs = scipy.stats.bootstrap(
        (x,), np.mean, method="BCa", n_resamples=20_000, rng=np.random.default_rng(0)
    ).confidence_interval
    assert (low, high) == pytest.approx((theirs.low, theirs.high), rel=0.02)


def test_bernstein_is_wider_and_refused_without_bounds():
    (e,) = estimates(sample()[:, 0])
    normal, safe = (interval(e, level=0.95, method=m, span=1.0) for m in ("normal", "bernstein"))
    assert safe[0] < normal[0] < normal[1] < safe[1]
    with pytest.raises(cr.UsageError):
        interval(e, level=0.95, method="bernstein")


def test_detectable_difference():
    assert detectable(1e9) == pytest.approx(1.959964 + 0.841621, rel=1e-6)
    assert detectable(9.0) == pytest.approx(2.262157 + 0.883404, rel=1e-6)


def test_skipped_users_are_compared_where_all_have_values():
    truth, runs = world()
    fewer = {"a": runs["a"], "b": runs["b"].filter(pl.col("user") != "u1")}
    result = cr.evaluate(truth, fewer, measure=["nDCG@5"], missing="skip", draws=200)
    assert [e.units for e in result.estimates] == [40, 39]
    assert result.comparisons[0].units == 39
    same = cr.evaluate(
        truth.filter(pl.col("user") != "u1"), fewer, measure=["nDCG@5"], missing="skip", draws=200
    )
    assert result.comparisons[0].difference == pytest.approx(same.comparisons[0].difference)
    assert result.comparisons[0].p == pytest.approx(same.comparisons[0].p, abs=0.1)
