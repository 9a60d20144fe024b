"""Each diagnostic is silent on clean data and loud on broken data."""

from __future__ import annotations

import polars as pl
import pytest

import counterrank as cr
from counterrank.data.runs import Policies
from counterrank.diagnostics.diagnostic import worst
from counterrank.judged.lists import tie_bracket
from counterrank.judged.pipeline import measure_systems
from counterrank.judged.request import EvaluateRequest, JudgedTables
from counterrank.stats.plan import Plan
from counterrank.stats.units import Key
from making import judgments, run, scored, value, world


def found(result, name, subject=None):
    matches = [d for d in result.diagnostics if d.name == name and subject in (None, d.subject)]
    assert len(matches) == 1
    return matches[0]


@pytest.fixture(scope="module")
def clean():
    truth, runs = world(users=60, top=12)
    return truth, {"a": runs["a"], "c": runs["c"]}


def test_silent_on_clean_data(clean):
    truth, runs = clean
    result = cr.evaluate(truth, runs, measure=["nDCG@10", "AP@10"], test="none")
    assert {d.state for d in result.diagnostics} == {"pass"}
    assert result.verdict == "pass"


def test_coverage_and_unjudged_users(clean):
    truth, runs = clean
    half = runs["a"].filter(pl.col("user").str.ends_with("1"))
    seen = found(cr.evaluate(truth, {"a": half}, test="none"), "coverage")
    assert seen.state == "fail"
    assert seen.value == pytest.approx(6 / 60)
    few = truth.filter(pl.col("user").str.ends_with("1"))
    result = cr.evaluate(few, {"a": runs["a"]}, test="none")
    assert found(result, "coverage").state == "pass"
    assert found(result, "unjudged users").state == "caution"
    assert found(result, "sample size").state == "fail"


def test_short_lists_and_judged_share(clean):
    truth, runs = clean
    short = runs["a"].filter(pl.col("rank") <= 4)
    result = cr.evaluate(truth, {"a": short}, measure=["P@10"], test="none")
    assert found(result, "short lists").state == "caution"
    assert found(result, "short lists").value == 1.0
    other = runs["a"].with_columns(item=pl.lit("x") + pl.col("item"))
    other = pl.concat([other, run({"u0": []}).cast(other.schema)])
    result = cr.evaluate(truth, {"a": other}, measure=["P@10"], test="none")
    assert found(result, "judged share").state == "caution"


def test_no_relevant_item(clean):
    truth, runs = clean
    poor = pl.col("user").str.ends_with("1") | pl.col("user").str.ends_with("2")
    poor |= pl.col("user").str.ends_with("3")
    truth = truth.with_columns(rating=pl.when(poor).then(0).otherwise("rating"))
    result = cr.evaluate(truth, runs, measure=["P(rel=4)@10"], test="none")
    share = found(result, "no relevant item")
    assert share.state == "caution"
    skipped = cr.evaluate(truth, runs, measure=["P(rel=4)@10"], test="none", no_relevant="skip")
    assert skipped.estimates[0].units == round(60 * (1 - share.value))


def test_ties_bracket_what_they_could_do(clean):
    truth, _ = clean
    items = sorted(set(truth["item"]))
    tied = scored({u: [(i, 1.0) for i in items] for u in truth["user"].unique()})
    result = cr.evaluate(truth, {"a": tied}, measure=["nDCG@5"], test="none")
    ties = found(result, "ties")
    assert ties.state == "fail"
    assert "nDCG@5 0.0" in ties.meaning  # all judged items fit below the cut-off
    assert "to 1.0000" in ties.meaning


def test_tie_bracket_contains_every_order_and_follows_the_policies():
    truth = judgments({"u": {"a": 1}, "v": {"a": 1}, "w": {"a": 0}})
    table = scored({"u": [("a", 1), ("b", 1)], "v": [("a", 2), ("b", 1)]})
    result = cr.evaluate(
        truth, {"r": table}, measure=["RR@5"], test="none", missing="skip", no_relevant="skip"
    )
    assert result.estimates[0].value == 0.75
    assert found(result, "ties").state == "caution"  # the interval is wider than the bracket
    request = EvaluateRequest((cr.measure("RR@5"),), Plan(), Policies("skip", "skip"))
    lists = measure_systems(request, JudgedTables.of(truth, {"r": table}), cr.Local()).measured
    key = Key("r", "RR@5")
    means, shifts = lists.units.over(key).means(key), lists.lists["r"].ties[0] / 2
    assert tie_bracket(request.measures[0], means, shifts) == (0.75, 1.0)


def test_agreement_is_silent_when_every_user_has_the_same_ideal():
    """Leave-one-out: nDCG is DCG rescaled, so the orders cannot differ."""
    rng_truth, runs = world(users=80, seed=9)
    one = rng_truth.group_by("user", maintain_order=True).first().with_columns(rating=pl.lit(1))
    result = cr.evaluate(one.select("user", "item", "rating"), runs, test="none")
    assert found(result, "agreement").state == "pass"
    assert found(result, "agreement").value == 0.0


def test_agreement_names_the_pair_and_says_which_is_a_total():
    truth = judgments({"x1": {"a1": 1.0}, "x2": {"a1": 1.0, "a2": 2.5}})
    runs = {"old": run({"x1": ["a1"], "x2": ["a1"]}), "new": run({"x1": ["q"], "x2": ["a2"]})}
    text = found(cr.evaluate(truth, runs, measure=["P@1"], test="none"), "agreement").meaning
    assert "DCG puts new above old" in text
    assert "DCG estimates a total" in text
    assert "Lemma 5.2" in text


def test_worst_verdict():
    assert worst([]) == "pass"


def test_one_user_gives_values_without_warnings_or_false_certainty():
    truth, a, b = judgments({"u": {"a": 1}}), run({"u": ["a"]}), run({"u": ["x", "a"]})
    for test in ("permutation", "t", "bootstrap", "wilcoxon"):
        for correct in ("none", "holm"):
            result = cr.evaluate(
                truth, {"a": a, "b": b}, measure=["RR"], test=test, correct=correct
            )
            assert result.comparisons[0].p == 1.0
            assert result.comparisons[0].p_corrected == 1.0
            assert '"low": null' in result.to_json()
    for interval in ("normal", "t", "bootstrap", "bca", "bernstein"):
        row = cr.evaluate(truth, {"a": a}, measure=["RR"], interval=interval).estimates[0]
        assert row.low != row.low


def test_nonsense_combinations_are_refused():
    truth, table = judgments({"u": {"a": 2000}}), run({"u": ["a"]})
    for label in ("ERR", "DCG(gain=exp)@3"):
        with pytest.raises(cr.UsageError, match="2000"):
            value(truth, table, label)
    assert value(truth, table, "DCG@3") == 2000
    with pytest.raises(cr.UsageError, match="Bernstein"):
        value(truth, table, "nDCG(mean=geometric)", interval="bernstein")
    with pytest.raises(cr.UsageError, match="mean=geometric"):
        cr.measure("AP(floor=0.01)")
    with pytest.raises(cr.UsageError, match="not judged"):
        cr.measure("AP(rel=-1)")


def test_ideal_gives_the_best_item_the_largest_weight():
    truth, table = judgments({"u": {"a": 3, "b": 1}}), run({"u": ["b", "a"]})
    assert value(truth, table, "nDCG(discount=table(0.1,1))@2") == pytest.approx(1)
    assert value(truth, table, "nDCG(discount=table(0.1,1,0.5))@1") == pytest.approx(1 / 3)


def test_results_print_their_grounds(clean):
    truth, runs = clean
    result = cr.evaluate(truth, runs, measure=["nDCG@10"])
    lines = repr(result).splitlines()
    assert lines[0].startswith("What is estimated: The mean of each measure over the judged users")
    assert any(line.startswith("nDCG@10, 60 users") for line in lines)
    assert "95%" in repr(result)
    assert "What this rests on" in lines
    assert "\nDecision: " in repr(result)
    assert repr(result.estimate("a", "nDCG@10")).endswith("60 units)")
