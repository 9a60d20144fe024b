"""An evaluation in buckets of users is the one in memory, to the last bit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.data.runs import Policies
from counterrank.metrics import measure
from counterrank.stats.plan import Plan
from cutting import COUNTS, LABELS, LINEAR, MANY, Split, cut, matches, tied, uneven
from making import grid, judgments, run, scored


def same(truth, runs, labels, *, counts=COUNTS, plan=None, **policies):
    """Compare everything a result offers."""
    plan = plan or Plan(draws=200)
    whole = cr.evaluate(
        truth, runs, measure=labels, test=plan.test, correct=plan.correct, draws=plan.draws,
        interval=plan.interval, resamples=plan.resamples, **policies,
    )  # fmt: skip
    for count in counts:
        parts = cut(truth, runs, count, labels, plan, Policies(**policies))
        assert parts.systems == whole.systems
        assert parts.units.ids.equals(whole.units.ids)
        assert np.array_equal(grid(parts), grid(whole), equal_nan=True)
        assert parts.by_unit().equals(whole.by_unit())
        assert parts.tables == whole.tables
        equal(parts.estimates, whole.estimates)
        equal(parts.comparisons, whole.comparisons)
        equal(parts.diagnostics, whole.diagnostics)
        assert parts.inputs == whole.inputs
        how = {key: parts.protocol[key] for key in ("partitions", "inference")}
        assert parts.protocol == whole.protocol | how
        assert (how["partitions"], how["inference"]["inference"]) == (count, "units")
    return whole


def test_the_list_is_complete():
    assert {measure(label).name for label in LABELS} == set(measure.kinds)


def equal(a, b):
    """The same rows; NaN equals NaN."""
    assert repr(a) == repr(b)


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("no_relevant", ["zero", "skip"])
@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_every_measure_under_every_policy(missing, no_relevant, text):
    truth, runs = uneven(text=text)
    same(truth, runs, LABELS, missing=missing, no_relevant=no_relevant)


@pytest.mark.parametrize("ties", ["id", "id32", "file"])
def test_ties(ties):
    truth, runs = uneven(1)
    whole = same(truth, tied(runs), LABELS, ties=ties)
    assert any(d.name == "ties" and d.state == "fail" for d in whole.diagnostics)


def test_expected_ties():
    truth, runs = uneven(2)
    same(truth, tied(runs), LINEAR, ties="expected", missing="skip")


def test_repeated_items():
    truth, runs = uneven(3)
    runs["a"] = pl.concat([runs["a"], runs["a"].with_columns(rank=pl.col("rank") + 12)])
    whole = same(
        truth, runs, ["nDCG@5", "AP", "pnDCG@3"], counts=(*COUNTS, MANY), duplicates="first"
    )
    assert whole.tables["coverage"][0]["duplicates"] > 100


@pytest.mark.parametrize(("test", "interval"), [("t", "bootstrap"), ("bootstrap", "normal"),
                                                ("wilcoxon", "t")])  # fmt: skip
def test_other_plans(test, interval):
    truth, runs = uneven(4)
    plan = Plan(test=test, interval=interval, resamples=50)
    same(truth, runs, ["nDCG@5", "pnDCG@3", "AP(mean=geometric)"], plan=plan, missing="skip")


def test_one_table_of_several_systems():
    """Also where a bucket has no row of some system."""
    truth, runs = uneven(5)
    table = pl.concat(t.with_columns(system=pl.lit(n)) for n, t in runs.items())
    few = table.filter((pl.col("system") != "b") | pl.col("user").is_in(["u2", "u4"]))
    for given in (table, few):
        same(truth, {"": given}, ["ARP@3", "nDCG@3", "ERR"])
        same(truth, {"all": given, "more": runs["a"]}, ["ARP@3", "nDCG@3"])


def test_one_system_alone():
    truth, runs = uneven(6)
    same(truth, {"a": runs["a"]}, ["nDCG@5", "RR"])


def test_ids_that_are_numbers_in_one_table_only():
    truth, runs = uneven(7, text=False)
    runs["b"] = runs["b"].with_columns(pl.col("user", "item").cast(pl.String))
    whole = cr.evaluate(truth, runs, measure=LABELS, test="none")
    parts = cut(truth, runs, 3, LABELS, Plan(test="none"), Policies())
    assert np.array_equal(grid(parts), grid(whole))
    assert parts.units.ids.equals(whole.units.ids.cast(pl.String))


def test_ids_in_the_order_of_all_of_them():
    """A bucket may hold nothing but whole numbers where the table has other text too."""
    truth = judgments({str(u): {"a": 1, "b": 0} for u in range(30)} | {"x": {"a": 1}})
    lists = run({str(u): ["b", "a"][:: 1 if u % 3 else -1] for u in range(28)})
    same(truth, {"r": lists, "s": lists.filter(pl.col("item") == "a")}, ["RR", "nDCG"])


FAULTS = {
    "missing": ({"missing": "error"}, "nDCG@3"),
    "unjudged": ({"unjudged": "error"}, "nDCG@3"),
    "nothing to find": ({"no_relevant": "error"}, "RR"),
    "nobody left": ({"no_relevant": "skip"}, "RR(rel=9)"),
    "ratings beyond": ({}, "ERR(top=3)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_refused_with_the_same_words(fault):
    policies, label = FAULTS[fault]
    truth, runs = uneven(8)
    with pytest.raises(cr.CounterrankError) as whole:
        cr.evaluate(truth, runs, measure=[label], **policies)
    with pytest.raises(cr.CounterrankError) as parts:
        cut(truth, runs, 7, [label], Plan(), Policies(**policies))
    assert str(parts.value) == str(whole.value)


def test_no_user_in_common():
    truth, runs = uneven(9)
    other = runs["a"].with_columns(pl.col("user") + "!")
    with pytest.raises(cr.InputError) as whole:
        cr.evaluate(truth, {"a": other})
    with pytest.raises(cr.InputError) as parts:
        cut(truth, {"a": other}, 7, ["nDCG"], Plan(), Policies())
    assert str(parts.value) == str(whole.value)


def test_great_ratings_of_one_bucket_are_refused():
    truth = judgments({f"u{u}": {"a": 2000 if u == 5 else 1} for u in range(9)})
    lists = run({f"u{u}": ["a"] for u in range(9)})
    with pytest.raises(cr.UsageError, match="greatest rating is 2000"):
        cut(truth, {"r": lists}, 4, ["DCG(gain=exp)"], Plan(), Policies())


def test_judgments_and_hits_as_in_memory():
    truth, runs = uneven(10)
    for tables in (runs, tied(runs)):
        whole = matches(truth, tables, ["AP"], cr.Local())
        for count in COUNTS:
            parts = matches(truth, tables, ["AP"], Split(count))
            assert parts.pool.units.equals(whole.pool.units)
            assert parts.pool.items.equals(whole.pool.items)
            for name in ("size", "rating", "top"):
                assert np.array_equal(getattr(parts.pool, name), getattr(whole.pool, name))
            for a, b in zip(parts.hits, whole.hits, strict=True):
                for name in ("n", "unit", "rank", "judgment", "rating", "first", "last", "depth",
                             "present"):  # fmt: skip
                    assert np.array_equal(getattr(a, name), getattr(b, name)), name


def test_scores_of_one_level():
    truth = judgments({"u": {"a": 1, "b": 0}, "v": {"a": 1}})
    lists = scored({"u": [("a", 1), ("b", 1)], "v": [("b", 1), ("a", 1), ("c", 1)]})
    same(truth, {"r": lists}, ["RR", "P@1", "AP(mean=geometric)", "pnDCG"])
