"""Bounds at an odds factor: by brute force, by linear programming, under confounding that is known.

The formulas are executed here row by row, over all corners of what the factor allows.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.ope.estimators.swing import Swing
from counterrank.stats.functions_of_means import mean
from counterrank.stats.sensitivity import Bound, lower_end, tipping_point
from counterrank.stats.units import Key


def small(seed: int, sessions: int = 9) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """A slot filled by chance, rewards of both signs; two rankers that draw, with predictions."""
    rng, items = np.random.default_rng(seed), ["a", "b"]
    log = pl.DataFrame(
        {
            "session": np.arange(sessions), "rank": 1, "item": rng.choice(items, sessions),
            "propensity": rng.uniform(0.2, 0.9, sessions), "gain": rng.normal(0.5, 1, sessions),
        }
    )  # fmt: skip
    runs = {}
    for name in ("new", "old"):
        e = rng.uniform(0.1, 0.9, sessions)
        runs[name] = pl.DataFrame(
            {
                "session": np.repeat(np.arange(sessions), 2), "rank": 1,
                "item": np.tile(items, sessions), "propensity": np.stack([e, 1 - e], 1).ravel(),
                "predicted": rng.normal(0.5, 0.3, 2 * sessions),
            }
        )  # fmt: skip
    return log, runs


def bound(result: Any, estimator: str, other: str = "", q: str = "nothing") -> Bound:
    """The bound of the value of "new", or of its difference from another ranker."""
    versus = "baseline" if other not in ("", "logged") else "nobody"
    value = result.estimate("new", estimator)
    if other:
        value = value - result.estimate(other, "OnPolicy" if other == "logged" else estimator)
    sides = [
        result.units.estimate(Key("new", "gain", str(Swing(part=part, q=q, versus=versus))), mean)
        for part in ("rises", "falls")
    ]
    return Bound.of(value, *sides)


def values(log: pl.DataFrame, run: pl.DataFrame, inverse: Any, by: str) -> Any:
    """What a ranker is worth at some inverse chances, by the formula of DR (IPS where q is 0)."""
    run = run.with_columns(q=pl.col("predicted") if by == "model" else pl.lit(0.0))
    direct = (run["propensity"] * run["q"]).sum()
    met = log.join(run, on=["session", "item"], suffix=" new", maintain_order="left")
    e, c, q = (met[name].to_numpy() for name in ("propensity new", "gain", "q"))
    return (direct + inverse @ (e * (c - q))) / log.height


@pytest.mark.parametrize("gamma", [1.0, 1.3, 4.0])
@pytest.mark.parametrize("estimator", ["IPS", "DR"])
@pytest.mark.parametrize("baseline", ["logged", "old"])
def test_bounds_are_those_of_all_corners(gamma: float, estimator: str, baseline: str) -> None:
    log, runs = small(3)
    told = {"reward": "gain", "estimator": estimator, "baseline": baseline}
    result = cr.estimate(log, runs, **told, logged="propensity")
    k = 1 / log["propensity"].to_numpy() - 1
    corners = np.array(list(itertools.product([1 / gamma, gamma], repeat=len(k))))
    by = "model" if estimator == "DR" else "nothing"
    new, old = (values(log, runs[name], 1 + corners * k, by) for name in ("new", "old"))
    for other, own in (("", new), (baseline, new - old)):
        if other == "logged":
            own = new - log["gain"].mean()
        found = bound(result, estimator, other, by)
        assert lower_end([found], gamma, 0.0) == pytest.approx(own.min(), abs=1e-12)
        assert -lower_end([found.turned()], gamma, 0.0) == pytest.approx(own.max(), abs=1e-12)


def test_the_best_constant_prediction_is_the_bound_of_weights_that_keep_their_mean() -> None:
    """Weak duality for every t, strong duality for the best: the levels of Dorn and Guo."""
    rng, n, gamma = np.random.default_rng(5), 60, 1.7
    c, k = rng.normal(1, 1, n), 1 / rng.uniform(0.2, 0.9, n) - 1

    def shift(t: float) -> float:
        s = k * (c - t)
        return Bound(np.array([0, s[s > 0].sum(), -s[s < 0].sum()]), np.zeros((3, 3))).shift(gamma)

    order = np.argsort(c)  # the least sum k c (l - 1) with sum k (l - 1) = 0: fill from the least
    low, high = 1 / gamma - 1, gamma - 1
    room = -low * k.sum()
    lam = np.full(n, low)
    for i in order:
        step = min(high - low, room / k[i])
        lam[i], room = low + step, room - step * k[i]
    best = -float(np.sum(k * c * lam))
    assert min(shift(t) for t in c) == pytest.approx(best, rel=1e-12)
    assert shift(0.0) >= best
    assert shift(float(c.mean())) >= best


def confounded(seed: int, n: int = 2000) -> tuple[Any, Any, float, float]:
    """A logger that sees whether a user likes item "a" and logs its mean chance of showing it.

    The value of always showing "a" is known, and so is the odds factor of what it knew.
    """
    rng = np.random.default_rng(seed)
    likes, chance = rng.integers(0, 2, n), np.array([0.35, 0.65])
    shown = rng.random(n) < chance[likes]
    log = pl.DataFrame(
        {
            "session": np.arange(n), "item": np.where(shown, "a", "b"), "rank": 1,
            "propensity": 0.5,
            "gain": (rng.random(n) < np.where(shown, 0.2 + 0.4 * likes, 0.3)).astype(int),
        }
    )  # fmt: skip
    run = pl.DataFrame({"session": np.arange(n), "item": "a", "rank": 1, "propensity": 1.0})
    return log, {"new": run}, 0.4, 0.65 / 0.35


@pytest.mark.parametrize("estimator", ["IPS", "SNIPS", "DR"])
def test_the_bound_at_the_true_factor_covers(estimator: str) -> None:
    plain = covered = 0
    logs = 60
    for seed in range(logs):
        log, runs, truth, gamma = confounded(seed)
        result = cr.estimate(
            log, runs, reward="gain", estimator=estimator, disjoint="zero", logged="propensity"
        )
        row = next(r for r in result.estimates if r.system == "new")
        plain += row.low <= truth <= row.high
        forms = [bound(result, estimator)]
        if estimator == "DR":
            forms.append(bound(result, estimator, q="model"))
        low, high = (
            lower_end(forms, gamma, 1.96),
            -lower_end([b.turned() for b in forms], gamma, 1.96),
        )
        covered += low <= truth <= high
    assert plain / logs < 0.5  # what the interval alone would have claimed
    assert covered / logs >= 0.95


def test_memory_and_disk_agree() -> None:
    log, runs = small(7, sessions=300)
    log = log.with_columns(user=pl.col("session") // 3, device=pl.col("session") % 2)
    for baseline in ("logged", "old"):
        told = {"reward": "gain", "baseline": baseline, "context": "device", "logged": "propensity"}
        first = cr.estimate(log, runs, **told).to_frame("tipping")
        for where in ({"inference": "moments"}, {"partitions": 4, "inference": "moments"}):
            again = cr.estimate(log, runs, **told, **where).to_frame("tipping")
            for column in ("gamma", "low", "high"):
                x, y = (f[column].fill_null(0).fill_nan(0).to_numpy() for f in (first, again))
                np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def test_the_point_is_where_the_end_meets_zero() -> None:
    found = Bound(np.array([1.0, 0.8, 0.3]), np.diag([0.01, 0.002, 0.001]))
    gamma = tipping_point([found], 1.96)
    assert gamma is not None
    shift = (1 - 1 / gamma) * 0.8 + (gamma - 1) * 0.3
    se = np.sqrt(0.01 + (1 - 1 / gamma) ** 2 * 0.002 + (gamma - 1) ** 2 * 0.001)
    assert 1 - shift - 1.96 * se == pytest.approx(0, abs=1e-9)
    nothing = np.zeros((3, 3))
    assert tipping_point([Bound(np.array([1.0, 0.5, 0.0]), nothing)], 1.96) is None
    assert tipping_point([Bound(np.array([-0.1, 0.5, 0.0]), nothing)], 1.96) == 1.0
    both = [found, Bound(np.array([1.0, 0.2, 0.1]), np.diag([0.01, 0, 0]))]
    assert tipping_point(both, 1.96) == tipping_point(both[1:], 1.96)  # the nearest counts


def test_forgetting_a_column_has_a_factor() -> None:
    """Chances of .7 and .4 by device are .55 without it: odds apart by 1.91 and 1.83."""
    n = 4000
    rng = np.random.default_rng(0)
    device, hour = rng.integers(0, 2, n), rng.integers(0, 3, n)
    chance = np.where(device == 1, 0.7, 0.4)
    shown = rng.random(n) < chance
    log = pl.DataFrame(
        {
            "session": np.arange(n), "item": np.where(shown, "a", "b"), "rank": 1, "hour": hour,
            "propensity": np.where(shown, chance, 1 - chance), "device": device,
            "gain": (rng.random(n) < np.where(shown, 0.4, 0.3)).astype(int),
        }
    )  # fmt: skip
    run = pl.DataFrame({"session": np.arange(n), "item": "a", "rank": 1, "propensity": 1.0})
    asked = {"reward": "gain", "context": ["device", "hour"], "disjoint": "zero"}
    bounded = cr.estimate(log, {"new": run}, **asked)
    assert len([d for d in bounded.diagnostics if d.name == "confounding"]) == 1  # said once
    result = cr.estimate(log, {"new": run}, **asked, bounds="none")
    told = {r["benchmark"]: r["gamma"] for r in result.rows("tipping") if r["benchmark"]}
    odds = [(0.7 / 0.3) / (0.55 / 0.45), (0.55 / 0.45) / (0.4 / 0.6)]
    assert told["device"] == pytest.approx(max(odds), rel=0.05)
    assert told["hour"] == pytest.approx(1.0, rel=0.05)
    (text,) = [d.meaning for d in result.diagnostics if d.name == "confounding"]
    assert "as strong as device, all contexts would" in text


def test_where_nothing_was_left_to_chance_there_is_no_table() -> None:
    log, _ = small(3)
    lists = {"new": log.select("session", "item", "rank")}
    result = cr.estimate(
        log.drop("propensity"), lists, reward="gain", position_bias="log2", views="latent"
    )
    assert "tipping" not in result.tables
    assert not [d for d in result.diagnostics if d.name == "confounding"]


def test_a_funnel_is_bounded_pair_by_pair() -> None:
    """Every pair has one hidden factor, whichever list it is on."""
    gamma, users = 1.4, 3
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "user": np.repeat(np.arange(users), 3), "item": np.tile(["a", "b", "c"], users),
            "click": 1, "conversion": rng.integers(0, 2, 3 * users),
            "ctr": rng.uniform(0.3, 0.8, 3 * users),
        }
    )  # fmt: skip
    runs = {
        name: pl.DataFrame(
            {
                "user": np.repeat(np.arange(users), 2),
                "item": np.tile(items, users),
                "rank": np.tile([1, 2], users),
            }
        )
        for name, items in (("old", ["a", "b"]), ("new", ["b", "c"]))
    }
    result = cr.funnel(frame, runs, measure="DCG@2", estimator="IPS", baseline="old")
    weight = {("old", "a"): 1, ("old", "b"): 1 / np.log2(3), ("new", "b"): 1}
    weight[("new", "c")] = weight["old", "b"]
    k, y = 1 / frame["ctr"].to_numpy() - 1, frame["conversion"].to_numpy()
    items = frame["item"].to_list()
    new, old = (np.array([weight.get((n, i), 0) for i in items]) for n in ("new", "old"))
    corners = np.array(list(itertools.product([1 / gamma, gamma], repeat=len(k))))
    brute = (1 + corners * k) @ (y * (new - old)) / users
    value = result.difference("new", "old", "IPS")
    sides = [
        result.units.estimate(
            Key("new", "DCG@2", str(Swing(part=part, versus="baseline")), "conversion"), mean
        )
        for part in ("rises", "falls")
    ]
    found = Bound.of(value, *sides)
    assert lower_end([found], gamma, 0.0) == pytest.approx(brute.min(), abs=1e-12)
    assert -lower_end([found.turned()], gamma, 0.0) == pytest.approx(brute.max(), abs=1e-12)
