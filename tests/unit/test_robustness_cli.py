"""The command: tables for people and programs, and work that survives being killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from making import world


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[str]:
    folder = tmp_path_factory.mktemp("robustness")
    truth, runs = world(users=60, seed=3)
    truth.write_parquet(folder / "judgments.parquet")
    for name, run in runs.items():
        run.write_parquet(folder / f"{name}.parquet")
    return [str(folder / "judgments.parquet"), *(str(folder / f"{n}.parquet") for n in runs)]


def call(*words: str):
    return subprocess.run(
        [sys.executable, "-m", "counterrank", "assess", "robustness", *words],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


FEW = (
    "-m",
    "nDCG@10",
    "-m",
    "RR(rel=3)@10",
    "--samples",
    "3",
    "--sizes",
    "1,0.5,0.1",
    "--mean",
    "both",
)


def test_the_table_has_every_kind_and_three_sentences(files):
    done = call(*files, *FEW)
    assert done.returncode == 0, done.stderr
    head = next(line for line in done.stdout.splitlines() if line.startswith("measure"))
    assert head.split() == ["measure", "all", "ratings", "items", "users", "popular", "large"]
    assert "RR(mean=geometric,rel=3)@10" in done.stdout
    assert "Recommendation" in done.stdout


def test_the_document_has_areas_curves_and_values(files, tmp_path):
    done = call(*files, *FEW, "--format", "json", "--out", str(tmp_path / "out"), "--quiet")
    found = json.loads(done.stdout)
    assert found["kind"] == "assess robustness"
    assert len([row for row in found["estimates"] if row["segment"] is None]) == 4
    assert len([row for row in found["estimates"] if row["segment"]]) == 4 * 5
    assert len(found["tables"]["curves"]) == 4 * 5 * 3
    assert len(found["tables"]["values"]) == 4 * 5 * 3
    assert found["protocol"]["sizes"] == [1, 0.5, 0.1]
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == found
    units = pl.read_parquet(tmp_path / "out" / "units.parquet")
    assert units.columns == ["unit", "system", "measure", "estimator", "value"]
    assert not (tmp_path / "out" / "unfinished").exists(), "what is finished needs no pieces"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--sizes", "half"), '--sizes must be a number, not "half"'),
        (("--reduction", "film"), "reduction cannot"),
    ],
)
def test_bad_options_are_refused_without_a_traceback(files, words, says):
    done = call(*files, *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_work_that_is_killed_goes_on_where_it_was(files, tmp_path):
    """Killed without warning once a few pieces are there; the second call keeps them."""
    command = [
        sys.executable, "-m", "counterrank", "assess", "robustness", *files, "-m", "ERR@10",
        "--reduction", "ratings", "--samples", "40", "--format", "json", "--quiet",
    ]  # fmt: skip
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    kept = tmp_path / "kept"
    first = subprocess.Popen(
        [*command, "--resume", str(kept)], stdout=subprocess.DEVNULL, env=env, text=True
    )
    deadline = time.monotonic() + 60
    while len(pieces(kept)) < 3:
        assert time.monotonic() < deadline
        assert first.poll() is None, "it must still be running when it is killed"
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = {file: file.stat().st_mtime_ns for file in pieces(kept)}
    assert 3 <= len(before) < 20
    again = subprocess.run(
        [*command, "--resume", str(kept)], capture_output=True, env=env, text=True
    )
    whole = subprocess.run([*command, "--threads", "1"], capture_output=True, env=env, text=True)
    told, asked = json.loads(again.stdout), json.loads(whole.stdout)
    assert told["provenance"].pop("command") != asked["provenance"].pop("command")
    assert asked["provenance"]["options"].pop("threads") == 1
    told["provenance"]["options"].pop("threads")
    assert told == asked
    assert all(file.stat().st_mtime_ns == at for file, at in before.items()), "computed again"
    assert len(pieces(kept)) == 20


def test_the_threads_of_matrix_products_change_no_digit():
    """A product of this size differs in its last digits between one and two threads."""
    code = (
        "from making import world\n"
        "from counterrank import assess_robustness\n"
        "truth, runs = world(users=700)\n"
        "runs = {f'{n}{k}': r for k in range(7) for n, r in runs.items()}\n"
        "found = assess_robustness(truth, runs, measure=['nDCG@10'], mean='geometric',"
        " reduction=['users'], sizes=[0.5], samples=50)\n"
        "print([row.value for row in found.tables['values']])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": n},
        ).stdout
        for n in ("1", "2")
    }  # fmt: skip
    assert len(said) == 1


def pieces(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.npy"))
