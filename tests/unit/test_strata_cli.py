"""``counterrank strata`` as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import polars as pl
import pytest

import counterrank as cr
from making import weighed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("strata")
    table, runs = weighed()
    table.with_columns(rare=pl.col("propensity") ** 9).write_parquet(path / "judgments.parquet")
    for name, one in runs.items():
        one.write_parquet(path / f"{name}.parquet")
    return path


def call(folder, *words):
    command = [sys.executable, "-m", "counterrank", "strata", "judgments.parquet", *words]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, check=False,
        env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip


def test_the_table_fits_80_columns(folder) -> None:
    words = "-m nDCG@5,ARP(rel=2)@5 --cut country --propensity propensity".split()
    done = call(folder, "a.parquet", "a rather long name of a system=b.parquet", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    for word in ("country=NL", "stratified", "SNIPS", "Paradoxes:", "What this rests on"):
        assert word in done.stdout


def test_the_command_line_is_the_verb(folder) -> None:
    done = call(folder, "x=a.parquet", "b.parquet", "-m", "P@3", "--strata", "3", "--cut", "items",
                "--propensity", "propensity", "--format", "json", "--out", "out", "--quiet",
                "--by-unit", "units.csv", "--no-relevant", "zero", "--baseline", "x")  # fmt: skip
    document = json.loads(done.stdout)
    table, runs = weighed()
    result = cr.strata(
        table, {"x": runs["a"], "b": runs["b"]}, measure=["P@3"], strata=3, cut="items",
        propensity="propensity", no_relevant="zero", baseline="x",
    )  # fmt: skip
    expected = json.loads(result.to_json())
    for key in ("estimates", "comparisons", "tables", "diagnostics"):
        assert document[key] == expected[key], key
    assert json.loads((folder / "out" / "result.json").read_text()) == document
    assert (
        (folder / "units.csv").read_text().startswith("unit,system,measure,estimator,segment,value")
    )


def test_a_failed_diagnostic_is_strict_and_bad_words_have_no_traceback(folder) -> None:
    words = ("a.parquet", "-m", "DCG@3", "--strict", "--propensity")
    assert call(folder, *words, "propensity").returncode == 0
    assert call(folder, *words, "rare").returncode == 3
    done = call(folder, "a.parquet", "--cut", "nothing")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_the_table_says_who_is_left_out_and_what_ips_can_tell(folder) -> None:
    words = ("a.parquet", "-m", "P@3", "--propensity")
    given = " ".join(call(folder, *words, "propensity").stdout.split())
    assert "A stratum is over users with something to find there." in given
    given = " ".join(call(folder, *words, "propensity", "--no-relevant", "skip").stdout.split())
    assert "Users with nothing to find are left out (evaluate counts them 0)." in given
    assert "up to a factor" not in given
    guessed = call(folder, *words, "published", "--no-relevant", "zero").stdout
    assert "up to a factor" in " ".join(guessed.split())
    assert "left out" not in guessed
