"""Discriminative power: the sum of p-values, how sure it is, and what follows from it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.assess.discriminative_power import (
    differences_of_sums,
    discriminative_power,
    normal_p,
    products,
)
from counterrank.assess.inputs import read_values
from counterrank.assess.request import ValueRequest
from counterrank.assess.unit_values import resample_users
from counterrank.core.errors import UsageError
from counterrank.data.ids import hash_ids
from counterrank.stats.draws import flip_codes
from counterrank.stats.plan import Plan
from making import world


def table(x, measures=("m",)):
    """Per-unit values from units x systems, the same for every measure but for a power."""
    rows = [
        (u, f"s{s}", m, float(v) ** (k + 1))
        for k, m in enumerate(measures)
        for (u, s), v in np.ndenumerate(x)
    ]
    return pl.DataFrame(rows, schema=["unit", "system", "measure", "value"], orient="row")


def plain_dp(columns, draws, seed):
    """DP in plain Python, with the flips of the test: by the bits a unit's code shares with j."""
    units = len(columns[0])
    code = flip_codes(hash_ids(pl.Series(range(units))), (draws - 1).bit_length(), seed).tolist()
    every = range(1 << (draws - 1).bit_length())
    total = 0.0
    for a, b in itertools.combinations(range(len(columns)), 2):
        d = [x - y for x, y in zip(columns[a], columns[b], strict=True)]
        observed, hits = abs(sum(d)), 0
        for j in every:
            flipped = sum(-d[u] if (code[u] & j).bit_count() % 2 else d[u] for u in range(units))
            hits += abs(flipped) >= observed * (1 - 1e-9) - 1e-12
        total += hits / len(every)
    return total


def test_dp_equals_a_plain_transcription_with_the_same_flips():
    rng = np.random.default_rng(1)
    x = np.round(rng.random((45, 4)) + np.array([0, 0.05, 0.1, 0.3]), 1)
    x[:, 1] += rng.random(45) * 1e-3  # no unit on which all agree
    found = cr.assess_power(table(x), draws=300, resamples=20, seed=7).estimates[0]
    assert found.value == pytest.approx(plain_dp(x.T.tolist(), 300, 7), abs=1e-12)


def test_all_figures_follow_from_the_p_values_of_evaluate():
    truth, runs = world(users=50)
    labels = ["nDCG@5", "P@5"]
    found = cr.assess_power(truth, runs, measure=labels, draws=999, resamples=50, seed=3)
    theirs = cr.evaluate(truth, runs, measure=labels, draws=999, seed=3, correct="none")
    p = {(c.measure, c.system, c.baseline): c.p for c in theirs.comparisons}
    gap = {(c.measure, c.system, c.baseline): c.difference for c in theirs.comparisons}
    for c in found.comparisons:
        assert c.p == p[c.measure, c.system, c.baseline]
        assert c.difference == pytest.approx(gap[c.measure, c.system, c.baseline], abs=1e-12)
    for row, curve in zip(found.tables["power"], found.tables["curves"], strict=True):
        own = sorted((v for (m, _, _), v in p.items() if m == row.measure), reverse=True)
        assert curve.p == own
        assert row.value == pytest.approx(sum(own))
        assert row.median_p == np.median(own)
        assert row.significant == np.mean(np.array(own) <= 0.05)
        assert row.low < row.value < row.high
    strict = cr.assess_power(truth, runs, measure=labels, draws=999, resamples=50, level=0.5)
    assert strict.tables["power"][0].significant >= found.tables["power"][0].significant


def test_resampled_sums_give_every_pairs_difference_and_square():
    rng = np.random.default_rng(2)
    x = rng.random((30, 4))
    w = rng.integers(0, 4, (5, 30)).astype(float)
    total, square = differences_of_sums(w @ products(x), 4)
    pairs = [(b, a) for a, b in itertools.combinations(range(4), 2)]
    for j, (a, b) in enumerate(pairs):
        d = x[:, a] - x[:, b]
        np.testing.assert_allclose(total[:, j], w @ d, atol=1e-12)
        np.testing.assert_allclose(square[:, j], w @ d**2, atol=1e-12)
    same = normal_p(np.array([0.0, 3.0]), np.array([0.0, 2.0]), 99)
    assert same[0] == 1
    assert same[1] == pytest.approx((1 + 99 * 0.0338948535) / 100)


def test_resamples_depend_on_ids_alone_and_count_as_many_users():
    rng = np.random.default_rng(3)
    units, x = pl.Series([f"u{u}" for u in range(400)]), rng.random((400, 2))
    plan, keep = Plan(resamples=330), lambda sums: np.hstack(sums)
    sums = resample_users(units, [np.ones((400, 1)), x], keep, plan)
    assert sums.shape == (330, 3)
    np.testing.assert_allclose(sums[:, 0], 400, rtol=1e-12)
    by = rng.permutation(400)
    mixed = resample_users(units.gather(by), [np.ones((400, 1)), x[by]], keep, plan)
    np.testing.assert_allclose(mixed, sums, rtol=1e-14)
    few = resample_users(units, [np.ones((400, 1)), x], keep, Plan(resamples=30))
    np.testing.assert_array_equal(few, sums[:30])
    spread = sums[:, 1].std(ddof=1) / (20 * x[:, 0].std(ddof=1))
    assert abs(spread - 1) < 4 / np.sqrt(2 * 330)


def test_the_normal_dp_of_resamples_is_near_that_of_permutations_of_resamples():
    """The full way, a permutation test of each resample, is dear; on a small one they agree."""
    rng = np.random.default_rng(4)
    x = rng.random((150, 5)) + np.linspace(0, 0.1, 5)
    logs = []
    for seed in range(60):
        drawn = x[np.random.default_rng(seed).integers(0, 150, 150)]
        each = discriminative_power(
            read_values(ValueRequest(table(drawn))), Plan(draws=2000, resamples=20)
        )  # the permutation's DP of this resample
        logs.append([np.log(each.dp[0]), np.log(each.approximate[0])])
    full, normal = np.array(logs).T
    # 2,000 flips leave each p a standard error of at most 0.011, and ten p-values share them
    assert np.abs(full - normal).max() < 4 * 0.011 * 10 / np.exp(full).min()
    assert np.std(normal) == pytest.approx(np.std(full), rel=0.05)


def test_systems_alike_have_p_1_and_do_not_disturb():
    rng = np.random.default_rng(5)
    x = rng.random((40, 3))
    x[:, 2] = x[:, 1]
    found = cr.assess_power(table(x), draws=500, resamples=50)
    assert next(c.p for c in found.comparisons if (c.system, c.baseline) == ("s2", "s1")) == 1
    assert 1 < found.estimates[0].low < found.estimates[0].value < found.estimates[0].high


def test_no_interval_goes_beyond_the_number_of_pairs():
    x = np.random.default_rng(1).random((40, 2))
    found = cr.assess_power(table(x), draws=200, resamples=50).estimates[0]
    assert found.value <= found.high <= 1
    equal = cr.assess_power(table(np.ones((40, 3))), draws=200, resamples=50).estimates[0]
    assert (equal.value, equal.high) == (3, 3)


def test_the_recommendation_has_three_sentences_and_admits_ties():
    rng = np.random.default_rng(6)
    skill = np.linspace(0, 0.35, 6)
    sharp = np.clip(rng.random((400, 6)) * 0.3 + skill, 0, 1)
    dull = rng.random((400, 6)) + 0.05 * skill
    frame = pl.concat(
        [
            table(sharp).with_columns(measure=pl.lit("sharp")),
            table(sharp * 2).with_columns(measure=pl.lit("twice")),
            table(dull).with_columns(measure=pl.lit("dull")),
        ]
    )
    found = cr.assess_power(frame, draws=2000, resamples=100)
    assert len(found.recommendation) == 3
    assert found.recommendation[0].startswith("sharp has the lowest DP")
    assert "not separated from it: twice." in found.recommendation[2]
    alone = cr.assess_power(frame, measure=["sharp", "twice"], draws=2000, resamples=100)
    assert alone.recommendation[0].startswith("The measures are not separated")


def test_too_few_systems_or_resamples_are_refused():
    x = np.random.default_rng(0).random((20, 2))
    with pytest.raises(UsageError, match="at least 2 systems"):
        cr.assess_power(table(x[:, :1]))
    with pytest.raises(UsageError, match="at least 20 resamples"):
        cr.assess_power(table(x), resamples=3)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("power") / "values.parquet"
    x = np.random.default_rng(9).random((800, 8)) + np.linspace(0, 0.05, 8)
    table(x, measures=("P@5", "RR@5")).write_parquet(path)
    return path


def command(file, *options, draws="3000000"):  # 23 pieces, so that it can be killed between two
    words = ["assess", "power", file, "--draws", draws, "--quiet", *options]
    return [sys.executable, "-m", "counterrank", *map(str, words)]


def called(file, *options, draws="3000000", **environment):
    done = subprocess.run(
        command(file, *options, draws=draws), capture_output=True, text=True, check=False,
        env={**os.environ, "COLUMNS": "80", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_number_of_threads_changes_nothing(file):
    one, two = (
        called(file, "--format", "json", draws="300000", OPENBLAS_NUM_THREADS=n,
               POLARS_MAX_THREADS=n)
        for n in ("1", "2")
    )  # fmt: skip
    assert one == two


def test_work_that_was_killed_goes_on_where_it_was(file, tmp_path):
    whole = json.loads(called(file, "--format", "json"))
    out = tmp_path / "out"
    started = subprocess.Popen(command(file, "--out", out), stdout=subprocess.DEVNULL)
    kept = out / "unfinished"
    until = time.monotonic() + 60
    while time.monotonic() < until and len(list(kept.glob("*/flips-*.npy"))) < 2:
        time.sleep(0.005)
    os.kill(started.pid, signal.SIGKILL)
    assert started.wait() == -signal.SIGKILL
    pieces = {p: p.stat().st_mtime_ns for p in kept.glob("*/flips-*.npy")}
    assert len(pieces) >= 2
    assert not (out / "result.json").exists()
    text = called(file, "--out", out, "--resume", kept)
    assert {p: p.stat().st_mtime_ns for p in pieces} == pieces  # not computed again
    told = json.loads((out / "result.json").read_text())
    assert told["provenance"].pop("command") != whole["provenance"].pop("command")
    assert told == whole
    assert "The 20 largest p-values" in text
    assert max(map(len, text.splitlines())) <= 80
    # Without --resume what was kept inside is cleared away.
    called(file, "--out", out, draws="1000")
    assert not kept.exists()


def test_a_failed_diagnostic_ends_strict_runs_with_3_and_bad_input_with_2(tmp_path):
    few = table(np.random.default_rng(0).random((6, 3)))
    few.write_csv(tmp_path / "few.csv")
    few.drop("value").write_csv(tmp_path / "bad.csv")
    for name, code in (("few.csv", 3), ("bad.csv", 2)):
        done = subprocess.run(
            [*command(tmp_path / name), "--strict", "--format", "csv"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code
        assert "Traceback" not in done.stderr
    assert 'no column "value"' in done.stderr
