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
from counterrank.documents.acceptance import acceptances
from counterrank.documents.decision import decide
from counterrank.documents.document import saved
from counterrank.documents.gate import hold_gate
from counterrank.documents.online_test import users_needed
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
        (made(0.5, 0.1), "test"),
        (made(0.05, 0.1), "open"),
        (made(-0.5, 0.1), "keep"),
        (made(0.5, 0.1, verdict="fail"), "distrust"),
        (made(0.5, 0.1, verdict="caution"), "test"),
        (made(-0.5, 0.1, lower=True), "test"),
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
    assert hold_gate(document, min_lift=least).passed == passes


def test_the_baseline_may_stand_on_either_side() -> None:
    document = made(0.5, 0.1)
    turned = hold_gate(document, baseline="new").checked[0]
    assert turned.system == "old"
    assert turned.lead.difference == pytest.approx(-0.5)
    assert turned.lead.shown() == ("-0.5000", "[-0.6000, -0.4000]")  # a lift only as compared


def test_a_baseline_that_not_all_were_compared_with_is_refused() -> None:
    """Else the gate would hold one pair, and say nothing of the candidates it was asked about."""
    world = judged_world(users=60)
    runs = dict(list(world.runs.items())[:3])
    first, second, third = runs
    asked = {"measure": "nDCG@10", "draws": 200}
    against = cr.evaluate(world.judgments, runs, baseline=first, **asked).to_dict()
    with pytest.raises(UsageError, match=f"compares only {first} with") as refused:
        hold_gate(against, baseline=second)
    assert third in str(refused.value)
    every = cr.evaluate(world.judgments, runs, **asked).to_dict()
    assert {c.system for c in hold_gate(every, baseline=second).checked} == {first, third}


def test_summaries_cannot_be_marked_up() -> None:
    document = made(0.5, 0.1)
    for rows in (document["comparisons"], document["estimates"][1:]):
        rows[0]["system"] = "a|b <img> [x](y)\n# z"
    line = hold_gate(document).markdown().splitlines()[-1]
    assert line.startswith(r"| a\|b \<img\> \[x\]\(y\)\u000a\# z |".replace("u000a", "\\u000a"))


def test_what_the_result_does_not_have_is_said() -> None:
    with pytest.raises(UsageError, match="compares nothing"):
        hold_gate(made(0.5, 0.1), baseline="other")
    with pytest.raises(UsageError, match='no measure or reward "other"'):
        hold_gate(made(0.5, 0.1), decide_by="other")
    with pytest.raises(UsageError, match="no candidate"):
        hold_gate(made(0.5, 0.1), systems=["neww"])


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
    kept["comparisons"][0] |= {"detectable": 0.2, "units": 9}
    assert "changes of about 10% or more" in decide(kept).sentence
    assert "about 36 users like these (there are 9)" in decide(kept).sentence  # 9 (0.1 / 0.05)^2


def test_less_is_better_where_the_measure_says_so() -> None:
    world = judged_world(users=1500)
    runs = {name: world.runs[name] for name in ("popular", "deep")}
    for label in ("ARP@10", "nDCG@10"):
        result = cr.evaluate(
            world.judgments, runs, measure=[label], baseline="popular", draws=500
        ).to_dict()
        found = decide(result)
        assert (found.verdict, found.system) == ("test", "deep"), found.sentence
        assert hold_gate(result).passed


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


# what a log cannot rule out


def test_the_second_interval_decides_where_there_is_one():
    document = made(0.5, 0.1)
    assert decide(document).verdict == "test"
    row = document["comparisons"][0]
    row |= {"bound_low": -0.1, "bound_high": 1.1, "lift_bound_low": -0.05, "lift_bound_high": 0.55}
    assert not hold_gate(document).passed
    found = decide(document)
    assert found.verdict == "open"
    assert "[-5.0%, +55.0%]" in found.sentence
    assert "If the assumptions hold it is better, [" in found.sentence
    assert "what they rest on may undo that" in found.sentence
    row |= {"bound_low": None, "bound_high": None, "lift_bound_low": None, "lift_bound_high": None}
    assert hold_gate(document).passed


def test_caution_opens_and_is_said_but_not_if_strict():
    document = made(0.5, 0.1, verdict="caution")
    gate = hold_gate(document)
    assert gate.passed
    assert "the gate is open, with caution" in gate.markdown()
    strict = hold_gate(document, strict=True)
    assert not strict.passed
    assert "at least pass | **stops**" in strict.markdown()
    assert hold_gate(made(0.5, 0.1), strict=True).passed
    assert "open, with" not in hold_gate(made(0.5, 0.1)).markdown()
    assert not hold_gate(made(0.5, 0.1, verdict="fail")).passed


def tipping(gamma: float | None) -> Any:
    of = {"measure": "m", "reward": None, "estimator": "mean", "assumption": "confounding"}
    row = {"system": "new", "baseline": "old", "claim": "better", "gamma": gamma, **of}
    forgotten = {**row, "system": None, "baseline": None, "claim": None, "gamma": 9.0}
    return {**made(0.5, 0.1), "tables": {"tipping": [forgotten, row]}}


@pytest.mark.parametrize(
    ("gamma", "passes"), [(1.1, False), (1.2, False), (1.3, True), (None, True)]
)
def test_a_claim_withstands_what_does_not_turn_it(gamma: float | None, passes: bool) -> None:
    gate = hold_gate(tipping(gamma), withstand=1.2)
    assert gate.passed == passes
    assert ("**stops**" in gate.markdown()) != passes
    assert hold_gate(tipping(gamma)).passed


def test_what_has_no_tipping_point_withstands_nothing() -> None:
    with pytest.raises(UsageError, match="no tipping points"):
        hold_gate(made(0.5, 0.1), withstand=1.2)
    other = tipping(1.3)
    other["tables"]["tipping"][1]["estimator"] = "IPS"
    with pytest.raises(UsageError, match=r"no tipping point of .*those of: m by IPS"):
        hold_gate(other, withstand=1.2)
    with pytest.raises(UsageError, match="withstand must"):
        cr.gate(tipping(1.3), withstand=0.9)


# acceptance


def failing() -> Any:
    document = made(0.5, 0.1, verdict="fail")
    document["diagnostics"][0]["id"] = "coverage"
    return document


def accepting(document: Any, until: str, **more: Any) -> Any:
    told = acceptances(["coverage"], [until], ["known, and harmless"], document)
    return hold_gate(document, accept=told, **more)


def test_a_diagnostic_is_accepted_until_its_day_is_over(monkeypatch: Any) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1893456000")  # 2030-01-01
    open_ = accepting(failing(), "2030-01-01", strict=True)
    assert open_.passed
    assert "**coverage** is accepted until 2030-01-01: known, and harmless" in open_.markdown()
    over = accepting(failing(), "2029-12-31")
    assert not over.passed
    assert "**coverage** was accepted until 2029-12-31 and counts again" in over.markdown()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(UsageError, match="SOURCE_DATE_EPOCH"):
        accepting(failing(), "2030-01-01")
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert not accepting(failing(), "2020-01-01").passed
    assert accepting(failing(), "9999-01-01").passed


@pytest.mark.parametrize(
    ("accept", "until", "reason", "message"),
    [
        (["coverage"], [], ["why"], "a day until when"),
        (["coverage"], ["2030-01-01"], [], "a reason"),
        (["coverage"], ["2030-01-01"], [" "], "a reason"),
        ([], ["2030-01-01"], [], "a reason"),
        (["coverage"], ["soon"], ["why"], "until must be a day"),
        (["coverag"], ["2030-01-01"], ["why"], 'no diagnostic "coverag"'),
    ],
)
def test_acceptance_needs_all_three(
    accept: list[str], until: list[str], reason: list[str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        acceptances(accept, until, reason, failing())


def test_accepting_on_the_command_line(folder: Path) -> None:
    """A reason is one text, commas and all."""
    told = ["--accept", "ties", "--until", "9999-12-31", "--reason", "equal, by design"]
    done = ran("gate", str(folder), *told)
    assert done.returncode == 0, done.stderr
    assert "equal, by design" in done.stdout
    assert ran("gate", str(folder), *told[:4]).returncode == 2


# the test it deserves


def test_a_test_needs_so_many_users() -> None:
    """Simulated: the number it names finds the difference in four of five tests."""
    rng = np.random.default_rng(4)
    n, users = 6000, 2000
    log = pl.DataFrame(
        {
            "session": np.arange(n), "user": np.arange(n) % users, "rank": 1,
            "item": np.where(rng.random(n) < 0.5, "a", "b"), "propensity": 0.5,
        }
    )  # fmt: skip
    taste = rng.normal(0, 0.1, users)[np.arange(n) % users]
    gain = np.where(log["item"] == "a", 0.6, 0.4) + taste + 0.3 * rng.normal(size=n)
    log = log.with_columns(gain=pl.Series(gain))
    run = pl.DataFrame({"session": np.arange(n), "item": "a", "rank": 1, "propensity": 1.0})
    result = cr.estimate(log, {"new": run}, reward="gain", disjoint="zero", estimator="IPS")
    document = result.to_dict()
    lead = hold_gate(document).checked[0].lead
    needed = users_needed(document, lead)
    by_user = log.group_by("user").agg(pl.col("gain").mean())["gain"].to_numpy()
    z = 1.96 + 0.8416
    assert needed == pytest.approx(4 * z**2 * by_user.var() / lead.difference**2, rel=0.1)
    half, found = needed // 2, 0
    for _ in range(400):
        one, two = (rng.choice(by_user, half) + d for d in (0.0, lead.difference))
        se = np.sqrt(one.var(ddof=1) / half + two.var(ddof=1) / half)
        found += abs(two.mean() - one.mean()) > 1.96 * se
    assert 0.72 <= found / 400 <= 0.9
    assert f"needs about {needed:,} users" in decide(document).sentence


def test_estimators_that_coincide_have_one_line_and_a_reason() -> None:
    rng = np.random.default_rng(0)
    log = pl.DataFrame(
        {"session": np.repeat(np.arange(300), 2), "rank": [1, 2] * 300, "item": ["a", "b"] * 300}
    ).with_columns(click=pl.Series(rng.integers(0, 2, 600)))
    new = log.select("session", "item", rank=3 - pl.col("rank"))
    result = cr.estimate(log, {"new": new}, position_bias="log2", views="latent")
    text, page = "\n".join(result.lines(200)), result.report()
    rows = [line for line in text.splitlines() if line[2:].startswith("new ")]
    assert len(rows) == 1
    assert "IPS=SNIPS=DR" in rows[0]
    for told in (text, page):
        assert "weights average to 1 exactly" in told
    assert [r.estimator for r in result.estimates] == ["OnPolicy", "IPS", "SNIPS", "DR"]
    seen = log.with_columns(viewed=pl.Series(rng.integers(0, 2, 600)) | pl.col("click"))
    apart = cr.estimate(seen, {"new": new}, position_bias="log2")
    assert "IPS=" not in "\n".join(apart.lines(200)) + apart.report()


def test_a_gate_that_one_candidate_closes_says_that_all_must_pass() -> None:
    world = judged_world(users=100)
    document = cr.evaluate(
        world.judgments, world.runs, measure="nDCG@10", baseline="blurred", test="t"
    ).to_dict()
    gate = hold_gate(document)
    assert {c.passed for c in gate.checked} == {True, False}
    assert "Every candidate must pass; `--system NAME` asks it of one." in gate.markdown()
    passing = next(c.system for c in gate.checked if c.passed)
    assert "Every candidate" not in hold_gate(document, systems=[passing]).markdown()
