"""Estimates from merged moments are those from influence values, however the units are cut."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterrank.aggregate import GeometricMean, Mean, RatioOfMeans
from counterrank.compare import Contest, Plan, compare
from counterrank.engine.wire import packed, unpacked
from counterrank.errors import UsageError
from counterrank.estimates import Estimate
from counterrank.inference import flipped_test, interval, intervals, permutation_test, resampled
from counterrank.moments import (
    Draws,
    Merged,
    Moments,
    Resamples,
    keeps_units,
    kept,
    laid,
    poisson_weights,
    signs,
    summed,
)
from counterrank.stats.functions import PerView, mean, ratio, self_normalised, sum_of_ratios
from smooth_functions import Smooth

N = 500
CLOSE = 1e-12
FIRST, RATIO = Smooth(mean), Smooth(ratio)
SELF_NORMALISED = Smooth(self_normalised)
FUNCTIONS = (
    FIRST, RATIO, SELF_NORMALISED, Smooth(PerView(ratio)), Smooth(PerView(self_normalised)),
    Smooth(sum_of_ratios),
    Mean(), RatioOfMeans(np.ones(0)), GeometricMean(),
)  # fmt: skip
WIDTH = (1, 2, 4, 3, 5, 6, 1, 2, 1)
PLACES = list(laid(dict(enumerate(WIDTH))).values())
WEIGHTS = [[1, 3, 1, 1, 1, 1], [4, 1, 1, 2, 2, 0]]
SIGNS = [[0, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1]]
PAIRS = [(0, 6), (1, 7), (2, 3), (4, 5), (2, 8)]


def world(seed=0, n=N, clusters=90):
    """Columns for all functions, ids of units, clusters of very different sizes."""
    rng = np.random.default_rng(seed)
    common = rng.gamma(2.0, 1.0, (n, 1))
    columns = common * rng.gamma(2.0, 0.5, (n, sum(WIDTH)))
    columns[:, PLACES[-1]] = -common  # logs
    cluster = np.unique((clusters * rng.random(n) ** 3).astype(int), return_inverse=True)[1]
    ids = rng.permutation(10 * n)[:n].astype(np.uint64)
    return columns, ids, cluster


def cut(columns, ids, cluster, parts, draws=Draws(), scores=None, seed=1):  # noqa: B008
    """Sums of randomly chosen whole clusters (or units), shuffled, packed, merged in any order."""
    rng = np.random.default_rng(seed)
    owner = np.arange(len(columns)) if cluster is None else cluster
    where = rng.integers(0, parts, owner.max() + 1)[owner]
    found = []
    for part in rng.permutation(parts):
        rows = rng.permutation(np.flatnonzero(where == part))
        code, own = None, ids[rows]
        if cluster is not None:
            names, code = np.unique(cluster[rows], return_inverse=True)
            own = ids[names]
        x = None if scores is None else scores[rows]
        one = summed(columns[rows], own, draws, cluster=code, scores=x)
        found.append(unpacked(packed(one)))
    while len(found) > 1:  # a random tree of merges
        a, b = found.pop(int(rng.integers(len(found)))), found.pop(0)
        found.append(a + b)
    return found[0]


def both(parts, clustered, **more):
    """The same estimates from values per unit and from merged sums."""
    columns, ids, cluster = world()
    cluster = cluster if clustered else None
    units = pl.Series(np.arange(N))
    whole = [
        Estimate.of_columns(columns[:, at], units, f, cluster)
        for f, at in zip(FUNCTIONS, PLACES, strict=True)
    ]
    sums = cut(columns, ids, cluster, parts, **more)
    return whole, [Merged.of(sums, at, f) for f, at in zip(FUNCTIONS, PLACES, strict=True)]


def same(a, b):
    assert b.value == pytest.approx(a.value, rel=CLOSE)
    assert b.se == pytest.approx(a.se, rel=CLOSE)
    assert (b.n, b.clusters) == (a.n, a.clusters)
    assert b.interval(0.9) == pytest.approx(a.interval(0.9), rel=1e-11)


@pytest.mark.parametrize("parts", [1, 7, 64])
@pytest.mark.parametrize("clustered", [False, True])
def test_values_errors_differences_and_ratios_are_those_of_influence_values(parts, clustered):
    whole, merged = both(parts, clustered)
    for a, b in zip(whole, merged, strict=True):
        same(a, b)
    for i, j in PAIRS:
        same(whole[i] - whole[j], merged[i] - merged[j])
        same(whole[i] / whole[j], merged[i] / merged[j])
        same((whole[i] - whole[j]) / whole[0], (merged[i] - merged[j]) / merged[0])
    assert repr(merged[0]) == repr(whole[0])


def exact(columns, cluster, offset):
    """Mean less ``offset`` and centred sums of clusters, in two passes of extended precision."""
    x = columns.astype(np.longdouble) - offset
    mean = x.mean(axis=0)
    d = np.zeros((cluster.max() + 1, x.shape[1]), np.longdouble)
    np.add.at(d, cluster, x - mean)
    return mean, d


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.sampled_from([0, 1, 2, 5, 40, 700]), min_size=1, max_size=12),
    offset=st.sampled_from([0.0, 1.0, 1e4, 1e8]),
    drift=st.sampled_from([0.0, 1.0, 1e3]),
    clustered=st.booleans(),
    order=st.randoms(use_true_random=False),
)
def test_moments_merge_without_loss(seed, sizes, offset, drift, clustered, order):
    """Large means, parts of all sizes and means of their own, any order of merges."""
    rng = np.random.default_rng(seed)
    sizes = [*sizes, 30]
    blocks = [offset + drift * rng.standard_normal(3) + rng.standard_normal((n, 3)) for n in sizes]
    codes = [np.arange(n) // (3 if clustered else 1) for n in sizes]
    parts = [Moments.of(x, c if clustered else None) for x, c in zip(blocks, codes, strict=True)]
    while len(parts) > 1:
        a, b = (parts.pop(order.randrange(len(parts))) for _ in range(2))
        parts.append(a + b)
    found = parts[0]
    begin = np.cumsum([0, *(len(set(c)) for c in codes)])
    cluster = np.concatenate([c + b for c, b in zip(codes, begin, strict=False)])
    mean, d = exact(np.concatenate(blocks), cluster, offset)
    assert (found.n, found.clusters) == (sum(sizes), len(d))
    assert found.mean == pytest.approx(
        (mean + offset).astype(float), rel=CLOSE, abs=CLOSE * (1 + drift)
    )
    products = (d.T @ d).astype(float)
    scale = np.sqrt(np.outer(*[np.diag(products)] * 2))
    assert np.abs(found.products - products).max() <= CLOSE * scale.max()
    for g in np.vstack([np.eye(3), rng.standard_normal((3, 3))]):
        assert found.spread(g) == pytest.approx(
            float(np.sqrt(np.sum((d @ g) ** 2))), rel=CLOSE, abs=CLOSE * np.sqrt(scale.max())
        )


def test_columns_nearly_alike_keep_the_digits_of_their_difference():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(5000)
    columns = np.stack([x, x + 1e-6 * rng.standard_normal(5000), x], axis=1)
    found = reduce(add, [Moments.of(part) for part in np.array_split(columns, 64)])
    d = columns[:, 0] - columns[:, 1]
    g = np.array([1.0, -1.0, 0.0])
    assert found.spread(g) == pytest.approx(np.sqrt(np.sum((d - d.mean()) ** 2)), rel=1e-9)
    assert found.spread(np.array([1.0, 0.0, -1.0])) == 0  # equal systems: no error at all


def test_a_column_without_a_number_spoils_no_other():
    columns, ids, _ = world()
    columns[3, 0] = np.nan
    sums = cut(columns, ids, None, 7)
    assert np.isnan(Merged.of(sums, PLACES[0], FIRST).value)
    assert np.isnan(Merged.of(sums, PLACES[0], FIRST).se)
    units = pl.Series(np.arange(N))
    same(
        Estimate.of_columns(columns[:, PLACES[1]], units, RATIO),
        Merged.of(sums, PLACES[1], RATIO),
    )


def test_empty_parts_change_nothing_and_one_unit_has_no_error():
    columns, ids, _ = world(n=1)
    draws = Draws(resamples=4, flips=4, pairs=((0, 1),))
    scores = columns[:, None, :2]
    none = summed(columns[:0], ids[:0], draws, scores=scores[:0])
    one = summed(columns, ids, draws, scores=scores)
    for sums in (none + one + none, one):
        e = Merged.of(sums, PLACES[0], FIRST)
        assert (e.value, e.n) == (columns[0, 0], 1)
        assert np.isnan(e.se)
    assert (none + one).flips.sums == pytest.approx(one.flips.sums)
    again = np.arange(0)
    assert summed(columns[:0], ids[:0], draws, cluster=again).moments.clusters == 0


@pytest.mark.parametrize("clustered", [False, True])
def test_resamples_do_not_depend_on_the_parts(clustered):
    columns, ids, cluster = world()
    cluster = cluster if clustered else None
    own = ids if cluster is None else ids[: cluster.max() + 1]
    weights = poisson_weights(own, range(50), 7)
    each = weights if cluster is None else weights[:, cluster]
    sums = [cut(columns, ids, cluster, parts, Draws(50, seed=7)) for parts in (1, 7, 64)]
    for found in sums:
        assert found.resamples.n == pytest.approx(each.sum(axis=1), rel=CLOSE)
        assert found.resamples.sums == pytest.approx(each @ columns, rel=CLOSE)
    e = Merged.of(sums[1], PLACES[2], SELF_NORMALISED)
    means = (each @ columns)[:, PLACES[2]] / each.sum(axis=1)[:, None]
    expected = SELF_NORMALISED.finish(means)
    assert resampled([e], draws=50, seed=7)[:, 0] == pytest.approx(expected, rel=1e-11)
    d = e - Merged.of(sums[1], PLACES[1], RATIO)
    assert resampled([d], draws=50, seed=7)[:, 0] == pytest.approx(
        expected - RATIO.finish(each @ columns[:, PLACES[1]]), rel=1e-11
    )


def test_draws_are_a_pure_function_of_seed_id_and_draw():
    ids = np.arange(1000, dtype=np.uint64)
    for drawn, most in ((poisson_weights, 8), (signs, 1)):
        whole = drawn(ids, range(300), 5)
        assert (whole.shape, whole.min(), whole.max() <= most) == ((300, 1000), 0, True)
        assert np.array_equal(drawn(ids[::-7], range(70, 203), 5), whole[70:203, ::-7])
        assert not np.array_equal(drawn(ids, range(300), 6), whole)
        assert np.array_equal(ids, np.arange(1000))
    # numbers to hold on to: other versions and machines must draw the same
    assert poisson_weights(ids[:6], range(2), 0).tolist() == WEIGHTS
    assert signs(ids[:6], range(2), 0).tolist() == SIGNS


def test_large_parts_are_summed_in_blocks():
    rng = np.random.default_rng(4)
    x, ids = rng.random((5000, 2)), np.arange(5000, dtype=np.uint64)
    found = Resamples.of(x, ids, draws=1500, seed=0)
    assert found.sums == pytest.approx(poisson_weights(ids, range(1500), 0) @ x, rel=CLOSE)
    moments, d = Moments.of(x), x - x.mean(axis=0)
    assert moments.products == pytest.approx(d.T @ d, rel=CLOSE, abs=1e-9)


def scored(n=N, seed=0):
    """Scores units x measures x systems; the second measure does not count every tenth unit."""
    rng = np.random.default_rng(seed)
    scores = rng.random((n, 2, 1)) + 0.2 * rng.standard_normal((n, 2, 3)) + [0, 0.01, 0.03]
    scores[::10, 1] = 0
    return scores, rng.permutation(n).astype(np.uint64)


def test_flips_are_the_same_sums_in_any_parts():
    scores, ids = scored()
    draws = Draws(flips=130, seed=3, pairs=((0, 1), (2, 0)))
    found = [cut(scores[:, 0], ids, None, k, draws, scores).flips for k in (1, 7, 64)]
    sign = 1 - 2.0 * signs(ids, range(130), 3)
    centred = scores - scores.mean(axis=2, keepdims=True)
    d = scores[:, :, [0, 2]] - scores[:, :, [1, 0]]
    for flips in found:
        assert flips.sums == pytest.approx(np.einsum("bu,ums->bms", sign, centred), abs=1e-10)
        assert flips.observed == pytest.approx(d.sum(axis=0), abs=1e-10)
        assert flips.squares == pytest.approx((d**2).sum(axis=0), rel=CLOSE)
        z = np.abs(np.einsum("bu,ump->bmp", sign, d)) / np.sqrt((d**2).sum(axis=0))
        bar = np.abs(d.sum(axis=0)) / np.sqrt((d**2).sum(axis=0)) - 1e-9
        tested = flipped_test(flips)
        assert tested.p == pytest.approx((1 + (z >= bar).sum(axis=0)) / 131)
        most = z.max(axis=(1, 2))[:, None, None]
        assert tested.maxt == pytest.approx((1 + (most >= bar).sum(axis=0)) / 131)
        assert (tested.draws, tested.exact) == (130, False)


def test_equal_systems_tie_in_every_flip():
    scores, ids = scored()
    scores[:, :, 1] = scores[:, :, 0]
    sums = cut(scores[:, 0], ids, None, 7, Draws(flips=100, pairs=((0, 1),)), scores)
    assert flipped_test(sums.flips).p == pytest.approx(np.ones((2, 1)))


def contests(plan, parts=7):
    """The same two measures with scores and with flips."""
    scores, ids = scored()
    systems, units = ["a", "b", "c"], pl.Series(np.arange(N))
    full, light, flips = [], [], None
    every = [np.ones(N, bool), np.arange(N) % 10 != 0]
    for m, counted in enumerate(every):
        x = scores[counted, m]
        own = [Estimate.of(column, units.filter(pl.Series(counted)), Mean()) for column in x.T]
        full.append(Contest(f"m{m}", own, scores[:, m], counted, 1.0))
        sums = cut(x, ids[counted], None, parts, plan.drawn(systems) if plan else Draws())
        merged = [Merged.of(sums, slice(s, s + 1), Mean()) for s in range(3)]
        light.append(Contest(f"m{m}", merged, None, None, 1.0))
    if plan and plan.test == "permutation":
        flips = cut(scores[:, 0], ids, None, parts, plan.drawn(systems), scores).flips
    return systems, full, light, flips


@pytest.mark.parametrize("interval", ["normal", "t", "bernstein"])
@pytest.mark.parametrize("correct", ["holm", "bh", "none"])
def test_comparisons_by_t_are_the_same(interval, correct):
    plan = Plan(test="t", correct=correct, interval=interval)
    systems, full, light, _ = contests(plan)
    for a, b in zip(compare(systems, full, plan), compare(systems, light, plan), strict=True):
        for name, x in vars(a).items():
            y = getattr(b, name)
            assert y == (x if isinstance(x, str | int) else pytest.approx(x, rel=1e-9)), name


@pytest.mark.parametrize("test", ["permutation", "bootstrap"])
def test_comparisons_by_draws_agree_within_monte_carlo_error(test):
    plan = Plan(test=test, interval="bootstrap", draws=50_000, resamples=2000, baseline="a")
    systems, full, light, flips = contests(plan)
    pairs = zip(
        compare(systems, full, plan), compare(systems, light, plan, flips=flips), strict=True
    )
    for a, b in pairs:
        drawn = 10_000 if test == "permutation" else 2000
        assert b.draws == drawn  # said in the result, even where more were asked for
        for p, q in ((a.p, b.p), (a.p_corrected, b.p_corrected)):
            # corrections multiply by up to 4; a p of 0 moves by a few draws
            assert q == pytest.approx(p, abs=4 * 4 * np.sqrt(2 * (p + 1e-3) / drawn))
        assert b.low == pytest.approx(a.low, abs=0.25 * a.se)
        assert b.high == pytest.approx(a.high, abs=0.25 * a.se)
        assert b.se == pytest.approx(a.se, rel=1e-11)


def test_p_values_of_flips_are_those_of_the_permutation_test():
    scores, ids = scored(seed=5)
    draws = Draws(flips=20_000, pairs=((0, 1), (0, 2), (1, 2)))
    found = flipped_test(summed(scores[:, 0], ids, draws, scores=scores).flips, family="measure")
    other = permutation_test(
        [scores[:, 0], scores[:, 1]], draws.pairs, draws=20_000, family="measure"
    )
    for p, q in ((other.p, found.p), (other.maxt, found.maxt)):
        assert np.all(np.abs(p - q) <= 4 * np.sqrt(2 * (p * (1 - p) + 1e-4) / 20_000))


def test_intervals_take_both_kinds():
    whole, merged = both(7, False)
    assert intervals(merged[:2], method="t") == pytest.approx(intervals(whole[:2], method="t"))
    for e in (whole[0], merged[0]):
        low, high = interval(e, level=0.9, method="bernstein", span=1.0)
        assert low < e.value < high
    clustered = both(7, True)[1][0]
    with pytest.raises(UsageError, match="independent"):
        interval(clustered, level=0.9, method="bernstein", span=1.0)


def test_what_needs_values_per_unit_is_refused_with_what_to_do():
    _, merged = both(3, False, draws=Draws(resamples=20))
    for name in ("influence", "units", "columns", "grouped", "only"):
        with pytest.raises(UsageError, match='inference="units"'):
            getattr(merged[0], name)
    with pytest.raises(AttributeError):
        _ = merged[0].nonsense
    with pytest.raises(UsageError, match='inference="units"'):
        intervals(merged[:1], method="bca", draws=20)
    with pytest.raises(UsageError, match="20 were drawn, 21 are asked for"):
        resampled(merged, draws=21, seed=0)
    with pytest.raises(UsageError, match="summed together"):
        _ = merged[0] - both(3, False)[1][0]
    for plan, word in (
        (Plan(interval="bca"), "interval=bca"),
        (Plan(test="wilcoxon"), "test=wilcoxon"),
        (Plan(correct="tukey"), "correct=tukey"),
    ):
        with pytest.raises(UsageError, match=word):
            plan.drawn(["a", "b"])
        systems, _, light, _ = contests(None)
        with pytest.raises(UsageError, match=word):
            compare(systems, light, plan)


def test_the_switch_is_stated():
    assert keeps_units("auto", 1000, 10, 80_000)
    assert not keeps_units("auto", 1001, 10, 80_000)
    assert keeps_units("units", 10**9, 100, 1)
    assert not keeps_units("moments", 1, 1, 10**9)
    found = kept("auto", 12_000_000, 14, 10**9)
    assert found.protocol() == {
        "inference": "moments",
        "why": "12,000,000 units x 14 columns need 1.3 GB, the limit is 1.0 GB",
        "threshold": 10**9,
    }
    assert kept("units", 5, 5).why == "as asked for"
    assert kept("auto", 5, 5).units
    with pytest.raises(UsageError, match="inference cannot be"):
        kept("some", 5, 5)
