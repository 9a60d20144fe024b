"""Estimators against a known truth."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from statistics import mean, stdev

import numpy as np
import polars as pl
import pytest
import scipy.stats

import counterrank as cr
from counterrank.core.errors import InputError
from counterrank.simulate import World, platform


def trials(systems=6, repetitions=8, seed=0):
    """Two estimators: one noisy, one shifted and steady, with intervals."""
    rng = np.random.default_rng(seed)
    rows = []
    for r, s in itertools.product(range(repetitions), range(systems)):
        truth = 1 + 0.2 * s
        for name, shift, noise in (("noisy", 0, 0.3), ("shifted", 0.5, 0.05)):
            e = truth + shift + noise * rng.normal()
            rows.append((f"s{s}", name, r, e, truth, e - 2 * noise, e + 2 * noise))
    names = ["system", "estimator", "repetition", "estimate", "truth", "low", "high"]
    return pl.DataFrame(rows, schema=names, orient="row")


def by_hand(frame, name):
    """All figures in plain Python."""
    rows = frame.filter(pl.col("estimator") == name).to_dicts()
    cell = {(r["system"], r["repetition"]): r for r in rows}
    systems = list(dict.fromkeys(s for s, _ in cell))
    again = list(dict.fromkeys(r for _, r in cell))
    delta = {k: (r["estimate"] - r["truth"]) / r["truth"] for k, r in cell.items()}
    taus, regrets = [], []
    for r in again:
        e = [cell[s, r]["estimate"] for s in systems]
        v = [cell[s, r]["truth"] for s in systems]
        taus.append(scipy.stats.kendalltau(e, v).statistic)
        regrets.append(1 - v[e.index(max(e))] / max(v))
    return {
        "value": mean(d**2 for d in delta.values()) ** 0.5,
        "bias": mean(delta.values()),
        "variance": mean(stdev([delta[s, r] for r in again]) ** 2 for s in systems),
        "coverage": mean(r["low"] <= r["truth"] <= r["high"] for r in rows),
        "kendall": mean(taus),
        "regret": mean(regrets),
    }


def test_every_figure_is_that_of_its_formula():
    frame = trials()
    found = cr.assess_accuracy(frame.sample(fraction=1, shuffle=True, seed=3))
    for row in found.tables["accuracy"]:
        for name, value in by_hand(frame, row.measure).items():
            assert getattr(row, name) == pytest.approx(value), name
        assert (row.systems, row.repetitions) == (6, 8)
        assert row.low < row.value < row.high
    squares = [
        frame.filter(pl.col("estimator") == name)
        .group_by("repetition", maintain_order=True)
        .agg(((pl.col("estimate") / pl.col("truth") - 1) ** 2).mean())["estimate"]
        for name in ("noisy", "shifted")
    ]
    theirs = scipy.stats.ttest_rel(*squares)
    assert found.comparisons[0].p == pytest.approx(theirs.pvalue)
    assert (found.comparisons[0].estimator, found.comparisons[0].baseline) == ("shifted", "noisy")


def test_the_published_example_comes_out(golden):
    case = json.loads((golden / "analytic.json").read_text())["relative_rmse"]
    frame = pl.DataFrame({"system": ["a", "b", "c"], "estimator": "IPS",
                          "estimate": case["estimate"], "truth": case["ground_truth"]})  # fmt: skip
    found = cr.assess_accuracy(frame).tables["accuracy"][0]
    assert found.value == pytest.approx(case["expected"], abs=1e-12)
    assert np.isnan(found.variance)
    assert np.isnan(found.coverage)


def test_ties_are_admitted_and_bad_intervals_named():
    frame = trials(repetitions=20)
    alike = frame.filter(pl.col("estimator") == "noisy").with_columns(estimator=pl.lit("same"))
    text = cr.assess_accuracy(pl.concat([frame, alike])).recommendation
    assert len(text) == 3
    assert text[0].startswith("noisy errs least")
    assert "not separated from it: same." in text[0]
    narrow = frame.with_columns(low=pl.col("estimate") - 0.05, high=pl.col("estimate") + 0.05)
    assert "not its intervals" in cr.assess_accuracy(narrow).recommendation[2]


def test_tied_picks_cost_their_mean():
    frame = pl.DataFrame({"system": ["a", "b"], "estimator": "e", "estimate": [1.0, 1.0],
                          "truth": [2.0, 1.0]})  # fmt: skip
    assert cr.assess_accuracy(frame).tables["accuracy"][0].regret == 0.25


def test_bad_tables_are_refused_with_reasons():
    frame = trials()
    with pytest.raises(InputError, match="every system in every repetition"):
        cr.assess_accuracy(frame.head(20))
    with pytest.raises(InputError, match="every system in every repetition"):
        cr.assess_accuracy(frame.drop("repetition"))
    with pytest.raises(InputError, match=r"low is above their high.*Found 96 of 96 rows"):
        cr.assess_accuracy(frame.rename({"low": "high", "high": "low"}))
    with pytest.raises(InputError, match="must not be 0"):
        cr.assess_accuracy(frame.with_columns(truth=0.0))
    with pytest.raises(InputError, match='no column "truth"'):
        cr.assess_accuracy(frame.drop("truth"))
    other = pl.when(pl.col("estimator") == "shifted").then(1.01).otherwise(1.0)
    with pytest.raises(InputError, match="another truth for shifted"):
        cr.assess_accuracy(frame.with_columns(truth=pl.col("truth") * other))


def test_no_more_is_said_than_was_measured():
    frame = trials().filter(pl.col("estimator") == "noisy")
    assert "alone" in cr.assess_accuracy(frame).recommendation[0]
    one = frame.filter(pl.col("system") == frame["system"][0])
    assert cr.assess_accuracy(one).recommendation[1].startswith("With one system")
    alike = frame.with_columns(estimator=pl.lit("same"))
    text = cr.assess_accuracy(pl.concat([frame, alike])).recommendation
    assert text[2].startswith("Choose by other grounds")
    assert "repetitions cannot separate" in text[2]


def test_estimates_from_logs_meet_their_simulated_truth():
    """The whole way: simulated weeks, estimates with intervals, and how close they came."""
    world = World(seed=2)
    names = ["near", "ideal"]
    rows = []
    for seed in range(4):
        sample = platform(world, sessions=3000, seed=seed, runs=names)
        result = cr.estimate(
            sample.log, sample.runs, reward="click", position_bias="log2@10",
            estimator=["IPS", "IPS(clip=1)"], test="none",
        )  # fmt: skip
        for e in result.estimates:
            if e.system in names:
                truth = world.truth()[e.system]["click"].value
                rows.append((e.system, e.estimator, seed, e.value, e.low, e.high, truth))
    columns = ["system", "estimator", "repetition", "estimate", "low", "high", "truth"]
    found = cr.assess_accuracy(pl.DataFrame(rows, schema=columns, orient="row"))
    by = {r.measure: r for r in found.tables["accuracy"]}
    assert by["IPS"].value < by["IPS(clip=1)"].value  # clipped at 1 it is the raw label
    assert by["IPS(clip=1)"].bias < -0.1
    assert by["IPS(clip=1)"].coverage == 1  # its interval knows what clipping may have taken


def test_the_command_line_fits_80_columns(tmp_path):
    trials().write_csv(tmp_path / "trials.csv")
    words = "assess accuracy trials.csv --by-unit errors.csv".split()
    done = subprocess.run(
        [sys.executable, "-m", "counterrank", *words], cwd=tmp_path, capture_output=True, text=True,
        check=False, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "6 systems, 8 repetitions" in done.stdout
    assert pl.read_csv(tmp_path / "errors.csv").columns == ["unit", "system", "measure", "value"]


def test_the_mean_error_of_repetitions_and_its_standard_error():
    frame = trials()
    row = next(r for r in cr.assess_accuracy(frame).tables["accuracy"] if r.measure == "noisy")
    own = frame.filter(pl.col("estimator") == "noisy")
    each = [
        mean(((r["estimate"] - r["truth"]) / r["truth"]) ** 2 for r in part.to_dicts()) ** 0.5
        for part in own.partition_by("repetition")
    ]
    assert row.mean_rmse == pytest.approx(mean(each))
    assert row.mean_rmse_se == pytest.approx(stdev(each) / len(each) ** 0.5)
