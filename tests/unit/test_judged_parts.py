"""An evaluation in buckets of users is the one in memory, to the last bit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank import schema
from counterrank.compare import Plan
from counterrank.evaluation import Evaluation
from counterrank.judged import in_buckets, refuse_empty
from counterrank.policies import Policies
from counterrank.progress import quiet
from counterrank.ranking import MEASURES, measure
from cutting import Cut
from making import judgments, run, scored, world

LABELS = (
    "CG CG(gain=exp)@3 CG(gain=binary,rel=2)@3 DCG DCG@3 DCG(gain=exp)@3"
    " DCG(discount=power(eta=0.5))@3 DCG(discount=geometric(p=0.9)) DCG(discount=jarvelin)"
    " DCG(discount=table(1,0.5,0.1)) nDCG nDCG@3 nDCG(ideal=all)@3 nDCG(gain=exp)@3"
    " nDCG(gain=binary,rel=3) P P@3 P(rel=3,over=listed)@3 Recall Recall(rel=2)@3 F1@3"
    " F1(rel=2,over=listed)@3 AP AP(rel=2)@3 AP(over=min)@3 RR RR(rel=3)@2 ERR ERR(top=6)@3"
    " ERR(top=user)@3 Bpref Bpref(rel=2)@3 InfAP InfAP(rel=2)@3 InfAP(variant=trec)@4 Rprec"
    " Rprec(rel=2)@2 Success@2 Success(rel=3) RBP RBP(rel=2,p=0.5)@3 ARP@3 ARP(rel=2)@5 Judged"
    " Judged@3 pnDCG@3 pnDCG(gain=exp) AP(mean=geometric)@5 DCG(mean=geometric)"
).split()
LINEAR = [label for label in LABELS if measure(label).linear]
COUNTS = (1, 3, 20)


def cut(truth, runs, count, labels, plan, policies, keep="values"):
    """The same as ``evaluate``, by buckets."""
    named = list(runs.items())
    doors = {"judgments": schema.judgments_door(truth)}
    doors |= {f"run {i}": schema.run_door(t, name=n) for i, (n, t) in enumerate(named)}
    measures = tuple(measure(label) for label in labels)
    found = in_buckets(
        Cut(doors, count), [name for name, _ in named], measures, policies, keep=keep
    )
    refuse_empty(found.measured, measures, policies)
    return Evaluation(found, plan, quiet)


def same(truth, runs, labels, *, counts=COUNTS, plan=None, **policies):
    """Compare everything a result offers."""
    plan = plan or Plan(draws=200)
    whole = cr.evaluate(
        truth, runs, measures=labels, test=plan.test, correct=plan.correct, draws=plan.draws,
        interval=plan.interval, resamples=plan.resamples, **policies,
    )  # fmt: skip
    for count in counts:
        parts = cut(truth, runs, count, labels, plan, Policies(**policies))
        assert parts.systems == whole.systems
        assert parts.units.equals(whole.units)
        assert np.array_equal(parts.values, whole.values, equal_nan=True)
        assert parts.by_unit().equals(whole.by_unit())
        assert parts.coverage == whole.coverage
        equal(parts.estimates, whole.estimates)
        equal(parts.comparisons, whole.comparisons)
        equal(parts.diagnoses, whole.diagnoses)
        assert parts.inputs == whole.inputs
        assert parts.protocol == whole.protocol | {"partitions": count}
    return whole


def test_the_list_is_complete():
    assert {measure(label).name for label in LABELS} == set(MEASURES)


def equal(a, b):
    """The same rows; NaN equals NaN."""
    assert repr(a) == repr(b)


def uneven(seed=0, *, text=True):
    """Users missing on either side, users with nothing to find, ties, and one list of a thousand."""
    truth, runs = world(users=60, items=20, seed=seed)
    rng = np.random.default_rng(seed)
    truth = truth.filter(~pl.col("user").is_in(["u3", "u7"]))
    truth = truth.with_columns(
        rating=pl.when(pl.col("user").is_in(["u1", "u5", "u40"])).then(0).otherwise("rating")
    )
    found = {}
    for name, table in runs.items():
        gone = [f"u{u}" for u in rng.choice(60, 5, replace=False)]
        found[name] = table.filter(~pl.col("user").is_in(gone))
    long = pl.DataFrame(
        {"user": "u9", "item": [f"x{i}" for i in range(1000)], "rank": range(13, 1013)}
    )
    found["c"] = pl.concat([found["c"], long.with_columns(pl.col("rank").cast(pl.Int64))])
    if not text:
        change = [
            pl.col(c).str.slice(1).str.replace("^$", "0").cast(pl.Int64) for c in ("user", "item")
        ]
        found["c"] = found["c"].filter(~pl.col("item").str.starts_with("x"))
        truth, found = (
            truth.with_columns(change),
            {n: t.with_columns(change) for n, t in found.items()},
        )
    return truth, found


def tied(runs, levels=4):
    """Scores in few levels instead of ranks, rows shuffled."""
    return {
        name: table.with_columns(score=-(pl.col("rank") % levels).cast(pl.Float64))
        .drop("rank")
        .sample(fraction=1, shuffle=True, seed=3)
        for name, table in runs.items()
    }


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
    assert any(d.name == "ties" and d.verdict == "fail" for d in whole.diagnoses)


def test_expected_ties():
    truth, runs = uneven(2)
    same(truth, tied(runs), LINEAR, ties="expected", missing="skip")


def test_repeated_items():
    truth, runs = uneven(3)
    runs["a"] = pl.concat([runs["a"], runs["a"].with_columns(rank=pl.col("rank") + 12)])
    whole = same(truth, runs, ["nDCG@5", "AP", "pnDCG@3"], duplicates="first")
    assert whole.coverage[0].duplicates > 100


@pytest.mark.parametrize(("test", "interval"), [("t", "bootstrap"), ("bootstrap", "bca"),
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
    whole = cr.evaluate(truth, runs, measures=LABELS)
    parts = cut(truth, runs, 3, LABELS, Plan(), Policies())
    assert np.array_equal(parts.values, whole.values)
    assert parts.units.equals(whole.units.cast(pl.String))


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
        cr.evaluate(truth, runs, measures=[label], **policies)
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
        whole = cr.evaluate(truth, tables, measures=["AP"], test="none").found
        for count in COUNTS:
            parts = cut(truth, tables, count, ["AP"], Plan(), Policies(), keep="hits").found
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
