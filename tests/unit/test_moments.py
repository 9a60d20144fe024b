"""Estimates from merged moments are those from influence values, however the units are cut."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterrank.core.errors import UsageError
from counterrank.core.merge import merge
from counterrank.data.ids import hash_ids
from counterrank.engine.engines import Storage
from counterrank.engine.wire import pack, unpack
from counterrank.stats.compare import compare
from counterrank.stats.draws import BITS, Draws, Flips, flip_codes, poisson_weights, resample, signs
from counterrank.stats.functions_of_means import (
    PerView,
    geometric,
    mean,
    ratio,
    ratio_or_zero,
    self_normalised,
    sum_of_ratios,
)
from counterrank.stats.inference import interval
from counterrank.stats.moments import Moments, Root, keys_of
from counterrank.stats.permutation import flipped_test, permutation_test, transform
from counterrank.stats.plan import Plan
from counterrank.stats.units import Key, Units

N = 500
CLOSE = 1e-12
FUNCTIONS = (
    mean, ratio, self_normalised, PerView(ratio), PerView(self_normalised), sum_of_ratios,
    ratio_or_zero, geometric,
)  # fmt: skip
KEYS = tuple(Key(str(number), "x") for number in range(len(FUNCTIONS)))
PLACES = [slice(a, b) for a, b in pairwise([0, 1, 3, 7, 10, 15, 21, 23, 24])]
PAIRS = [(0, 1), (1, 6), (2, 3), (4, 5), (2, 7)]
GROUP = [(KEYS[a], KEYS[b]) for a, b in PAIRS]
WEIGHTS = [[1, 3, 1, 1, 1, 1], [4, 1, 1, 2, 2, 0]]
SIGNS = [[0, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1]]


def world(seed=0, n=N, clusters=None, draws=Draws()):  # noqa: B008
    """Columns for all functions; clusters, if any, are of very different sizes."""
    rng = np.random.default_rng(seed)
    common = rng.gamma(2.0, 1.0, (n, 1))
    columns = common * rng.gamma(2.0, 0.5, (n, PLACES[-1].stop))
    columns[:, PLACES[-1]] = -common  # logs
    owner = pl.Series((clusters * rng.random(n) ** 3).astype(int)) if clusters else None
    own = {key: tuple(columns.T[at]) for key, at in zip(KEYS, PLACES, strict=True)}
    return Units(pl.Series(rng.permutation(10 * n)[:n]), own, clusters=owner, draws=draws)


def rows_of(units, rows):
    return Units(
        units.ids.gather(rows),
        {key: tuple(x[rows] for x in own) for key, own in units.columns.items()},
        {key: mask[rows] for key, mask in units.masks.items()},
        None if units.clusters is None else units.clusters.gather(rows),
        units.draws,
    )


def cut(units, parts, groups=(GROUP,), seed=1):
    """Moments of randomly chosen whole clusters (or units), shuffled, sent, merged in any order."""
    rng = np.random.default_rng(seed)
    code, groups_of_units = units.coded_clusters
    owner = np.arange(units.n) if code is None else code
    where = rng.integers(0, parts, groups_of_units)[owner]
    found = []
    for part in rng.permutation(parts):
        some = rows_of(units, rng.permutation(np.flatnonzero(where == part)))
        found.append(unpack(pack(Moments.of(some, units.columns, groups))))
    while len(found) > 1:  # a random tree of merges
        a, b = found.pop(int(rng.integers(len(found)))), found.pop(0)
        found.append(merge([a, b]))
    return found[0]


def estimates(table):
    return [table.estimate(key, f) for key, f in zip(KEYS, FUNCTIONS, strict=True)]


def grouped(moments):
    """Estimates over the same units: those of the block that the whole group has."""
    block = moments.over(*keys_of(GROUP))
    return [block.estimate(key, f) for key, f in zip(KEYS, FUNCTIONS, strict=True)]


def same(a, b):
    assert b.value == pytest.approx(a.value, rel=CLOSE)
    assert b.se == pytest.approx(a.se, rel=CLOSE)
    assert (b.sizes, b.freedom) == (a.sizes, a.freedom)
    assert b.interval(0.9) == pytest.approx(a.interval(0.9), rel=1e-11)


@pytest.mark.parametrize("parts", [1, 7, 64])
@pytest.mark.parametrize("clusters", [None, 90])
def test_values_errors_differences_and_ratios_are_those_of_influence_values(parts, clusters):
    units = world(clusters=clusters)
    moments = cut(units, parts)
    whole, merged = estimates(units), grouped(moments)
    for own in (estimates(moments), merged):
        for a, b in zip(whole, own, strict=True):
            same(a, b)
    narrow = estimates(cut(units, parts, ()))  # few columns keep fourth powers
    for a, b in zip(whole[:2], narrow[:2], strict=True):
        assert b.carriers == pytest.approx(a.carriers, rel=1e-9)
        assert b.skewness == pytest.approx(a.skewness, rel=1e-7, abs=1e-14)
        psi = a.influence
        formula = np.sum(psi**3) ** 2 / np.sum(psi**2) ** 3
        assert a.skewness == pytest.approx(formula, rel=1e-9, abs=1e-14)
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
    parts = [Root.of(x, c if clustered else None) for x, c in zip(blocks, codes, strict=True)]
    while len(parts) > 1:
        a, b = (parts.pop(order.randrange(len(parts))) for _ in range(2))
        parts.append(a + b)
    found = parts[0]
    begin = np.cumsum([0, *(len(set(c)) for c in codes)])
    cluster = np.concatenate([c + b for c, b in zip(codes, begin, strict=False)])
    mean, d = exact(np.concatenate(blocks), cluster, offset)
    assert (found.sizes.n, found.sizes.clusters) == (sum(sizes), len(d))
    assert found.mean == pytest.approx(
        (mean + offset).astype(float), rel=CLOSE, abs=CLOSE * (1 + drift)
    )
    products = (d.T @ d).astype(float)
    scale = np.sqrt(np.outer(*[np.diag(products)] * 2))
    assert np.abs(found.centred.T @ found.centred - products).max() <= CLOSE * scale.max()
    for g in np.vstack([np.eye(3), rng.standard_normal((3, 3))]):
        assert np.linalg.norm(found.influence(g)) == pytest.approx(
            float(np.sqrt(np.sum((d @ g) ** 2))), rel=CLOSE, abs=CLOSE * np.sqrt(scale.max())
        )


def test_columns_nearly_alike_keep_the_digits_of_their_difference():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(5000)
    columns = np.stack([x, x + 1e-6 * rng.standard_normal(5000), x], axis=1)
    found = reduce(add, [Root.of(part) for part in np.array_split(columns, 64)])
    d = columns[:, 0] - columns[:, 1]
    g = np.array([1.0, -1.0, 0.0])
    assert np.linalg.norm(found.influence(g)) == pytest.approx(
        np.sqrt(np.sum((d - d.mean()) ** 2)), rel=1e-9
    )
    assert (
        np.linalg.norm(found.influence(np.array([1.0, 0.0, -1.0]))) == 0
    )  # equal systems: no error at all


def test_a_column_without_a_number_spoils_no_other():
    units = world()
    units.columns[KEYS[0]][0][3] = np.nan
    whole, merged = estimates(units), estimates(cut(units, 7))
    assert np.isnan(merged[0].value)
    assert np.isnan(merged[0].se)
    for a, b in zip(whole[1:], merged[1:], strict=True):
        same(a, b)


def test_empty_parts_change_nothing_and_one_unit_has_no_error():
    units = world(n=1, draws=Draws(4, 4))
    none, one = (Moments.of(rows_of(units, rows), KEYS, [GROUP]) for rows in ([], [0]))
    for moments in (merge([none, one, none]), one):
        e = moments.estimate(KEYS[0], mean)
        assert (e.value, e.n) == (units.columns[KEYS[0]][0][0], 1)
        assert np.isnan(e.se)
    assert merge([none, one]).flips.sums == pytest.approx(one.flips.sums)
    clustered = rows_of(world(clusters=9, draws=Draws(4)), [])
    assert Moments.of(clustered, KEYS, [GROUP]).over(*KEYS).root.sizes.clusters == 0


@pytest.mark.parametrize("clusters", [None, 90])
def test_resamples_do_not_depend_on_the_parts(clusters):
    units = world(clusters=clusters, draws=Draws(50, seed=7))
    owner = units.ids if units.clusters is None else units.clusters
    weights = poisson_weights(hash_ids(owner), range(50), 7).astype(float)  # draws x units
    n = weights.sum(axis=1)
    for parts in (1, 7, 64):
        moments = cut(units, parts)
        block = moments.over(*KEYS)
        assert block.drawn.sums[:, 0] == pytest.approx(n, rel=CLOSE)
        whole, merged = estimates(units), estimates(moments)
        for key, f, a, b in zip(KEYS, FUNCTIONS, whole, merged, strict=True):
            sums = weights @ np.stack(units.columns[key], axis=1)
            own = block.drawn.sums[:, block.among[block.places[key]]]
            assert own == pytest.approx(sums, rel=CLOSE)
            values = f(sums / n[:, None])
            assert a.resamples == pytest.approx(values, rel=1e-11)
            assert b.resamples == pytest.approx(values, rel=1e-11)
        paired = grouped(moments)
        d, lift = paired[2] - paired[1], paired[2] / paired[1]
        x, y = (e.resamples for e in (whole[2], whole[1]))
        assert d.resamples == pytest.approx(x - y, rel=1e-10)
        assert lift.resamples == pytest.approx(x / y, rel=1e-10)


@pytest.mark.parametrize("clusters", [None, 90])
def test_many_clusters_are_drawn_by_group_however_they_are_cut(clusters):
    few, many = (world(clusters=clusters, draws=Draws(50, many=n)) for n in (N, 40))
    whole, apart = estimates(many), estimates(few)
    groups = many.cluster_sums([])
    assert (groups.grouped, len(groups.ids)) == (True, 1 << BITS)
    assert groups.columns[0].sum() == N
    for parts in (1, 7, 64):  # of 64 none has many clusters by itself
        moments = cut(many, parts)
        shared = {id(block.drawn) for block in moments.blocks.values()}
        assert len(shared) == 1  # weights are drawn once for all
        for a, b, c in zip(whole, estimates(moments), apart, strict=True):
            assert a.resamples == pytest.approx(b.resamples, rel=1e-11)
            assert not np.allclose(a.resamples, c.resamples, rtol=1e-6)  # other weights


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
    sums = poisson_weights(ids, range(1500), 0) @ x
    assert resample(x, ids, Draws(1500)) == pytest.approx(sums, rel=CLOSE)
    assert resample(list(x.T), ids, Draws(1500)) == pytest.approx(sums, rel=CLOSE)
    root, d = Root.of(x), x - x.mean(axis=0)
    assert root.centred.T @ root.centred == pytest.approx(d.T @ d, rel=CLOSE, abs=1e-9)


def scored(n=N, seed=0):
    """Scores units x measures x systems; the second measure does not count every tenth unit."""
    rng = np.random.default_rng(seed)
    scores = rng.random((n, 2, 1)) + 0.2 * rng.standard_normal((n, 2, 3)) + [0, 0.01, 0.03]
    scores[::10, 1] = 0
    return scores, rng.permutation(n).astype(np.uint64)


def flipped(scores, ids, pairs, parts, draws, seed=0):
    """Flips of parts, sent and merged."""
    place = np.random.default_rng(1).integers(0, parts, len(ids))
    bits, own = (
        (draws - 1).bit_length(),
        [np.moveaxis(scores, 1, 0)[:, place == k] for k in range(parts)],
    )
    code = [flip_codes(ids[place == k], bits, seed) for k in range(parts)]
    found = [Flips.of(list(x), np.array(pairs), c, bits) for x, c in zip(own, code, strict=True)]
    return merge([unpack(pack(part)) for part in found[::-1]])


def test_flips_are_the_same_sums_in_any_parts():
    scores, ids = scored()
    found = [flipped(scores, ids, [(0, 1), (2, 0)], parts, 130, seed=3) for parts in (1, 7, 64)]
    sign = 1 - 2.0 * (np.bitwise_count(np.arange(256)[:, None] & flip_codes(ids, 8, 3)) & 1)
    centred = scores - scores.mean(axis=2, keepdims=True)
    d = scores[:, :, [0, 2]] - scores[:, :, [1, 0]]
    for flips in found:
        by_flip = np.stack([transform(x) for x in flips.sums])
        assert by_flip == pytest.approx(np.einsum("bu,ums->msb", sign, centred), abs=1e-10)
        assert flips.squares == pytest.approx((d**2).sum(axis=0), rel=CLOSE)
        z = np.abs(np.einsum("bu,ump->bmp", sign, d)) / np.sqrt((d**2).sum(axis=0))
        bar = np.abs(d.sum(axis=0)) / np.sqrt((d**2).sum(axis=0)) - 1e-9
        tested = flipped_test(flips)
        assert tested.p == pytest.approx((z >= bar).mean(axis=0))
        most = z.max(axis=(1, 2))[:, None, None]
        assert tested.maxt == pytest.approx((most >= bar).mean(axis=0))
        assert (tested.draws, tested.exact) == (256, False)


def test_equal_systems_tie_in_every_flip():
    scores, ids = scored()
    scores[:, :, 1] = scores[:, :, 0]
    assert flipped_test(flipped(scores, ids, [(0, 1)], 7, 100)).p == pytest.approx(np.ones((2, 1)))


def contests(plan, parts=7):
    """Two measures of three systems, as units and as moments, and what is compared of them."""
    scores, _ = scored()
    keys = {Key(s, f"m{m}"): scores[:, m, j] for m in (0, 1) for j, s in enumerate("abc")}
    counted = np.arange(N) % 10 != 0
    units = Units(
        pl.Series(np.arange(N)),
        {key: (x,) for key, x in keys.items()},
        {key: counted for key in keys if key.measure == "m1"},
        draws=plan.drawn(),
    )
    groups = [
        [(Key(a, m), Key(b, m)) for a, b in plan.pairs(["a", "b", "c"])] for m in ("m0", "m1")
    ]
    moments = cut(replace(units, draws=plan.drawn("moments")), parts, groups)
    rest = groups, dict.fromkeys(keys, mean), plan
    spans = dict.fromkeys(keys, 1.0)
    return compare(units, *rest, spans=spans), compare(moments, *rest, spans=spans)


@pytest.mark.parametrize("interval", ["normal", "t", "bernstein"])
@pytest.mark.parametrize("correct", ["holm", "bh", "none"])
def test_comparisons_by_t_are_the_same(interval, correct):
    whole, merged = contests(Plan(test="t", correct=correct, interval=interval))
    assert len(whole) == 6
    for a, b in zip(whole, merged, strict=True):
        for name, x in vars(a).items():
            y = getattr(b, name)
            near = pytest.approx(x, rel=1e-9, nan_ok=True) if isinstance(x, float) else x
            assert y == near, name


def test_permutation_tests_agree_within_monte_carlo_error():
    plan = Plan(interval="bootstrap", draws=50_000, resamples=2000, baseline="a")
    for a, b in zip(*contests(plan), strict=True):
        assert b.draws == 1 << 14  # said in the result, even where more were asked for
        for p, q in ((a.p, b.p), (a.p_corrected, b.p_corrected)):
            # corrections multiply by up to 4; a p of 0 moves by a few draws
            assert q == pytest.approx(p, abs=4 * 4 * np.sqrt(2 * (p + 1e-3) / 10_000))
        # weights are those of the ids, so the resamples are the same
        assert (b.low, b.high, b.se) == pytest.approx((a.low, a.high, a.se), rel=1e-9)


def test_p_values_of_flips_are_those_of_the_permutation_test():
    scores, ids = scored(seed=5)
    pairs = [(0, 1), (0, 2), (1, 2)]
    found = flipped_test(flipped(scores, ids, pairs, 1, 20_000), family="measure")
    values, told = [scores[:, 0], scores[:, 1]], {"draws": 20_000, "family": "measure"}
    other = permutation_test(values, pairs, ids=ids, **told)
    assert np.array_equal(other.p, found.p)
    assert np.array_equal(other.maxt, found.maxt)


def test_intervals_take_both_kinds():
    units = world()
    whole, merged = estimates(units), estimates(cut(units, 7))
    for method in ("t", "bernstein"):
        for a, b in zip(whole, merged, strict=True):
            ends = interval(a, level=0.9, method=method, span=1.0)
            assert interval(b, level=0.9, method=method, span=1.0) == pytest.approx(ends)
            assert ends[0] < a.value < ends[1]
    clustered = world(clusters=90)
    for table in (clustered, cut(clustered, 7)):
        with pytest.raises(UsageError, match="independent"):
            interval(table.estimate(KEYS[0], mean), level=0.9, method="bernstein", span=1.0)


def test_what_needs_values_per_unit_is_refused_with_what_to_do():
    units = world()
    moments = cut(units, 3)
    with pytest.raises(UsageError, match="only over the same units"):
        _ = moments.estimate(KEYS[0], mean) - cut(units, 3).estimate(KEYS[1], ratio)
    functions = dict(zip(KEYS, FUNCTIONS, strict=True))
    for plan, word in (
        (Plan(interval="bca"), "interval=bca"),
        (Plan(test="wilcoxon"), "test=wilcoxon"),
    ):
        for refused in (
            lambda plan=plan: plan.drawn("moments"),
            lambda plan=plan: compare(moments, [GROUP], functions, plan),
        ):
            with pytest.raises(UsageError, match=word) as caught:
                refused()
            assert 'inference="units"' in str(caught.value)


def test_the_switch_is_stated():
    assert Storage.choose("auto", 1000, 10, 80_000).units
    assert not Storage.choose("auto", 1001, 10, 80_000).units
    assert Storage.choose("units", 10**9, 100, 1).units
    assert not Storage.choose("moments", 1, 1, 10**9).units
    assert Storage.choose("auto", 12_000_000, 14, 10**9).protocol() == {
        "inference": "moments",
        "why": "12,000,000 units x 14 columns need 1.3 GB, the limit is 1.0 GB",
        "threshold": 10**9,
    }
    assert Storage.choose("units", 5, 5, 10**9).why == "as asked for"
    assert Storage.choose("auto", 5, 5, None).units
