"""Mistakes found by reading and breaking, each pinned."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterrank as cr
from counterrank.data import schema
from counterrank.matching.hits import find_hits
from counterrank.matching.pool import make_pool
from counterrank.stats import permutation as module
from counterrank.stats.draws import flip_codes
from counterrank.stats.inference import wilcoxon
from counterrank.stats.permutation import permutation_test
from making import judgments, run, value, world


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("n", [200, 3000])
def test_ties_of_flipped_sums_are_counted_exactly(n, precision, monkeypatch):
    """Values in tenths, one system far better: compare with integer arithmetic, same flips."""
    monkeypatch.setattr(module, "SMALL", 0 if precision == "single" else 1 << 60)
    rng = np.random.default_rng(n)
    base = rng.integers(0, 7, (n, 1))
    tenths = np.clip(base + rng.integers(-1, 2, (n, 3)), 0, 10)
    tenths[:, 2] = base[:, 0] + 4
    tenths = tenths[np.ptp(tenths, axis=1) > 0]
    found = permutation_test([tenths / 10], [(0, 1)], draws=1500, seed=5)
    code = flip_codes(np.arange(len(tenths), dtype=np.uint64), 11, 5)
    heads = (np.bitwise_count(np.arange(2048)[:, None] & code) & 1).astype(np.int64)
    d = tenths[:, 0] - tenths[:, 1]
    assert found.p[0, 0] == np.mean(np.abs((1 - 2 * heads) @ d) >= abs(d.sum()))


def test_measures_that_are_multiples_have_equal_p():
    """Ten relevant items each: P, Recall and CG at 10 are the same up to a factor."""
    rng = np.random.default_rng(0)
    lists = {}
    for s in range(5):
        lists[f"s{s}"] = run({u: list(rng.permutation(30)[:10]) for u in range(150)})
    truth = judgments({u: dict.fromkeys(range(10), 1) for u in range(150)})
    labels = ["P@10", "Recall@10", "CG(gain=binary)@10"]
    rows = cr.evaluate(truth, lists, measure=labels, draws=3000, correct="none").comparisons
    third = len(rows) // 3
    for a, b, c in zip(rows[:third], rows[third : 2 * third], rows[2 * third :], strict=True):
        assert a.p == b.p == c.p
    pair = {name: lists[name] for name in ("s0", "s1")}
    alone = cr.evaluate(truth, pair, measure=["P@10"], draws=3000, correct="none").comparisons
    assert alone[0].p == pytest.approx(rows[0].p, abs=0.05)


@pytest.mark.parametrize("kind", [pl.UInt64, pl.Int128])
def test_absurd_ranks_are_refused(kind):
    table = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "rank": [1, 2**63 - 1]})
    table = table.with_columns(pl.col("rank").cast(kind))
    with pytest.raises(cr.InputError, match="no list can have"):
        value(judgments({"u": {"a": 1}}), table, "RR")
    assert value(judgments({"u": {"a": 1}}), table.head(1), "RR") == 1.0


def test_large_integer_scores_keep_their_order():
    table = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "score": [2**60 + 1, 2**60]})
    truth = judgments({"u": {"a": 1}})
    assert value(truth, table, "RR") == 1.0
    assert value(truth, table.reverse(), "RR") == 1.0
    text = table.with_columns(pl.col("score").cast(pl.String))
    assert value(truth, text, "RR") == 1.0
    huge = table.with_columns(score=pl.Series([2**63 + 1, 5], dtype=pl.UInt64))
    with pytest.raises(cr.InputError, match="beyond 64 bits"):
        value(truth, huge, "RR")


def test_many_judgments_and_few_rows_do_not_overflow():
    rng = np.random.default_rng(0)
    users = 3000
    wide = rng.integers(-(2**62), 2**62, users * 100)
    truth = pl.DataFrame({"user": np.repeat(np.arange(users), 100), "item": wide, "rating": 1})
    table = (
        truth.group_by("user", maintain_order=True).first().select("user", "item", rank=pl.lit(1))
    )
    assert value(truth, table, "RR") == 1.0
    assert value(truth, table, "Recall@1") == pytest.approx(0.01)


def agreement_of(truth, runs, measures, **policies):
    result = cr.evaluate(truth, runs, measure=measures, test="none", **policies)
    return result, [d for d in result.diagnostics if d.name == "agreement"]


def test_agreement_speaks_of_the_numbers_shown():
    """With exponential gains this pair is reversed, with linear ones it is not."""
    truth = judgments({"x": {"a": 1}, "y": {"a": 1}, "z": {"a": 1, "b": 2}})
    runs = {"one": run({"x": ["a"], "y": ["q"], "z": ["a"]}),
            "two": run({"x": ["q"], "y": ["q"], "z": ["b"]})}  # fmt: skip
    labels = ["DCG(gain=exp)@1", "nDCG(gain=exp)@1"]
    result, found = agreement_of(truth, runs, labels)
    shown = {(e.system, e.measure): e.value for e in result.estimates}
    dcg, ndcg = (shown["one", m] - shown["two", m] for m in labels)
    assert dcg * ndcg < 0
    assert [d.state for d in found] == ["caution"]
    assert found[0].subject == "DCG(gain=exp)@1, nDCG(gain=exp)@1"


def test_diagnostics_follow_the_policies():
    truth = judgments({u: {"a": 1} for u in range(100)})
    table = run({0: ["a"]})
    result = cr.evaluate(truth, {"r": table}, missing="skip", test="none")
    size = next(d for d in result.diagnostics if d.name == "sample size")
    assert size.value == 1
    assert size.state == "fail"


def test_bernstein_holds_for_comparisons_or_is_refused_at_once():
    truth, runs = world()
    labels = ["nDCG@5", "AP@5"]
    rows = [cr.evaluate(truth, runs, measure=labels, interval=i, draws=10).comparisons
            for i in ("normal", "bernstein")]  # fmt: skip
    assert all(b.low < n.low and n.high < b.high for n, b in zip(*rows, strict=True))
    for label in ("DCG@5", "pnDCG@5", "AP(mean=geometric)@5"):
        with pytest.raises(cr.UsageError, match="Bernstein"):
            cr.evaluate(truth, runs, measure=[label], interval="bernstein")


def test_wilcoxon_ties_differences_equal_but_for_rounding():
    x = np.round(np.random.default_rng(1).integers(0, 10, 40) / 10, 1)
    y = np.round(np.random.default_rng(2).integers(0, 10, 40) / 10, 1)
    exact = wilcoxon(np.rint((x - y) * 10))
    assert wilcoxon(x - y) == pytest.approx(exact)


def test_the_draws_told_are_those_used():
    truth, runs = world(users=6)
    row = cr.evaluate(truth, {"a": runs["a"], "b": runs["b"]}, measure=["DCG@5"]).comparisons[0]
    assert row.draws <= 64
    assert row.p * row.draws == pytest.approx(round(row.p * row.draws))


def test_arp_needs_a_cut_off():
    with pytest.raises(cr.UsageError, match="needs a cut-off"):
        value(judgments({"u": {"a": 1}}), run({"u": ["b"]}), "ARP")


def test_single_precision_ratings_are_what_was_written():
    truth = judgments({"u": {"a": 0.7}}).with_columns(pl.col("rating").cast(pl.Float32))
    assert value(truth, run({"u": ["a"]}), "RR(rel=0.7)") == 1.0


def test_explicit_column_wins_and_one_column_has_one_role():
    table = pl.DataFrame(
        {"user": ["u", "u"], "item": ["a", "b"], "rank": [2, 1], "pred": [9.0, 1.0]}
    )
    truth = judgments({"u": {"a": 1}})
    assert value(truth, table, "RR") == 0.5
    assert value(truth, table, "RR", columns={"score": "pred"}) == 1.0
    with pytest.raises(cr.UsageError, match="two roles"):
        value(truth, table, "RR", columns={"user": "item"})


def test_ids_may_begin_with_a_hash(tmp_path):
    (tmp_path / "qrels").write_text("#tag 0 a 1\n# a comment of 4\nu 0 #x 1\n#\n")
    (tmp_path / "run").write_text("#tag Q0 a 1 1 t\nu Q0 #x 1 1 t\n")
    result = cr.evaluate(
        str(tmp_path / "qrels"), {"r": str(tmp_path / "run")}, measure=["RR"], test="none"
    )
    assert result.by_unit()["unit"].to_list() == ["#tag", "u"]
    assert result.estimates[0].value == 1.0


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "j.csv"
    path.write_text("user,user,item,rating\nu,v,a,1\n")
    with pytest.raises(cr.InputError, match="two columns"):
        value(str(path), run({"u": ["a"]}), "RR")
    frame = pd.DataFrame([["u", "v", "a", 1]], columns=["user", "user", "item", "rating"])
    with pytest.raises(cr.InputError):
        value(frame, run({"u": ["a"]}), "RR")


@pytest.mark.parametrize("bad", [pl.Series("item", [[1]]), pl.Series("item", [{"a": 1}]),
                                 pl.Series("item", [True]), pl.Series("item", [""])])  # fmt: skip
def test_odd_ids_are_refused(bad):
    table = pl.DataFrame({"user": ["u"], "item": bad, "rank": [1]})
    with pytest.raises(cr.InputError):
        value(judgments({"u": {"a": 1}}), table, "RR")


def test_rows_are_the_callers_also_with_systems():
    table = pl.concat([
        run({"u": ["a"]}).with_columns(system=pl.lit("x")),
        run({"u": ["a"], "v": ["b"]}).with_columns(system=pl.lit("y")),
        run({"u": ["a"]}).with_columns(system=pl.lit("y"), rank=pl.lit(5, pl.Int64)),
    ])  # fmt: skip
    with pytest.raises(cr.InputError, match="row 4, user 'u'"):
        value(judgments({"u": {"a": 1}}), table, "RR")


def test_file_names_with_brackets_and_dots(tmp_path):
    truth, table = judgments({"u": {"a": 1}}), run({"u": ["a"]})
    for name in ("we[ird].csv", "we[ird].parquet", "bpr.v1.csv", "bpr.v2.csv"):
        path = tmp_path / name
        table.write_csv(path) if name.endswith("csv") else table.write_parquet(path)
    paths = [str(tmp_path / n) for n in ("we[ird].parquet", "bpr.v1.csv", "bpr.v2.csv")]
    result = cr.evaluate(truth, paths, measure=["RR"], test="none")
    assert result.systems == ("we[ird]", "bpr.v1", "bpr.v2")
    assert value(truth, str(tmp_path / "we[ird].csv"), "RR") == 1.0


@pytest.mark.parametrize(
    "label", ["DCG(discount=table(a))", "DCG(discount=table(1,geometric(p=0.5)))", "P@99999999999",
              "DCG(discount=geometric(p=0.5)@0)", "DCG(discount=table(1,weights=2))",
              "AP(rel=1e400)", "P" + "(" * 5000, "nDCG(rel=4)@10"],
)  # fmt: skip
def test_labels_that_were_accepted_or_crashed(label):
    with pytest.raises(cr.UsageError):
        cr.measure(label)


def test_numpy_cut_offs_and_tables_of_weights():
    from counterrank.metrics import AP, DCG
    from counterrank.position import WeightTable

    assert AP() @ np.int64(5) == AP(k=5)
    assert hash(DCG(discount=WeightTable([1.0, 0.5]))) == hash(
        DCG(discount=WeightTable((1.0, 0.5)))
    )


def test_permutation_memory_is_bounded_by_pairs():
    """All pairs of 200 systems: neither units x pairs nor pairs x flips are held at once."""
    x = np.random.default_rng(0).random((2000, 200))
    pairs = [(a, b) for a in range(200) for b in range(a)]
    tracemalloc.start()
    permutation_test([x], pairs, draws=1 << 12)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 * len(pairs) * 2000 / 4


def test_check_finds_what_evaluate_would_refuse(tmp_path):
    twice = judgments({"u": {"a": 1}})
    report = cr.check({"j": pl.concat([twice, twice]), "r": run({"u": ["a"]})})
    assert ["more than once" in t.fault for t in report.tables["tables"]] == [True, False]
    doubled = pl.concat([run({"u": ["a"]}), run({"u": ["a"]})])
    assert "more than once" in cr.check({"r": doubled}).tables["tables"][0].fault
    usable = cr.check({"j": twice, "r": run({"u": ["a"]})})
    assert not any(t.fault for t in usable.tables["tables"])
    assert json.dumps(usable.to_dict())


def test_swapped_tables_are_recognised():
    truth, table = judgments({"u": {"a": 1}}), run({"u": ["a"]})
    with pytest.raises(cr.InputError, match="looks like a run"):
        value(table, truth, "RR")
    with pytest.raises(cr.InputError, match="looks like judgments"):
        value(truth, truth, "RR")


def test_stars_without_a_threshold_are_noticed():
    truth = judgments({"u": {"a": 5, "b": 1}, "v": {"a": 3}})
    table = run({"u": ["a"], "v": ["a"]})

    def verdict(label):
        result = cr.evaluate(truth, {"r": table}, measure=[label], test="none")
        return [d.state for d in result.diagnostics if d.name == "relevance"]

    assert verdict("P@10") == ["caution"]
    assert verdict("P(rel=4)@10") == ["pass"]
    assert verdict("nDCG@10") == []
    result = cr.evaluate(truth, {"r": table}, measure=["AP(rel=9)@10"], test="none")
    assert next(d for d in result.diagnostics if d.name == "no relevant item").state == "fail"


def test_threads_and_bucket_sizes_change_no_hit():
    truth, runs = world(users=120)
    pool = make_pool(schema.judgments_schema(truth).whole())
    table = schema.run_schema(runs["a"]).whole()
    whole, _ = find_hits(table, pool, threads=1)
    for rows in (1, 7, 1 << 17):
        cut, _ = find_hits(table, pool, rows=rows, threads=2)
        for field in ("unit", "rank", "rating", "first", "last", "depth", "present"):
            assert np.array_equal(getattr(whole, field), getattr(cut, field))


def test_scores_of_ties_in_expected_mode_need_no_memory_for_deep_ranks():
    table = pl.DataFrame({"user": ["u"], "item": ["a"], "rank": [1 << 30]})
    got = value(judgments({"u": {"a": 1}}), table, "DCG", ties="expected")
    assert got == pytest.approx(1 / np.log2((1 << 30) + 1))
