"""Learned position models hold the truth as often as their intervals say.

Counts are binomial: the band is four standard errors.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.position import BetaGeometric, Geometric, Power
from counterrank.position.learn.curve import fit
from making import scrolled, shown

LEVEL, DEPTH = 0.95, 6
POWER = Power(0.8).at(np.arange(1, DEPTH + 1))


def learned(log, method, **options):
    """The curve of all rows, by a method."""
    return cr.exposure(log, method=method, **options).learned.whole


def by_query(log, method):
    return learned(log, method, reward="click", context=["query"]).curve


def band(repeats: int) -> float:
    return 4 * np.sqrt(LEVEL * (1 - LEVEL) / repeats)


def inside(curve, truth) -> np.ndarray:
    low, high = curve.interval(LEVEL)
    return (low <= truth) & (truth <= high)


def covered(curves, truth, repeats):
    """Coverage over ranks and repeats; ranks of one repeat are dependent, so repeats count."""
    rate = np.mean([inside(curve, truth)[1:].mean() for curve in curves])
    assert rate == pytest.approx(LEVEL, abs=band(repeats))


def test_views_cover_where_users_differ():
    """Users look at whole sessions or not: ignoring that would be far too sure."""
    seen = 0.9 * Geometric(0.7).at(np.arange(1, DEPTH + 1))
    curves, naive = [], 0.0
    for s in range(200):
        rng = np.random.default_rng(s)
        looks = rng.random(150) < 0.5
        table = shown(seen=np.ones(DEPTH), sessions=600, seed=s, per_user=4)
        share = np.clip(2 * seen, 0, 1)
        keep = looks[table["user"].to_numpy()] & (
            rng.random(table.height) < share[table["rank"].to_numpy() - 1]
        )
        seen_rows = table.with_columns(viewed=pl.Series(keep.astype(float))).drop("click")
        curve = learned(seen_rows, "views").curve
        curves.append(curve)
        half = 1.96 * np.sqrt(curve.value * (1 - curve.value) / curve.shown)
        naive += np.mean(np.abs(curve.value - share / 2) <= half) / 200
    covered(curves, share / 2, 200)
    assert naive < LEVEL - band(200)


@pytest.mark.parametrize("method", ["harvest", "em"])
def test_harvest_and_em_cover(method):
    logs = (shown(seen=POWER, sessions=1200, seed=s) for s in range(200))
    curves = [by_query(log.drop("user"), method) for log in logs]
    covered(curves, POWER, 200)
    error = np.mean([np.log(c.value) for c in curves], axis=0) - np.log(POWER)
    spread = np.std([np.log(c.value) for c in curves], axis=0) / np.sqrt(200)
    assert np.all(np.abs(error) <= 4 * spread + 0.01)  # a log of a ratio is off by its variance


@pytest.mark.parametrize("method", ["harvest", "em"])
def test_harvest_and_em_cover_with_repeated_users_and_rare_clicks(method):
    logs = (
        shown(seen=POWER, sessions=3000, seed=s, per_user=10, relevance=(0.01, 0.1), jitter=0.05)
        for s in range(120)
    )
    curves = [by_query(log, method) for log in logs]
    covered(curves, POWER, 120)


def test_swap_covers_under_a_shuffle():
    logs = (shown(seen=POWER, sessions=600, seed=s, jitter=1e6) for s in range(300))
    curves = [learned(log.drop("user"), "swap", reward="click").curve for log in logs]
    covered(curves, POWER, 300)


def test_swap_covers_with_pairs_swapped_by_a_coin():
    """Items are sorted by relevance; only the swapped pair is comparable."""
    curves = []
    for s in range(200):
        rng = np.random.default_rng(s)
        n = 2500
        liking = np.sort(rng.uniform(0.1, 0.6, (n, DEPTH)), axis=1)[:, ::-1].copy()
        k = rng.integers(2, DEPTH + 1, n)
        coin = rng.random(n) < 0.5
        line = np.arange(n)[coin]
        liking[line, 0], liking[line, k[coin] - 1] = (
            liking[line, k[coin] - 1].copy(), liking[line, 0].copy(),
        )  # fmt: skip
        click = rng.random((n, DEPTH)) < liking * POWER
        frame = pl.DataFrame({
            "session": np.repeat(np.arange(n), DEPTH), "item": np.tile(np.arange(DEPTH), n),
            "rank": np.tile(np.arange(1, DEPTH + 1), n), "click": click.ravel().astype(int),
            "coin": np.repeat(k, DEPTH),
        })  # fmt: skip
        curves.append(learned(frame, "swap", reward="click", swapped="coin").curve)
    covered(curves, POWER, 200)


def test_depth_and_its_families_cover():
    a, b, length, repeats = 4.0, 1.5, 12, 200
    truth = BetaGeometric(a, b).at(np.arange(1, length + 1))
    curves, hits, wrong = [], [], 0.0
    for s in range(repeats):
        log = scrolled(length=length, sessions=800, seed=s, a=a, b=b)
        curve = learned(log, "depth", length=length).curve
        curves.append(curve)
        _, found, _ = fit(curve, "beta_geometric", level=LEVEL)
        hits.append([p.low <= t <= p.high for p, t in zip(found, (a, b), strict=True)])
        model, _, _ = fit(curve, "geometric")
        wrong += abs(model.at(np.array([length]))[0] / truth[-1] - 1) / repeats
    n = min(len(curve.value) for curve in curves)
    assert n == length
    covered(curves, truth, repeats)
    assert np.mean(hits, axis=0) == pytest.approx([LEVEL] * 2, abs=band(repeats))
    assert wrong > 0.25  # one probability for all users misses the tail


@pytest.mark.parametrize(
    ("family", "truth", "names"),
    [
        ("power", Power(0.8), ["eta"]),
        ("geometric", Geometric(0.7), ["p"]),
        ("power", Power(0.6, scale=0.8), ["eta", "scale"]),
    ],
)
def test_parameters_are_recovered(family, truth, names):
    """By likelihood from views and by least squares from harvested shares."""
    seen = truth.at(np.arange(1, DEPTH + 1))
    repeats, hits = 150, {"views": [], "harvest": []}
    for s in range(repeats):
        log = shown(seen=seen, sessions=1000, seed=s).drop("user")
        for name in hits:
            _, found, _ = fit(by_query(log, name), family, level=LEVEL)
            hits[name] += [[p.low <= getattr(truth, p.name) <= p.high for p in found]]
    assert [p.name for p in fit(by_query(log, "views"), family)[1]] == names
    for each in hits.values():
        assert np.mean(each, axis=0) == pytest.approx(LEVEL, abs=band(repeats))


def test_standard_errors_agree_with_a_cluster_bootstrap():
    log = shown(seen=POWER, sessions=2000, seed=5, per_user=5)
    parts = {u: f for (u,), f in log.partition_by("user", as_dict=True).items()}
    rng = np.random.default_rng(1)
    draws = 150
    for method in ("harvest", "em"):
        again = []
        for _ in range(draws):
            drawn = pl.concat([parts[u] for u in rng.integers(0, len(parts), len(parts))])
            again.append(np.log(by_query(drawn, method).value))
        curve = by_query(log, method)
        ratio = np.std(again, axis=0)[1:] / (curve.se / curve.value)[1:]
        # a standard deviation from n draws has relative error 1 / sqrt(2 n)
        assert ratio == pytest.approx(1, abs=4 / np.sqrt(2 * draws))


def test_by_context_recovers_each_curve():
    curves = {"phone": Geometric(0.5), "desk": Power(0.3)}
    ranks = np.arange(1, DEPTH + 1)
    logs = [
        shown(seen=model.at(ranks), sessions=6000, seed=n).with_columns(
            device=pl.lit(device), session=pl.col("session") + 10_000 * n,
            user=pl.col("user") + 10_000 * n,
        )
        for n, (device, model) in enumerate(curves.items())
    ]  # fmt: skip
    found = cr.exposure(pl.concat(logs), reward="click", method="harvest",
                              context=["query"], by="device", level=0.9999).learned  # fmt: skip
    for device, model in curves.items():
        low, high = found.parts[device].curve.interval(0.9999)
        assert np.all((low <= model.at(ranks)) & (model.at(ranks) <= high))
    value = found.model.at(np.array([3, 3]), ["phone", "desk"])
    assert value == pytest.approx([0.25, 3**-0.3], rel=0.2)


def test_the_fit_of_the_position_model_rejects_at_its_level():
    p = []
    for s in range(300):
        log = shown(seen=POWER, sessions=2000, seed=s)
        p.append(learned(log, "em", reward="click", context=["query"]).misfit.p)
    for alpha in (0.05, 0.2):
        error = 4 * np.sqrt(alpha * (1 - alpha) / 300)
        assert np.mean(np.array(p) <= alpha) == pytest.approx(alpha, abs=error)
