"""``counterrank simulate``, run as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from counterrank.simulate import World, platform


def call(*words, cwd):
    return subprocess.run(
        [sys.executable, "-m", "counterrank", "simulate", *map(str, words)],
        capture_output=True, text=True, cwd=cwd, check=False, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip


def test_files_are_what_python_gives(tmp_path):
    words = ["--sessions", 300, "--seed", 4, "--world-seed", 2, "--days", 2, "--trust", 0.5]
    words += ["--examination", "log2", "--examination", "power(eta=1)", "--logger", "logged=0.5"]
    words += ["--logger", "stochastic=0.5", "--arm", "far=0.25", "--views", "latent"]
    words += ["--user-contexts", "any"]
    done = call("--out", "sim", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    table = done.stdout[done.stdout.index("True value") :].splitlines()
    assert max(map(len, table)) <= 80
    assert [line.split()[0] for line in table[1:8]] == list(World().rankers)
    world = World(
        seed=2, days=2, trust=0.5, examination=("log2", "power(eta=1)"), arms={"far": 0.25},
        loggers={"logged": 0.5, "stochastic": 0.5}, user_contexts="any",
    )  # fmt: skip
    sample = platform(world, sessions=300, seed=4, views="latent")
    folder = tmp_path / "sim"
    assert_frame_equal(pl.read_parquet(folder / "log.parquet"), sample.log)
    assert_frame_equal(pl.read_parquet(folder / "judgments.parquet"), sample.judgments)
    files = sorted(path.stem for path in (folder / "runs").iterdir())
    assert files == sorted(sample.runs)
    for name, run in sample.runs.items():
        assert_frame_equal(pl.read_parquet(folder / "runs" / f"{name}.parquet"), run)
    document = json.loads((folder / "truth.json").read_text())
    assert document["kind"] == "simulate"
    far = document["truth"]["far"]["dwell"]
    assert far["value"] == sample.truth["far"]["dwell"].value
    assert set(far) == {"value", "se", "exact", "per_view", "per_impression"}
    assert len(document["by_day"]) == 2 * 7 * 5
    assert [p["context"] for p in document["position_bias"]] == list(range(8))
    assert document["world"]["examination"] == ["log2", "power(eta=1)"]
    assert document["sample"]["sessions"] == 300
    assert not [p for p in folder.rglob("*") if p.name.startswith(".")]


def test_every_option_is_passed_on(tmp_path):
    """The options of the command line are those of a world and a sample, one to one."""
    from dataclasses import fields

    changed = {
        "contexts": 3, "items": 50, "sets": 2, "candidates": 7, "slots": 6, "days": 2,
        "sessions_per_user": 2.0, "traffic": 0.1, "drift": 0.2, "ranker": "plackett_luce",
        "temperature": 2.0, "user_spread": 0.3, "length_spread": 0.6, "carry_over": 0.1,
        "cascading": 0.2, "interaction": 0.3, "trust": 0.4, "missing_support": 0.5,
    }  # fmt: skip
    words = [w for key, v in changed.items() for w in (f"--{key.replace('_', '-')}", v)]
    done = call("--out", "x", "--sessions", 50, "--format", "json", *words, cwd=tmp_path)
    world = json.loads(done.stdout)["world"]
    assert {key: world[key] for key in changed} == changed
    assert set(world) == {f.name for f in fields(World)}
    assert set(world) - set(changed) == {"loggers", "arms", "examination", "user_contexts", "seed"}
    assert json.loads((tmp_path / "x" / "truth.json").read_text()) == json.loads(done.stdout)


def test_context_draws_and_chosen_runs(tmp_path):
    words = ["--given", "context", "--stochastic", "draws", "--draws", 2, "--run", "two_stage"]
    assert call("--out", "x", "--sessions", 20, *words, cwd=tmp_path).returncode == 0
    assert [p.name for p in (tmp_path / "x" / "runs").iterdir()] == ["two_stage.parquet"]
    run = pl.read_parquet(tmp_path / "x" / "runs" / "two_stage.parquet")
    assert run.columns == ["session", "draw", "item", "rank"]
    assert run.height == 20 * 2 * 10
    again = call("--out", "x", "--sessions", 20, cwd=tmp_path)
    assert again.returncode == 2
    assert "The first is two_stage.parquet" in again.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--trust", "2"], "trust must lie between 0 and 1, not 2."),
        (["--sessions", "0"], "sessions must lie between 1 and 2147483647, not 0"),
        (["--examination", "lgo2"], 'Did you mean "log2"?'),
        (["--logger", "logged"], '--logger cannot read "logged"'),
        (["--arm", "fra=0.5"], 'Did you mean "far"?'),
        (["--views", "none"], "views cannot be"),
        (["--run", "two_stage"], "given"),
        (["--format", "csv"], 'format cannot be "csv"'),
        (["--out", "file"], "cannot be written"),
    ],
)
def test_refuses_with_a_message_and_writes_nothing(tmp_path, words, message):
    (tmp_path / "file").write_text("")
    done = call(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert message in " ".join(done.stderr.split())
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
