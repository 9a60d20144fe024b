"""The decision and the gate, from the document alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.core.errors import UsageError
from counterrank.documents.decision import decide
from counterrank.documents.document import saved
from counterrank.documents.gate import gated
from counterrank.simulate import judged_world


def made(difference: float, half: float, *, verdict: str = "pass", lower: bool = False) -> Any:
    """A document with one candidate, ``difference`` from the baseline's value of 2."""
    row = {"level": 0.95, "units": 9, "se": half / 1.96}
    of = {"measure": "m", "reward": None, "estimator": "mean", "segment": None}
    p = 0.001 if abs(difference) > half else 0.5
    ahead = "better" if (difference < 0) == lower else "worse"
    return {
        "schema": 1,
        "kind": "evaluate",
        "estimates": [
            {"system": "old", **of, "value": 2.0, "low": 1.0, "high": 3.0, **row},
            {"system": "new", **of, "value": 2 + difference, "low": 1, "high": 3, **row},
        ],
        "comparisons": [
            {
                **of, "system": "new", "baseline": "old", "difference": difference,
                "low": difference - half, "high": difference + half, "lift": difference / 2,
                "family_low": difference - half, "family_high": difference + half,
                "lift_low": None, "lift_high": None, "p": p, "p_corrected": p,
                "lift_family_low": (difference - half) / 2,
                "lift_family_high": (difference + half) / 2,
                "claim": ahead if abs(difference) > half else "cannot_tell",
            }
        ],
        "diagnostics": [
            {
                "name": "coverage", "subject": "new", "value": 1.0, "threshold": 1.0,
                "state": verdict, "meaning": "Why.",
            }
        ],
        "protocol": {
            "baseline": "old", "level": 0.95, "lower_is_better": ["m"] if lower else [],
            "decides": {"measure": "m", "reward": None, "estimator": "mean"},
        },
        "provenance": {"version": "0", "inputs": []},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("document", "verdict"),
    [
        (made(0.5, 0.1), "ship"),
        (made(0.05, 0.1), "keep"),
        (made(-0.5, 0.1), "keep"),
        (made(0.5, 0.1, verdict="fail"), "distrust"),
        (made(0.5, 0.1, verdict="caution"), "ship"),
        (made(-0.5, 0.1, lower=True), "ship"),
    ],
)
def test_the_decision(document: Any, verdict: str) -> None:
    found = decide(document)
    assert found.verdict == verdict
    assert "new" in found.sentence or verdict == "distrust"


@pytest.mark.parametrize(
    ("document", "least", "passes"),
    [
        (made(0.5, 0.1), 0.0, True),  # lift 20 % to 30 %
        (made(0.5, 0.1), 0.19, True),
        (made(0.5, 0.1), 0.21, False),
        (made(0.05, 0.1), 0.0, False),
        (made(0.05, 0.1), -0.03, True),  # a margin of 3 %: not worse by more
        (made(-0.5, 0.1), 0.0, False),
        (made(0.5, 0.1, verdict="fail"), 0.0, False),
        (made(-0.5, 0.1, lower=True), 0.0, True),
        (made(0.5, 0.1, lower=True), 0.0, False),
    ],
)
def test_the_gate(document: Any, least: float, passes: bool) -> None:
    assert gated(document, min_lift=least).passed == passes


def test_the_baseline_may_stand_on_either_side() -> None:
    document = made(0.5, 0.1)
    turned = gated(document, baseline="new").checked[0]
    assert turned.system == "old"
    assert turned.lead.difference == pytest.approx(-0.5)
    assert turned.lead.shown() == ("-0.5000", "[-0.6000, -0.4000]")  # a lift only as compared


def test_summaries_cannot_be_marked_up() -> None:
    document = made(0.5, 0.1)
    document["comparisons"][0]["system"] = "a|b <img> [x](y)\n# z"
    line = gated(document).markdown().splitlines()[-1]
    assert line.startswith(r"| a\|b \<img\> \[x\]\(y\)\u000a\# z |".replace("u000a", "\\u000a"))


def test_what_the_result_does_not_have_is_said() -> None:
    with pytest.raises(UsageError, match="compares nothing"):
        gated(made(0.5, 0.1), baseline="other")
    with pytest.raises(UsageError, match='no measure or reward "other"'):
        gated(made(0.5, 0.1), decide_by="other")
    with pytest.raises(UsageError, match="no candidate"):
        gated(made(0.5, 0.1), systems=["neww"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    world = judged_world(users=100)
    result = cr.evaluate(world.judgments, world.runs, measure=["nDCG@10"], baseline="popular")
    where: Path = tmp_path_factory.mktemp("result")
    (where / "result.json").write_text(result.to_json())
    return where


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "counterrank", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_exit_codes(folder: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    assert ran("gate", str(folder), "--summary", str(summary)).returncode == 0
    closed = ran("gate", str(folder), "--min-lift", "9", "--summary", str(summary))
    assert closed.returncode == 3
    assert summary.read_text().count("### Counterrank") == 2
    for bad in ("nothing", str(tmp_path)):
        missing = ran("gate", bad)
        assert missing.returncode == 2
        assert "Traceback" not in missing.stderr


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"kind": 1}', "\x00"])
def test_other_files_are_not_results(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(cr.InputError, match="not a result"):
        saved(file)


def test_mlflow_takes_the_result(folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # to read what was written
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    store = tmp_path / "runs"
    done = ran("gate", str(folder), "--mlflow", str(store))
    assert done.returncode == 0, done.stderr
    client = mlflow.MlflowClient(tracking_uri=store.as_uri())
    experiment = client.get_experiment_by_name("counterrank")
    (run,) = client.search_runs([experiment.experiment_id])
    document = json.loads((folder / "result.json").read_text())
    rows = {f"{r['system']}/{r['measure'].replace('@', '_')}": r for r in document["estimates"]}
    assert run.data.metrics == pytest.approx({name: r["value"] for name, r in rows.items()})
    assert run.data.tags["counterrank.gate"] == "open"


def test_the_decision_says_who_is_close_and_what_would_have_shown() -> None:
    document = made(0.5, 0.1)
    first = document["comparisons"][0]
    document["comparisons"].append({**first, "system": "other", "difference": 0.45, "low": 0.35})
    assert "new, other are close, and were not compared" in decide(document).sentence
    kept = made(0.05, 0.1)
    kept["comparisons"][0]["detectable"] = 0.2
    assert "changes of about 10% or more" in decide(kept).sentence


def test_less_is_better_where_the_measure_says_so() -> None:
    world = judged_world(users=1500)
    runs = {name: world.runs[name] for name in ("popular", "deep")}
    for label in ("ARP@10", "nDCG@10"):
        result = cr.evaluate(
            world.judgments, runs, measure=[label], baseline="popular", draws=500
        ).to_dict()
        found = decide(result)
        assert (found.verdict, found.system) == ("ship", "deep"), found.sentence
        assert gated(result).passed


def test_asking_for_more_never_opens_what_asking_for_less_closes():
    """A baseline of exactly 0 made any lift of it 0, and a difference of 0 reached it."""
    log = pl.DataFrame(
        {"session": np.repeat(np.arange(200), 2), "rank": [1, 2] * 200, "item": ["a", "b"] * 200}
    ).with_columns(click=(pl.col("session") % 3 == 0).cast(int), zero=pl.lit(0))
    found = cr.estimate(
        log, {"same": log.select("session", "item", "rank")}, reward=["click", "zero"],
        decide_by="zero", position_bias="log2", estimator="DR", views="latent",
    )  # fmt: skip
    for least in (0.0, 0.05):
        assert not cr.gate(found, min_lift=least, guard={"click": 1.0}).checked[0].lead.passed


def test_what_is_shown_is_what_is_held_against_the_least_lift():
    rng = np.random.default_rng(0)
    judgments = pl.DataFrame(
        {"user": np.repeat(np.arange(60), 6), "item": np.tile(np.arange(6), 60)}
    ).with_columns(rating=pl.Series(rng.integers(0, 2, 360)))
    runs = {
        name: judgments.select(
            "user", "item", score=own * pl.col("rating") + pl.Series(rng.normal(size=360))
        )
        for name, own in (("old", 0.2), ("new", 1.0))
    }
    found = cr.evaluate(judgments, runs, measure="nDCG@3", baseline="old")
    lead = cr.gate(found).checked[0].lead
    _, low, _ = lead.lift
    assert cr.gate(found, min_lift=low - 1e-9).passed
    assert not cr.gate(found, min_lift=low + 1e-9).passed
