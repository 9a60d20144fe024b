"""Logs and runs that must be refused, with what was wrong, what was found and what to do."""

from __future__ import annotations

import json
import subprocess
import sys

import polars as pl
import pytest

import counterrank as cr


def log(**columns):
    """Two sessions of three rows; columns can be replaced or added (None: dropped)."""
    base = {
        "session": [1, 1, 1, 2, 2, 2],
        "user": ["a"] * 3 + ["b"] * 3,
        "item": ["x", "y", "z", "x", "y", "z"],
        "rank": [1, 2, 3, 1, 2, 3],
        "click": [1, 0, 0, 0, 1, 0],
    }
    base |= columns
    return pl.DataFrame({name: values for name, values in base.items() if values is not None})


def run(**columns):
    base = {
        "session": [1, 1, 1, 2, 2, 2],
        "item": ["y", "x", "z", "z", "y", "x"],
        "rank": [1, 2, 3, 1, 2, 3],
    }
    base |= columns
    return pl.DataFrame({name: values for name, values in base.items() if values is not None})


BAD = {
    "propensity above 1": (log(propensity=[0.5, 1.5, 0.5, 0.5, 0.5, 0.5]), run(), {},
                           "at most 1.*1 of 6 rows.*row 2, value 1.5"),
    "propensity of 0": (log(propensity=[0.5, 0.5, 0.0, 0.5, 0.5, 0.5]), run(), {}, "above 0"),
    "propensity always 1": (log(propensity=[1.0] * 6), run(), {}, "is 1 in every row.*6 rows"),
    "exposure of 0": (log(exposure=[0.0, 1, 1, 1, 1, 1]), run(), {}, '"exposure".*above 0'),
    "exposure missing": (log(exposure=[None, 1, 1, 1, 1, 1]), run(), {}, "missing values"),
    "rank 0": (log(rank=[0, 1, 2, 1, 2, 3]), run(), {}, "count from 1"),
    "ranks with gaps": (log(rank=[1, 2, 4, 1, 2, 3]), run(), {}, "leaves ranks out.*rank 4 where"),
    "rank twice": (log(rank=[1, 2, 2, 1, 2, 3]), run(), {}, "repeats a rank within a session"),
    "item twice": (log(item=["x", "y", "x", "x", "y", "z"]), run(), {}, "once in a session"),
    "reward NaN": (log(click=[float("nan"), 0, 0, 0, 1, 0]), run(), {}, '"click".*finite'),
    "reward unknown": (log(), run(), {"reward": "likes"}, 'no column "likes".*click'),
    "reward misspelt": (log(), run(), {"reward": "clik"}, 'Did you mean "click"'),
    "no reward named": (log(click=None, gain=[1] * 6), run(), {}, "no reward was named"),
    "reward not viewed": (log(viewed=[0, 1, 1, 1, 1, 1]), run(), {}, "were not viewed.*row 1"),
    "viewed not 0 or 1": (log(viewed=[2, 1, 1, 1, 1, 1]), run(), {}, "0 or 1"),
    "user changes": (log(user=["a", "b", "a", "b", "b", "b"]), run(), {}, '"user".*changes within'),
    "no session column": (log(session=None), run(), {}, 'no column "session"'),
    "session not in run": (log(), run().filter(pl.col("session") == 1), {}, "no list for 1 of 2"),
    "no session in common": (log(), run(session=[7, 7, 7, 8, 8, 8]), {}, "no session in common"),
    "nothing that was logged": (log(), run(item=["p", "q", "r", "z", "y", "x"]), {},
                                "nothing that was logged in 1 of 2"),
    "target rank twice": (log(), run(rank=[1, 1, 3, 1, 2, 3]), {}, "repeats a rank within a list"),
    "target item twice": (log(), run(item=["y", "y", "z", "z", "y", "x"]), {}, "more than once"),
    "target exposure negative": (log(), run(exposure=[-0.1, 1, 1, 1, 1, 1]), {}, "not be negative"),
    "run named logged": (log(), {"logged": run()}, {}, 'named "logged"'),
    "nothing says what is seen": (log(), run(), {"position_bias": None}, "how likely each rank"),
    "model reaches not deep enough": (log(), run(), {"position_bias": "table(1)"}, "nobody sees"),
    "estimator unknown": (log(), run(), {"estimator": ["ISP"]}, 'not an estimator.*"IPS"'),
    "clip of 0": (log(), run(), {"estimator": ["IPS(clip=0)"]}, "number above 0"),
    "views that are not logged": (log(), run(), {"views": "observed"}, 'no column "viewed"'),
    "log empty": (log().clear(), run(), {}, "has no rows"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_words(case):
    shown, target, options, message = BAD[case]
    target = target if isinstance(target, dict) else {"new": target}
    with pytest.raises(cr.CounterrankError, match=f"(?s){message}") as caught:
        cr.estimate(shown, target, **{"position_bias": "log2", **options})
    assert caught.value.wrong


def call(*words):
    return subprocess.run(
        [sys.executable, "-m", "counterrank", *map(str, words)], capture_output=True, text=True
    )


def test_the_command_line_ends_with_2_and_leaves_no_file_behind(tmp_path):
    log(click=[float("nan"), 0, 0, 0, 1, 0]).write_parquet(tmp_path / "log.parquet")
    run().write_parquet(tmp_path / "new.parquet")
    done = call("estimate", tmp_path / "log.parquet", f"new={tmp_path / 'new.parquet'}",
                "--position-bias", "log2", "--out", tmp_path / "out", "--by-unit",
                tmp_path / "units.csv")  # fmt: skip
    assert done.returncode == 2
    assert "finite" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.parquet", "new.parquet"]


def test_the_command_line_writes_the_document_and_the_units(tmp_path):
    log().write_parquet(tmp_path / "log.parquet")
    run().write_csv(tmp_path / "new.csv")
    words = ("estimate", tmp_path / "log.parquet", f"new={tmp_path / 'new.csv'}", "--reward",
             "click", "--position-bias", "log2", "--estimator", "IPS,SNIPS")  # fmt: skip
    done = call(*words, "--out", tmp_path / "out", "--format", "json", "--sweep", "clip")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "out" / "result.json").read_text())
    assert document["kind"] == "estimate"
    labels = [(row["system"], row["estimator"], row["measure"]) for row in document["estimates"]]
    assert labels == [("logged", "OnPolicy", "click"), ("new", "IPS", "click"),
                      ("new", "SNIPS", "click")]  # fmt: skip
    assert {row["baseline"] for row in document["comparisons"]} == {"logged"}
    assert len(document["tables"]["sweep"]) == 28
    assert document["tables"]["choices"][0]["reason"]
    units = pl.read_parquet(tmp_path / "out" / "units.parquet")
    assert units.columns[:3] == ["unit", "system", "measure"]
    assert call(*words, "--strict").returncode == 3
    table = call(*words).stdout
    assert "click per session, 2 sessions of 2 users" in table
    assert "new: fail (not to be relied on)" in table
    assert call(*words, "--format", "csv").stdout.startswith("kind,system,measure,reward,estimator")
