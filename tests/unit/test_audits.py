"""The statistics of the audits against their formulas in plain Python, and the verb check."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.assumptions.carry_over import carry_over_slopes
from counterrank.assumptions.examination import avoidance_effect, left_after
from counterrank.assumptions.interaction import pair_effect_variance
from counterrank.assumptions.score_test import Effect, effect, fit_product, remove_means
from counterrank.assumptions.trust_bias import by_doubling
from counterrank.simulate import World, platform


def call(*words, cwd):
    return subprocess.run(
        [sys.executable, "-m", "counterrank", *words], capture_output=True, text=True, cwd=cwd,
        check=False, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip


RNG = np.random.default_rng(3)
N = 60
USER = np.sort(RNG.integers(0, 12, N))
GROUP = RNG.integers(0, 5, N)
X, Y, W = RNG.normal(size=N), RNG.random(N), RNG.random(N) + 0.2


def test_effect_is_slope_and_noise_between_users():
    found = effect(Y - 0.5, W, X, USER)
    h = sum(w * x * x for w, x in zip(W, X, strict=True))
    scores = dict.fromkeys(USER.tolist(), 0.0)
    for u, x, y in zip(USER.tolist(), X, Y, strict=True):
        scores[u] += (y - 0.5) * x
    assert found.size == pytest.approx(sum(scores.values()) / h)
    assert found.se == pytest.approx(math.sqrt(sum(s * s for s in scores.values())) / h)


def test_fits_agree_with_the_sums_they_are_made_of():
    fit = fit_product(Y, W, GROUP)
    for g in range(5):
        inside = np.flatnonzero(g == GROUP)
        share = sum(Y[inside]) / sum(W[inside])
        assert fit.expected[inside] == pytest.approx(share * W[inside])
    rank = RNG.integers(0, 4, N)
    both = fit_product(Y, W, GROUP, rank)
    for groups in (GROUP, rank):
        assert np.bincount(groups, both.left) == pytest.approx(0, abs=1e-3)
    z = remove_means(X, W, GROUP)
    assert np.bincount(GROUP, W * z) == pytest.approx(0, abs=1e-12)


def test_avoided_takes_off_what_users_have_in_common():
    a, b, one, more = RNG.normal(size=N), RNG.normal(size=N), W, W + Y
    same = sum(a * b) / sum(one * more)
    pairs = [(s, t) for s in range(N) for t in range(N) if s != t and USER[s] == USER[t]]
    cross = sum(a[s] * b[t] for s, t in pairs) / sum(one[s] * more[t] for s, t in pairs)
    assert avoidance_effect(a, b, one, more, USER).size == pytest.approx(same - cross)
    alone = avoidance_effect(a, b, one, more, np.arange(N))
    assert alone.size == pytest.approx(same)
    left = [x * y - same * u * v for x, y, u, v in zip(a, b, one, more, strict=True)]
    assert alone.se == pytest.approx(math.sqrt(sum(e * e for e in left)) / sum(one * more))


def test_repeated_is_the_covariance_of_both_halves():
    pair, half = RNG.integers(0, 6, N), USER % 2
    value, _, _ = pair_effect_variance(X, W, pair, half, GROUP, USER)
    top = bottom = 0.0
    for p in range(6):
        r = [sum(X[(pair == p) & (half == h)]) for h in (0, 1)]
        e = [sum(W[(pair == p) & (half == h)]) for h in (0, 1)]
        if sum(e):
            top += r[0] * r[1] / sum(e)
            bottom += e[0] * e[1] / sum(e)
    assert value == pytest.approx(top / bottom)


def test_effects_are_found_where_nothing_is_random():
    rank = RNG.integers(1, 11, N)
    y = W * (1 + GROUP) * 0.8 ** np.log2(rank)
    assert by_doubling(y, W, rank, GROUP, USER).size == pytest.approx(-0.2, abs=1e-3)
    before, now, factor = RNG.random(N), RNG.random(N), 1 + RNG.random(12)
    earned = factor[USER] * W * np.exp(0.02 * before)
    lists = np.stack([before, now])[None]
    (slope,), _ = carry_over_slopes(earned, W, lists, lists, USER)
    assert slope == pytest.approx(0.02, rel=0.05)
    here, above = RNG.integers(0, 2, N) * 1.0, RNG.integers(0, 2, N) * 1.0
    goes_on = 0.6 + 0.1 * GROUP - 0.3 * here + 0.1 * above
    share = -0.4 / goes_on.mean()
    assert left_after(goes_on, here, above, GROUP, USER).size == pytest.approx(share)


def test_an_effect_is_loud_if_it_is_sure_and_large():
    assert Effect(0.1, 0.01).verdict(0.05, 0.2) == "caution"
    assert Effect(-0.3, 0.01).verdict(0.05, 0.2) == "fail"
    assert Effect(0.04, 0.001).verdict(0.05, 0.2) == "pass"
    assert Effect(0.3, 0.1).verdict(0.05, 0.2) == "pass"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("log")
    sample = platform(World(cascading=0.6), sessions=4000, seed=1, runs=["far"])
    sample.log.write_parquet(path / "log.parquet")
    sample.runs["far"].write_parquet(path / "far.parquet")
    bare = sample.log.select("session", "item", "rank", "click")
    bare.write_parquet(path / "bare.parquet")
    return path


def test_check_audits_a_log_and_says_what_to_log(folder):
    words = ("check", "log.parquet", "new=far.parquet", "--reward", "click")
    done = call(*words, "--position-bias", "log2", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "log.parquet: log, 40,000 rows, 4,000 sessions" in " ".join(done.stdout.split())
    assert "far.parquet: run by session" in done.stdout
    assert "fail     examination, log:" in done.stdout
    assert "What to log next time\n1. " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    strict = call(*words, "--position-bias", "log2", "--strict", "--format", "json", cwd=folder)
    assert strict.returncode == 3
    document = json.loads(strict.stdout, parse_constant=pytest.fail)
    assert any(line.startswith("order of events") for line in document["tables"]["to_log"])
    assert {"effective sample size", "mean weight"} <= {d["name"] for d in document["diagnostics"]}


def test_a_bare_log_is_told_all_it_lacks(folder):
    found = cr.check(folder / "bare.parquet")
    wanted = [line.split(":")[0] for line in found.tables["to_log"]]
    assert wanted[:4] == ["propensity", "viewed", "user", "context"]
    assert "timestamp" in wanted
    names = {d.name: d for d in found.diagnostics}
    assert {names[n].state for n in ("users", "views", "position model")} == {"caution"}
    assert names["audited"].state == "untested"
    assert "needs a column user" in names["audited"].meaning
    assert not any(t.fault for t in found.tables["tables"])


def test_faults_of_a_log_and_of_its_runs_are_reported(folder, tmp_path):
    log = pl.read_parquet(folder / "bare.parquet")
    twice = pl.concat([log, log.head(1)])
    found = cr.check(twice)
    assert "repeats a rank" in found.tables["tables"][0].fault
    assert found.tables["to_log"] == []
    other = pl.DataFrame({"session": [-1], "item": [1], "rank": [1]})
    found = cr.check({"log": log, "new": other}, position_bias="log2")
    assert [bool(t.fault) for t in found.tables["tables"]] == [False, True]
    with pytest.raises(cr.UsageError, match="More than one log"):
        cr.check([log, log])


def test_time_comes_from_a_timestamp_where_ids_have_no_order():
    log = platform(World(carry_over=1), sessions=20_000, seed=1, runs=[]).log
    log = log.select("session", "user", "context", "item", "rank", "viewed", "click")
    names = [f"s{n}" for n in range(20_000)]
    random.Random(1).shuffle(names)
    hidden = log.with_columns(
        session=pl.Series(names).gather(log["session"].to_numpy()), timestamp="session"
    )
    for timeless in (log, hidden.drop("timestamp"), hidden.with_columns(timestamp=7)):
        by_id = {d.name: d for d in cr.check(timeless).diagnostics}
        assert by_id["carry over"].state == "untested"
        assert "timestamp" in by_id["carry over"].meaning
    by_time = {d.name: d for d in cr.check(hidden).diagnostics}
    assert by_time["carry over"].state == "fail"


@pytest.mark.parametrize("views", ["auto", "rows"])
@pytest.mark.parametrize(
    "change",
    [
        pl.col("click") * 0,
        pl.col("click") * -1.5,
        pl.col("click") * 1e6,
        pl.when(pl.col("rank") == 1).then(1).otherwise(0).alias("click"),
    ],
)
def test_odd_rewards_are_audited_without_a_fault(folder, change, views):
    log = pl.read_parquet(folder / "log.parquet").drop("viewed").with_columns(change)
    for part in (log, log.filter(pl.col("rank") == 1), log.head(1), log.filter(session=3)):
        found = cr.check(part, position_bias="log2", views=views)
        assert not any(t.fault for t in found.tables["tables"])
        told = [d for d in found.diagnostics if d.state != "untested"]
        assert all(math.isfinite(d.value) for d in told)
        assert found.diagnostics


def signed(seed):
    """A clean log whose rewards are of both signs: an item costs or earns, if it is seen."""
    rng = np.random.default_rng(seed)
    sessions, depth, items = 1500, 4, 8
    item = np.argsort(rng.random((sessions, items)), axis=1)[:, :depth]
    seen = rng.random(item.shape) < 1 / np.log2(np.arange(2, depth + 2))
    gain = rng.normal(np.linspace(-1, 1, items)[item], 1.0)
    return pl.DataFrame(
        {
            "session": np.repeat(np.arange(sessions), depth),
            "user": np.repeat(np.arange(sessions) // 3, depth),
            "timestamp": np.repeat(np.arange(sessions), depth),
            "context": 0,
            "item": item.ravel(),
            "rank": np.tile(np.arange(1, depth + 1), sessions),
            "viewed": seen.ravel().astype(int),
            "profit": np.where(seen, gain, 0).ravel(),
        }
    )


def test_rewards_of_both_signs_raise_no_alarm():
    loud = []
    for seed in range(12):
        for options in ({"context": "context"}, {}):
            found = cr.check(signed(seed), reward="profit", position_bias="log2", **options)
            states = {d.name: d.state for d in found.diagnostics}
            assert "interaction" in states
            loud += [n for n in ("interaction", "trust", "carry over", "examination")
                     if states.get(n, "pass") != "pass"]  # fmt: skip
    assert not loud


def test_neighbours_that_matter_are_found_in_rewards_of_both_signs():
    log = signed(1)
    above = pl.col("item").shift(1).over("session", order_by="rank")
    pair = (pl.col("item") + above).fill_null(0) % 2
    found = cr.check(log.with_columns(pl.col("profit") * (1 + 2 * pair)), reward="profit",
                     position_bias="log2", context="context")  # fmt: skip
    assert {d.name: d.state for d in found.diagnostics}["interaction"] == "fail"


def test_one_slot_by_propensity_is_not_blamed_for_a_logger_that_does_not_move_items():
    rng = np.random.default_rng(0)
    item = rng.integers(0, 5, 800)
    log = pl.DataFrame(
        {
            "session": np.arange(800), "user": np.arange(800) // 2, "item": item, "rank": 1,
            "propensity": 0.2, "click": (rng.random(800) < 0.1 + 0.1 * item).astype(int),
        }
    )  # fmt: skip
    run = log.select("session", "rank", item=pl.lit(3), propensity=pl.lit(1.0))
    for found in (
        cr.estimate(log, {"new": run}, reward="click"),
        cr.check({"log": log, "new": run}, reward="click"),
    ):
        assert not {"logger variety", "views"} & {d.name for d in found.diagnostics}


def varied(seed=0):
    """Lists of 2 to 6 rows, all shown."""
    rng = np.random.default_rng(seed)
    length = rng.integers(2, 7, 400)
    session = np.repeat(np.arange(400), length)
    rank = np.concatenate([np.arange(1, n + 1) for n in length])
    item = np.concatenate([rng.permutation(9)[:n] for n in length])
    click = (rng.random(len(rank)) < 0.5 / rank).astype(int)
    return pl.DataFrame({"session": session, "item": item, "rank": rank, "click": click})


def test_lists_of_varying_length_are_asked_about():
    log = varied()
    run = log.select("session", "item", "rank")
    asked = {"position_bias": "log2", "estimator": "DR", "reward": "click"}
    with pytest.raises(cr.UsageError) as error:
        cr.estimate(log, {"same": run}, **asked)
    assert "2 to 6 rows" in error.value.found
    assert "--views latent" in error.value.todo
    assert "--views rows" in error.value.todo
    found = cr.estimate(log, {"same": run}, views="latent", **asked)
    assert found.estimates[1].value == pytest.approx(found.estimates[0].value, rel=0.02)
    whole = log.filter(pl.len().over("session") == 6)
    alike = cr.estimate(whole, {"same": run.filter(pl.len().over("session") == 6)}, **asked)
    assert alike.protocol["views"] == "latent"
