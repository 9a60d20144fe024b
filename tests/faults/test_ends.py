"""Tracebacks, hangs and unclear ends."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import counterrank as cr
from faults.calls import call, command, outcome
from faults.mutants import KINDS

DEEP = "[" * 100_000 + "]" * 100_000


def test_one_judged_user_with_two_runs(tables: Path) -> None:
    pl.read_csv("judged.csv").filter(pl.col("user") == "u1").write_csv("one.csv")
    assert outcome("evaluate", "one.csv", "old.csv", "new.csv", "--out", "one") == (0, "")
    assert outcome("gate", "one", "--baseline", "old")[0] in (2, 3)
    assert outcome("report", "one") == (0, "")


def test_one_session(tables: Path) -> None:
    pl.read_csv("log.csv").filter(pl.col("session") == 1).write_csv("l.csv")
    pl.read_csv("target.csv").filter(pl.col("session") == 1).write_csv("t.csv")
    words = ["estimate", "l.csv", "t.csv", "--position-bias", "log2", "--out", "one"]
    code, trace = outcome(*words)
    assert code in (0, 2), trace
    if code == 0:
        assert outcome("gate", "one")[0] in (2, 3)
        assert outcome("report", "one") == (0, "")


@pytest.mark.parametrize("text", [DEEP, '{"a":' * 50_000, "null", "[]", "1", "", "\x00", "{}",
                                  '{"schema": 1, "provenance": 3}', "NaN"])  # fmt: skip
def test_no_document_gives_a_traceback(tables: Path, text: str) -> None:
    (tables / "odd.json").write_text(text)
    for words in (["gate", "odd.json"], ["report", "odd.json"], ["repeat", "odd.json"],
                  ["estimate", "log.csv", "target.csv", "--position-bias", "odd.json"],
                  ["evaluate", "--config", "odd.json"]):  # fmt: skip
        assert outcome(*words)[0] == 2, words


@pytest.mark.parametrize(
    ("kind", "edit", "verb"),
    [
        ("agreement", lambda d: d["tables"]["taus"][1].update(measure=False), "report"),
        ("agreement", lambda d: d["tables"]["taus"][1].update(other=0.5), "report"),
        ("exposure", lambda d: d["provenance"]["inputs"][0].pop("name"), "repeat"),
        ("check", lambda d: d["tables"].update(tables=[[d["tables"]["tables"][0]]]), "repeat"),
        (
            "exposure",
            lambda d: d["tables"]["covariance"]["learned"].update(contextx=[]),
            "estimate",
        ),
        ("exposure", lambda d: d["tables"]["covariance"]["learned"].update(by=-1), "estimate"),
        (
            "exposure",
            lambda d: d["tables"]["covariance"]["learned"].update(reward=[[]]),
            "estimate",
        ),
        ("exposure", lambda d: d["tables"]["covariance"]["learned"].update(method="x"), "estimate"),
        ("exposure", lambda d: d["tables"]["covariance"]["learned"].update(level=7), "estimate"),
    ],
)
def test_parts_that_the_schema_leaves_free(tables: Path, kind: str, edit: Any, verb: str) -> None:
    code, out, err = call(*KINDS[kind].split(), "--format", "json")
    assert code == 0, err
    document = json.loads(out)
    edit(document)
    (tables / "odd.json").write_text(json.dumps(document))
    words = {
        "report": ["report", "odd.json"], "repeat": ["repeat", "odd.json"],
        "estimate": ["estimate", "log.csv", "target.csv", "--position-bias", "odd.json"],
    }[verb]  # fmt: skip
    assert outcome(*words) == (2, "")


@pytest.mark.parametrize(
    "covariance",
    [3, [], {"version": 1, "curves": 3}, {"version": 1, "curves": [3]},
     {"version": 1, "curves": [{}]}, {"version": 1, "learned": 3, "curves": []},
     {"version": 1, "log": "x", "curves": []},
     {"version": 1, "curves": [{"context": "", "parameters": 3, "matrix": "x"}]}],
)  # fmt: skip
def test_a_position_file_with_an_odd_covariance(tables: Path, covariance: Any) -> None:
    model = {"name": "table", "weights": [1.0, 0.5, 0.2]}
    document = {"kind": "exposure", "tables": {"model": model, "covariance": covariance}}
    (tables / "odd.json").write_text(json.dumps(document))
    words = ["estimate", "log.csv", "target.csv", "--position-bias", "odd.json"]
    assert outcome(*words)[0] == 2


@pytest.mark.parametrize(
    "options",
    [["--resamples", "1000000000000"], ["--draws", "1000000000000"], ["-m", "," * 100_000],
     ["-m", f"P(rel={'9' * 400})@5"], ["-m", f"P@{'9' * 400}"], ["-m", "(" * 900]],
    ids=["resamples", "draws", "commas", "nines", "cut", "depth"],
)  # fmt: skip
def test_numbers_without_end_are_bounded(tables: Path, options: list[str]) -> None:
    code, trace = outcome("evaluate", "judged.csv", "old.csv", *options)
    assert code in (0, 2), trace


@pytest.mark.parametrize(
    "words",
    [["evaluate", "judged.csv", "old.csv", "--level", "0.9999999999999999"],
     ["simulate", "--sessions", 10, "--days", 2**31 - 1],
     ["simulate", "--sessions", 10, "--ranker", "plackett_luce", "--temperature", "1e-300"]],
    ids=["level", "days", "temperature"],
)  # fmt: skip
def test_numbers_at_the_edge_are_bounded(tables: Path, words: list[object]) -> None:
    """A quantile at 1 is no number; work without end is refused before it begins."""
    code, _, err = call(*words)
    assert code == 2, err
    assert str(words[-2])[2:] in err


def test_no_numbers_are_refused(tables: Path) -> None:
    with pytest.raises(cr.UsageError, match="at least one number"):
        cr.strata("judged.csv", ["old.csv", "new.csv"], strata=[])


@pytest.mark.parametrize("allowed", [300_000, 700_000, 1_000_000])
def test_little_memory_is_told_before_libraries_hang(tables: Path, allowed: int) -> None:
    line = " ".join(command("evaluate", "judged.csv", "old.csv"))
    done = subprocess.run(f"ulimit -v {allowed}; {line}", shell=True, capture_output=True,
                          text=True, timeout=60, check=False)  # fmt: skip
    assert done.returncode == 2
    assert "The memory is not enough" in done.stderr
    assert "GB of addresses are allowed" in done.stderr


@pytest.mark.parametrize("verb", ["strata", "gate", "exposure"])
def test_what_follows_two_dashes_is_no_flag(tables: Path, verb: str) -> None:
    for words in (["--", "--config"], ["judged.csv", "--", "-m", "--config=x"]):
        assert outcome(verb, *words) == (2, "")


def test_a_file_is_no_store(tables: Path) -> None:
    (tables / "store").write_text("mine")
    code, trace = outcome("gate", "saved", "--mlflow", "store")
    assert code == 2, trace
    assert (tables / "store").read_text() == "mine"


@pytest.mark.parametrize("name", ["measure", "level", "draws", "seed", "baseline", "columns",
                                  "engine", "partitions", "memory", "test", "margin"])  # fmt: skip
@pytest.mark.parametrize("value", [object(), 1.5, b"x", [None], {"a": 1}, {1: 2}, 1j, True])
def test_wrong_types_are_a_usage_error(tables: Path, name: str, value: Any) -> None:
    with contextlib.suppress(cr.CounterrankError):  # no other exception
        cr.evaluate("judged.csv", "old.csv", **{"draws": 50, name: value})


def test_a_closed_relation_is_told(tables: Path) -> None:
    import duckdb

    connection = duckdb.connect()
    relation = connection.sql("select 'u1' as user, 'i1' as item, 1 as rating")
    connection.close()
    with pytest.raises(cr.CounterrankError, match="cannot be read"):
        cr.evaluate(relation, "old.csv")


def test_a_pipe_that_nobody_writes_to_is_refused(tables: Path) -> None:
    os.mkfifo("pipe.csv")
    os.mkfifo("pipe.json")
    for words in (["evaluate", "pipe.csv", "old.csv"], ["gate", "pipe.json"],
                  ["report", "pipe.json"], ["check", "pipe.csv"],
                  ["evaluate", "--config", "pipe.json"],
                  ["estimate", "log.csv", "target.csv", "--position-bias",
                   "pipe.json"]):  # fmt: skip
        code, _, err = call(*words)
        assert code == 2 or "is no file" in err, words


def _forked(queue: Any) -> None:
    try:
        cr.evaluate("judged.csv", "old.csv", measure="P@2")
    except cr.UsageError as error:
        queue.put(str(error))
    else:
        queue.put("ran")


@pytest.mark.filterwarnings("ignore")
def test_a_forked_child_is_refused(tables: Path) -> None:
    cr.evaluate("judged.csv", "old.csv", measure="P@2")
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_forked, args=(queue,))
    child.start()
    child.join(30)
    alive = child.is_alive()
    child.kill()
    assert not alive
    assert "forked" in queue.get()
