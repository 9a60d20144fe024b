"""Worked examples with known answers, from the papers and by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

import counterrank as cr
from counterrank.stats.correlation import inversion_rate, kendall_tau
from counterrank.stats.permutation import permutation_test
from making import grid, judgments, run, value


@pytest.fixture(scope="module")
def worked(golden):
    return json.loads((golden / "analytic.json").read_text())


def one_list(relevances):
    """A user whose judged items are those of the list, as the primer has it."""
    items = [f"d{n}" for n in range(len(relevances))]
    return judgments({"u": dict(zip(items, relevances, strict=True))}), run({"u": items})


@pytest.mark.parametrize(
    ("entry", "label"),
    [("cg_binary", "CG"), ("cg_graded", "CG"), ("dcg_a", "DCG@3"), ("dcg_b", "DCG@3"),
     ("ndcg_a_at_3", "nDCG@3"), ("ndcg_b_at_3", "nDCG@3")],
)  # fmt: skip
def test_primer(worked, entry, label):
    case = worked["primer"][entry]
    assert value(*one_list(case["relevances"]), label) == pytest.approx(case["expected"], abs=1e-12)


def test_primer_graded(worked):
    case = worked["primer"]["graded"]
    tables = one_list(case["relevances"])
    for name, label in {"cg": "CG@5", "dcg": "DCG@5", "ndcg": "nDCG@5"}.items():
        assert value(*tables, label) == pytest.approx(case[name], abs=1e-12)


def test_jeunen_table_1(worked):
    case = worked["jeunen_table_1"]
    truth = judgments(case["quality"])
    expected = case["normaliser_ideal_top_1"]["expected"]
    runs = {"R": run({"x1": ["a1"], "x2": ["a1"]}), "R_prime": run({"x1": ["a2"], "x2": ["a2"]})}
    result = cr.evaluate(truth, runs, measure=["DCG@1", "nDCG@1", "pnDCG@1"])
    for name in runs:
        got = {str(m): result.estimate(name, m).value for m in result.protocol["measures"]}
        assert got["DCG@1"] == pytest.approx(expected[name]["dcg_mean"]["value"], abs=1e-12)
        assert got["nDCG@1"] == pytest.approx(expected[name]["ndcg_mean"]["value"], abs=1e-12)
        post = case["post_normalised"][name]["value"]
        assert got["pnDCG@1"] == pytest.approx(post, abs=1e-12)
    frame = result.by_unit()
    for user, system, measure, _, got in frame.iter_rows():
        key = {"DCG@1": "dcg", "nDCG@1": "ndcg"}.get(measure)
        if key:
            want = expected[system][f"{key}_{user}"]["value"]
            assert got == pytest.approx(want, abs=1e-12)
    flip = next(d for d in result.diagnostics if d.name == "agreement")
    assert flip.state == "caution"
    assert "R_prime above R" in flip.meaning.replace("puts ", "")


VALCARCE = {
    "P": "P(rel=4)@5", "recall": "Recall(rel=4)@5", "F1": "F1(rel=4)@5", "AP": "AP(rel=4)@5",
    "RR": "RR(rel=4)@5", "bpref": "Bpref(rel=4)@5", "infAP_paper": "InfAP(rel=4)@5",
    "infAP_trec_eval": "InfAP(rel=4,variant=trec)@5", "ERR": "ERR@5", "NDCG": "nDCG@5",
}  # fmt: skip


@pytest.mark.parametrize(("entry", "label"), VALCARCE.items())
def test_valcarce(worked, entry, label):
    case = worked["valcarce_metrics"]
    truth, table = judgments({"u": case["ratings"]}), run({"u": case["list"]})
    # InfAP's smoothing ratios are exactly 1/2 here; trec_eval's variant keeps a trace of epsilon
    within = 2e-5 if entry == "infAP_trec_eval" else 1e-12
    assert value(truth, table, label) == pytest.approx(case["expected"][entry]["value"], abs=within)


def test_err_normaliser(worked):
    case = worked["valcarce_metrics"]["err_normaliser"]
    truth = judgments({"u": {"a": 4}, "v": {"b": 5}})
    table = run({"u": ["a"], "v": ["c"]})
    result = cr.evaluate(truth, {"run": table}, measure=["ERR", "ERR(top=user)"], test="none")
    assert grid(result)[0, 0, 0] == pytest.approx(case["paper"]["value"], abs=1e-12)
    assert grid(result)[0, 1, 0] == pytest.approx(case["evaluator"]["value"], abs=1e-12)


def test_geometric_mean(worked):
    case = worked["valcarce_metrics"]["geometric_mean"]
    truth = judgments({u: {"x": 1} for u in "abc"})
    table = run({"a": ["-", "x"], "b": ["-", "-1", "-2", "x"], "c": ["-"]})
    label = f"RR(mean=geometric,floor={case['floor']})"
    assert value(truth, table, label) == pytest.approx(case["expected"], abs=1e-12)


def test_kendall_tau_b(worked):
    for case in worked["kendall_tau_b"]:
        assert kendall_tau(case["x"], case["y"]) == pytest.approx(
            case["expected"]["value"], abs=1e-12
        )


def test_inversion_rate(worked):
    case = worked["inversion_rate"]
    assert inversion_rate(case["x"], case["y"]) == pytest.approx(case["expected"]["value"])
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30))
    assert inversion_rate(x, y) == pytest.approx((1 - kendall_tau(x, y)) / 2)


def test_permutation_exact_and_sampled(worked):
    case = worked["permutation_test"]
    d = np.array(case["differences"])
    pair = np.stack([d, np.zeros_like(d)], axis=1)
    exact = permutation_test([pair], [(0, 1)])
    assert exact.exact
    assert exact.p[0, 0] == case["expected"]["value"]
    assert round(exact.p[0, 0] * exact.draws) == case["count"]
    padded = np.vstack([pair, np.zeros((20, 2))])  # users without a difference change nothing
    assert permutation_test([padded], [(0, 1)]).p == exact.p
    p = [permutation_test([pair], [(0, 1)], draws=200, seed=s).p[0, 0] for s in range(500)]
    assert np.mean(p) == pytest.approx(case["expected"]["value"], abs=0.005)  # 100,000 in all
