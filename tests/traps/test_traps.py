"""Mistakes that reached users of other tools, one test each.

Traps 18 to 21 and 24 concern logs, propensities and strata, which this part does not touch.
"""

from __future__ import annotations

import inspect

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterrank as cr
from counterrank.engine import Local
from counterrank.stats.inference import benjamini_hochberg, holm
from counterrank.stats.permutation import permutation_test
from making import grid, judgments, run, scored, value, values, world

MEASURES = ["nDCG@5", "DCG@5", "AP@5", "RR@5", "P@5", "Recall@5", "ERR@5", "Bpref@5", "InfAP@5"]


def test_trap_01_constant_scores_are_not_perfect():
    truth = judgments({"u": {"b": 1}})
    tied = scored({"u": [("a", 1), ("b", 1), ("c", 1)]})
    result = cr.evaluate(truth, {"run": tied}, measure=["nDCG@3", "RR"], test="none")
    ties = next(d for d in result.diagnostics if d.name == "ties")
    assert ties.value == 1.0
    assert ties.state != "pass"
    assert value(truth, tied, "RR") < 1
    assert value(truth, tied, "nDCG@3", ties="expected") == pytest.approx(
        np.mean([1, 1 / np.log2(3), 1 / 2])
    )


def test_trap_02_renaming_items_changes_no_value():
    truth, table = judgments({"u": {"b": 1}}), scored({"u": [("a", 1), ("b", 1), ("c", 1)]})
    new = {"a": "z", "b": "a", "c": "m"}
    rename = pl.col("item").replace(new)
    for label in ("nDCG@2", "P@2", "RBP", "DCG@1"):
        before = value(truth, table, label, ties="expected")
        after = value(
            truth.with_columns(rename), table.with_columns(rename), label, ties="expected"
        )
        assert before == after
    # the trec_eval rule depends on ids by design, and says so
    changed = value(truth.with_columns(rename), table.with_columns(rename), "RR")
    assert changed != value(truth, table, "RR")
    result = cr.evaluate(truth, {"run": table}, measure=["RR"], test="none")
    assert next(d for d in result.diagnostics if d.name == "ties").state != "pass"


@pytest.mark.parametrize("k", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("label", ["nDCG", "AP(over=min)", "RR", "Success", "Rprec", "Bpref"])
def test_trap_03_truth_ranked_by_truth_is_one(label, k):
    truth = {"u": {"a": 3, "b": 2, "c": 1}, "v": {"d": 1}}
    perfect = run({"u": ["a", "b", "c"], "v": ["d"]})
    got = value(judgments(truth), perfect, f"{label}@{k}")
    if label in ("Rprec", "Bpref") and k < 3:
        assert got == pytest.approx((k / 3 + 1) / 2)  # both divide by all relevant items
    else:
        assert got == pytest.approx(1)


def test_trap_04_a_hit_at_rank_two():
    truth, table = judgments({"u": {"b": 1}}), run({"u": ["a", "b"]})
    assert value(truth, table, "nDCG@10") == pytest.approx(1 / np.log2(3))
    assert value(truth, table, "nDCG(discount=jarvelin)@10") == 1.0
    assert value(truth, table, "RR@10") == 0.5
    assert value(truth, table, "ERR@10") == 0.25
    assert value(truth, table, "AP@10") == 0.5


def test_trap_05_fewer_than_k_relevant_items_can_reach_one():
    truth, table = judgments({"u": {"a": 1}}), run({"u": ["a", "b", "c"]})
    for label in ("nDCG@3", "AP@3", "RR@3", "Recall@3", "Bpref@3", "InfAP@3", "Success@3"):
        assert value(truth, table, label) == 1.0


@pytest.mark.parametrize("label", ["CG@2", "DCG@2", "nDCG@2", "pnDCG@2", "ERR@2"])
def test_trap_06_graded_labels_change_graded_measures(label):
    table = run({"u": ["a", "b"], "v": ["x"]})
    low, high = ({"u": {"a": g, "b": 1, "c": 4}, "v": {"x": 4}} for g in (1, 3))
    assert value(judgments(low), table, label) != value(judgments(high), table, label)


@pytest.mark.parametrize("name", ["CG", "DCG", "nDCG", "pnDCG", "P", "Recall", "F1", "AP", "RR",
                                  "ERR", "Bpref", "InfAP", "Rprec", "Success", "RBP", "ARP",
                                  "Judged"])  # fmt: skip
def test_trap_07_k_changes_every_measure(name):
    truth, runs = world()
    assert value(truth, runs["a"], f"{name}@2") != value(truth, runs["a"], f"{name}@10")


def test_trap_08_user_with_no_relevant_item_follows_the_policy():
    truth, table = judgments({"u": {"a": 1}, "v": {"a": 0}}), run({"u": ["a"], "v": ["a"]})
    for label in MEASURES:
        zero = cr.evaluate(truth, {"r": table}, measure=[label], test="none")
        skip = cr.evaluate(truth, {"r": table}, measure=[label], test="none", no_relevant="skip")
        assert (zero.estimates[0].units, skip.estimates[0].units) == (2, 1)
        assert skip.estimates[0].value == pytest.approx(2 * zero.estimates[0].value)
        with pytest.raises(cr.InputError, match="'v'"):
            cr.evaluate(truth, {"r": table}, measure=[label], no_relevant="error")


def test_trap_09_missing_user_is_counted_not_dropped():
    truth, table = judgments({"u": {"a": 1}, "v": {"a": 1}}), run({"u": ["a"]})
    result = cr.evaluate(truth, {"r": table}, measure=["RR"], test="none")
    assert (result.estimates[0].value, result.estimates[0].units) == (0.5, 2)
    seen = next(d for d in result.diagnostics if d.name == "coverage")
    assert seen.value == 0.5
    assert "1 of 2" in seen.meaning
    skipped = cr.evaluate(truth, {"r": table}, measure=["RR"], test="none", missing="skip")
    assert (skipped.estimates[0].value, skipped.estimates[0].units) == (1.0, 1)
    with pytest.raises(cr.InputError, match="'v'"):
        cr.evaluate(truth, {"r": table}, measure=["RR"], missing="error")


def test_trap_10_an_empty_user_in_the_middle_disturbs_nobody():
    truth = {"a": {"x": 2, "y": 1}, "b": {"x": 0}, "c": {"y": 3}}
    lists = {"a": ["y", "x"], "b": ["y"], "c": ["x", "y"]}
    for label in MEASURES:
        both = values(judgments(truth), run(lists), label)
        for user in "ac":
            own = {"z": {"q": 3}, user: truth[user]}  # z keeps the data set's top rating
            alone = values(judgments(own), run({user: lists[user], "z": ["p"]}), label)
            assert alone[user] == both[user]


def test_trap_11_duplicate_items_raise_or_keep_the_first():
    truth = judgments({"u": {"a": 1, "b": 1}})
    doubled = scored({"u": [("a", 3), ("a", 2), ("b", 1)]})
    with pytest.raises(cr.InputError, match="row 2, user 'u', item 'a'"):
        cr.evaluate(truth, {"r": doubled})
    clean = scored({"u": [("a", 3), ("b", 1)]})
    for label in MEASURES:
        assert value(truth, doubled, label, duplicates="first") == value(truth, clean, label)
    result = cr.evaluate(truth, {"r": doubled}, measure=["RR"], test="none", duplicates="first")
    assert next(d for d in result.diagnostics if d.name == "duplicates").value == 1


def test_trap_12_negative_ratings_are_not_judged():
    table = run({"u": ["n", "a", "z"]})
    negative = judgments({"u": {"n": -1, "a": 1, "z": 0}})
    without = judgments({"u": {"a": 1, "z": 0}})
    for label in MEASURES:
        assert value(negative, table, label) == value(without, table, label)
    assert (
        value(negative, table, "Judged") == value(without, table, "Judged") == pytest.approx(2 / 3)
    )
    # trec_eval's InfAP alone counts them as pooled
    label = "InfAP(variant=trec)"
    assert value(negative, table, label) > value(without, table, label)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "duckdb", "csv", "parquet"])
def test_trap_13_row_order_means_nothing(kind, tmp_path):
    truth, runs = world()
    before = [value(truth, runs["b"], label) for label in MEASURES]
    mixed = runs["b"].sample(fraction=1, shuffle=True, seed=2)
    mixed_truth = truth.sample(fraction=1, shuffle=True, seed=3)
    a, b = (_as(kind, table, tmp_path / f"{n}") for n, table in enumerate((mixed_truth, mixed)))
    assert [value(a, b, label) for label in MEASURES] == before


def _as(kind, table, path):
    if kind == "pandas":
        return table.to_pandas()
    if kind == "pyarrow":
        return table.to_arrow()
    if kind == "duckdb":
        return duckdb.from_arrow(table.to_arrow())
    if kind == "csv":
        table.write_csv(f"{path}.csv")
        return f"{path}.csv"
    if kind == "parquet":
        table.write_parquet(f"{path}.parquet")
        return f"{path}.parquet"
    return table


def test_trap_14_huge_integer_and_string_ids_give_the_same():
    truth, runs = world()
    small = [value(truth, runs["a"], label) for label in MEASURES]
    for scheme in (
        lambda s: s.str.slice(1).cast(pl.Int64) + 9_000_000_000_000_000_000,
        lambda s: s.str.slice(1).cast(pl.UInt64) + 18_000_000_000_000_000_000,
        lambda s: s.str.slice(1).cast(pl.Int64) * -300_000_000_000_000_000,
        lambda s: ("1" + s.str.slice(1).str.zfill(30)).cast(pl.Int128),
        lambda s: s + "-" * 500,
    ):
        a, b = (
            table.with_columns(
                scheme(table["user"]).alias("user"), scheme(table["item"]).alias("item")
            )
            for table in (truth, runs["a"])
        )
        assert [value(a, b, label) for label in MEASURES] == pytest.approx(small, abs=1e-12)
    objects = truth.to_pandas().assign(item=[10**30 + int(i[1:]) for i in truth["item"]])
    other = runs["a"].to_pandas().assign(item=[str(10**30 + int(i[1:])) for i in runs["a"]["item"]])
    assert isinstance(objects, pd.DataFrame)
    assert [value(objects, other, label) for label in MEASURES] == pytest.approx(small)


def test_trap_15_two_runs_with_users_in_another_order():
    truth, runs = world()
    plain = cr.evaluate(truth, runs, measure=["nDCG@5"], baseline="a")
    turned = {"a": runs["a"].reverse(), "b": runs["b"], "c": runs["c"].sort("item")}
    mixed = cr.evaluate(truth, turned, measure=["nDCG@5"], baseline="a")
    assert [c.difference for c in plain.comparisons] == [c.difference for c in mixed.comparisons]
    assert [c.p for c in plain.comparisons] == [c.p for c in mixed.comparisons]
    a, b = plain.estimate("a", "nDCG@5"), plain.estimate("b", "nDCG@5")
    turned_a, turned_b = mixed.estimate("a", "nDCG@5"), mixed.estimate("b", "nDCG@5")
    assert (turned_a - turned_b).se == pytest.approx((a - b).se, rel=1e-12)
    with pytest.raises(cr.UsageError, match="same units"):
        a - cr.evaluate(truth.filter(pl.col("user") != "u3"), runs, measure=["nDCG@5"]).estimate(
            "b", "nDCG@5"
        )


def test_trap_16_corrections_work_on_the_whole_family():
    p = np.array([0.01, 0.04, 0.03, 0.005])
    assert holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert benjamini_hochberg(p) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    gap = np.array([0.01, np.nan, 0.04, 0.03, 0.005])
    assert np.delete(holm(gap), 1) == pytest.approx(holm(p))
    assert np.isnan(holm(gap)[1])
    truth, runs = world()
    options = {"measure": MEASURES[:3], "test": "t", "draws": 500}
    raw = cr.evaluate(truth, runs, correct="none", **options).comparisons
    done = cr.evaluate(truth, runs, correct="holm", family="all", **options).comparisons
    assert len(raw) == 9
    assert [c.p_corrected for c in done] == pytest.approx(holm(np.array([c.p for c in raw])))
    assert {c.family for c in done} == {"9 comparisons, all measures"}
    each = cr.evaluate(truth, runs, correct="holm", family="measure", **options).comparisons
    assert [c.p_corrected for c in each[:3]] == pytest.approx(
        holm(np.array([c.p for c in raw[:3]]))
    )


def test_trap_17_p_is_never_zero_nor_above_one():
    x = np.stack([np.ones(50), np.zeros(50), np.ones(50)], axis=1)
    found = permutation_test([x], [(0, 1), (0, 2)], draws=999)
    assert found.p[0, 0] == pytest.approx(1 / 1024)
    assert found.p[0, 1] == 1.0
    assert found.maxt[0, 1] == 1.0
    tiny = permutation_test([np.array([[1.0, 0.0]])], [(0, 1)])
    assert tiny.p[0, 0] == 1.0


def test_trap_22_input_frames_stay_as_they_are():
    truth, runs = world()
    frames = [truth.to_pandas(), runs["a"].to_pandas(), runs["b"].to_arrow(), runs["c"].clone()]
    before = [frames[0].copy(deep=True), frames[1].copy(deep=True), frames[2], frames[3].clone()]
    result = cr.evaluate(frames[0], dict(zip("abc", frames[1:], strict=True)), draws=100)
    result.to_json()
    pd.testing.assert_frame_equal(frames[0], before[0])
    pd.testing.assert_frame_equal(frames[1], before[1])
    assert frames[2].equals(before[2])
    assert frames[3].equals(before[3])


TRUTH = {"u": {"a": 3, "b": 1}, "v": {"a": 2}, "w": {"c": 0}, "x": {"b": 1, "c": 2}}
LEFT = {"u": [("b", 2), ("a", 2), ("a", 1)], "v": [("a", 1), ("c", 1 + 1e-9)], "q": [("a", 1)],
        "x": [("c", 1), ("b", 0)]}  # fmt: skip
RIGHT = {"u": [("b", 3), ("c", 2)], "w": [("c", 1)], "x": [("b", 1)], "v": [("a", 1)]}
OTHER = {
    "measure": ["P@2"], "baseline": "right", "level": 0.5, "interval": "bootstrap", "test": "t",
    "correct": "none", "family": "all", "draws": 3, "resamples": 20, "seed": 9,
    "missing": "skip", "no_relevant": "skip", "unjudged": "error", "duplicates": "error",
    "ties": "id32", "columns": {"rating": "stars"}, "progress": None, "decide_by": "RR@2",
    "min_lift": 0.1, "margin": 0.5, "guard": {"RR@2": 0.1},
}  # fmt: skip


def outcome(**changed):
    """Estimates, comparisons and diagnostics of one evaluation, or the reason it was refused."""
    options = {"measure": ["nDCG@2", "RR@2"], "duplicates": "first", "draws": 5, "resamples": 50,
               **changed}  # fmt: skip
    truth = judgments(TRUTH).with_columns(stars=pl.lit(1) + pl.col("rating") % 2)
    try:
        runs = {"left": scored(LEFT), "right": scored(RIGHT)}
        result = cr.evaluate(truth, runs, **options).to_dict()
    except cr.InputError as error:
        return str(error)
    parts = [result[key] for key in ("estimates", "comparisons", "diagnostics")]
    return str([*parts, result["protocol"]["decides"]])


@pytest.mark.parametrize(
    "name", [p.name for p in inspect.signature(cr.evaluate).parameters.values()
             if p.kind is inspect.Parameter.KEYWORD_ONLY],
)  # fmt: skip
def test_trap_23_every_argument_of_evaluate_changes_some_result(name):
    told: list[str] = []
    if name == "progress":
        outcome(progress=lambda steps, word: told.append(word) or steps)
        assert told
    elif name == "engine":  # of all arguments the one that must not
        assert outcome() == outcome(engine=Local(partitions=3))
    else:
        with_bootstrap = {"test": "bootstrap"} if name == "resamples" else {}
        assert outcome(**with_bootstrap) != outcome(**with_bootstrap, **{name: OTHER[name]})


def test_trap_25_threads_and_buckets_change_no_value():
    truth, runs = world(users=200)
    result = cr.evaluate(truth, runs, measure=MEASURES, test="none")
    one_by_one = [
        cr.evaluate(truth, {n: t}, measure=MEASURES, test="none") for n, t in runs.items()
    ]
    for s, single in enumerate(one_by_one):
        assert np.array_equal(grid(result)[s], grid(single)[0])
