"""Tracebacks, hangs and unclear ends."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
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
     ["simulate", "--sessions", 10, "--ranker", "plackett_luce", "--temperature", "1e-300"],
     ["estimate", "log.csv", "target.csv", "--position-bias", "log2", "--horizon", "inf"],
     ["estimate", "log.csv", "target.csv", "--position-bias", "log2", "--horizon", "1e308"]],
    ids=["level", "days", "temperature", "horizon", "far"],
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


@pytest.mark.parametrize("value", [0, True, [], object()])
@pytest.mark.parametrize(
    ("verb", "given", "keyword"),
    [
        ("evaluate", ("judged.csv", "old.csv"), "progress"),
        ("assess_power", ("judged.csv", ["old.csv", "new.csv"]), "progress"),
        ("assess_power", ("judged.csv", ["old.csv", "new.csv"]), "resume"),
        ("assess_robustness", ("judged.csv", ["old.csv", "new.csv"]), "resume"),
        ("evaluate", ("judged.csv", "old.csv"), "scratch"),
    ],
)
def test_wrong_types_of_rarer_keywords(tables: Path, verb, given, keyword, value) -> None:
    with pytest.raises(cr.UsageError) as told:
        getattr(cr, verb)(*given, **{keyword: value})
    assert keyword in told.value.wrong
    assert told.value.todo


@pytest.mark.parametrize("value", [None, 0, "no", "false", [], NotImplemented])
def test_strict_is_true_or_false(tables: Path, value: Any) -> None:
    """What else it might mean is not for the gate to guess."""
    with pytest.raises(cr.UsageError, match="strict must be True or False"):
        cr.gate("saved", strict=value)


@pytest.mark.parametrize("value", [json, memoryview(b"x")])
def test_what_cannot_be_a_model(tables: Path, value: Any) -> None:
    with pytest.raises(cr.UsageError, match="It has no fit"):
        cr.estimate("log.csv", "target.csv", position_bias="log2", model=value)


def test_numbers_of_numpy_are_numbers(tables: Path) -> None:
    """They give what Python's give, and a document says them, so that it can be made again."""
    runs = ["old.csv", "new.csv"]
    for verb, more in ((cr.evaluate, {"level": 0.75}), (cr.assess_power, {"resamples": 50})):
        plain = verb("judged.csv", runs, draws=50, seed=3, **more)
        found = verb("judged.csv", runs, draws=np.int16(50), seed=np.int64(3),
                     **{name: np.asarray(x, np.float32 if name == "level" else None)[()]
                        for name, x in more.items()})  # fmt: skip
        assert found.options == plain.options
        assert repr(found.to_dict()) == repr(plain.to_dict())  # some numbers are NaN


@pytest.mark.parametrize(
    "options",
    [["-e", "OnPolicy"], ["-e", "OnPolicy", "--interval", "bootstrap"],
     ["--position-bias", "table(0)"], ["--position-bias", "table(0,0,1)@2"]],
    ids=" ".join,
)  # fmt: skip
def test_little_to_estimate_is_no_fault(tables: Path, options: list[str]) -> None:
    """The logged value alone; a position model in which nothing is ever seen."""
    pl.read_csv("log.csv").with_columns(viewed=1, exposure=1 / pl.col("rank")).write_csv("seen.csv")
    words = ["estimate", "seen.csv", "target.csv", "--position-bias", "log2", "--resamples", 50]
    code, trace = outcome(*words, *options)
    assert code == 0, trace


def test_what_to_write_instead_is_allowed(tables: Path) -> None:
    code, _, err = call("estimate", "log.csv", "target.csv", "--winsorise", "0")
    assert code == 2
    assert "Write it like winsorise=0.5." in err


def test_one_rank_has_no_falling_curve(tables: Path) -> None:
    pl.read_csv("log.csv").filter(pl.col("rank") == 1).write_csv("top.csv")
    pl.read_csv("log.csv").filter(pl.col("rank") == 1).with_columns(swapped=1).write_csv("swap.csv")
    for words in (["top.csv"], ["swap.csv", "--swapped", "swapped"]):
        code, trace = outcome("exposure", *words, "--method", "swap")
        assert code in (0, 2), trace


@pytest.mark.parametrize("column", ["timestamp", "day"])
@pytest.mark.parametrize("size", [float("inf"), -float("inf"), 1e308, 1e200])
def test_a_time_is_finite(tables: Path, column: str, size: float) -> None:
    log = pl.read_csv("log.csv").with_columns(pl.col("session").cast(float).alias(column))
    odd = log.with_columns(
        pl.when(pl.col("session") == 3).then(size).otherwise(column).alias(column)
    )
    for table in (odd, log.with_columns(pl.lit(size).alias(column))):
        with pytest.raises(cr.InputError, match=f'Column "{column}" of "the log"'):
            cr.estimate(table, {"t": pl.read_csv("target.csv")}, position_bias="log2")


def test_one_user_gives_no_warnings_of_numpy(tables: Path) -> None:
    """Nothing is expected of a log's only user, who is left out of what is expected."""
    log = pl.read_csv("log.csv").with_columns(user=pl.lit(1), timestamp=pl.col("session"))
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        found = cr.estimate(log, {"t": pl.read_csv("target.csv")}, position_bias="log2")
    assert [d.state for d in found.diagnostics if d.name == "late rewards"] == ["untested"]


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
