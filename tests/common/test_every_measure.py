"""Laws that hold for every measure. To add a measure, add its labels to ``EVERY``.

Each label stands beside the plain-Python transcription of its formula (``tests/plain.py``).
"""

from __future__ import annotations

from dataclasses import fields
from itertools import permutations, product
from math import log2

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterrank as cr
import plain
from counterrank.data import schema
from counterrank.matching.hits import find_hits
from counterrank.matching.pool import make_pool
from making import grid, judgments, run, scored, values, world

TOP = 4  # largest rating the strategies draw; one user always has it

EVERY = {
    "CG": lambda L, J: plain.cg(L, J),
    "CG(gain=exp)@3": lambda L, J: plain.cg(L, J, 3, "exp"),
    "CG(gain=binary,rel=2)@3": lambda L, J: plain.cg(L, J, 3, "binary", 2),
    "DCG": lambda L, J: plain.dcg(L, J),
    "DCG@3": lambda L, J: plain.dcg(L, J, 3),
    "DCG(gain=exp)@3": lambda L, J: plain.dcg(L, J, 3, "exp"),
    "DCG(discount=power(eta=0.5))@3": lambda L, J: plain.dcg(L, J, 3, discount=lambda r: r**-0.5),
    "DCG(discount=geometric(p=0.9))": lambda L, J: plain.dcg(
        L, J, discount=lambda r: 0.9 ** (r - 1)
    ),
    "DCG(discount=jarvelin)": lambda L, J: plain.dcg(L, J, discount=lambda r: 1 / max(1, log2(r))),
    "DCG(discount=table(1,0.5,0.1))": lambda L, J: plain.dcg(
        L, J, discount=lambda r: [1, 0.5, 0.1][r - 1] if r <= 3 else 0
    ),
    "nDCG": lambda L, J: plain.ndcg(L, J),
    "nDCG@3": lambda L, J: plain.ndcg(L, J, 3),
    "nDCG(ideal=all)@3": lambda L, J: plain.ndcg(L, J, 3, ideal="all"),
    "nDCG(ideal=list)@3": lambda L, J: plain.ndcg(L, J, 3, ideal="list"),
    "IDCG@3": lambda L, J: plain.idcg(J, 3),
    "IDCG(gain=exp,ideal=all)": lambda L, J: plain.idcg(J, None, "exp"),
    "IDCG(ideal=list)@3": lambda L, J: plain.idcg({i: J[i] for i in L if i in J}, 3),
    "nDCG(gain=exp)@3": lambda L, J: plain.ndcg(L, J, 3, "exp"),
    "nDCG(gain=binary,rel=3)": lambda L, J: plain.ndcg(L, J, None, "binary", 3),
    "P": lambda L, J: plain.precision(L, J),
    "P@3": lambda L, J: plain.precision(L, J, 3),
    "P(rel=3,over=listed)@3": lambda L, J: plain.precision(L, J, 3, 3, "listed"),
    "Recall": lambda L, J: plain.recall(L, J),
    "Recall(rel=2)@3": lambda L, J: plain.recall(L, J, 3, 2),
    "F1@3": lambda L, J: plain.f1(L, J, 3),
    "F1(rel=2,over=listed)@3": lambda L, J: plain.f1(L, J, 3, 2, "listed"),
    "AP": lambda L, J: plain.ap(L, J),
    "AP(rel=2)@3": lambda L, J: plain.ap(L, J, 3, 2),
    "AP(over=min)@3": lambda L, J: plain.ap(L, J, 3, 1, "min"),
    "RR": lambda L, J: plain.rr(L, J),
    "RR(rel=3)@2": lambda L, J: plain.rr(L, J, 2, 3),
    "ERR": lambda L, J: plain.err(L, J, None, TOP),
    "ERR(top=6)@3": lambda L, J: plain.err(L, J, 3, 6),
    "ERR(top=user)@3": lambda L, J: plain.err(L, J, 3, max(*J.values(), 0)),
    "Bpref": lambda L, J: plain.bpref(L, J),
    "Bpref(rel=2)@3": lambda L, J: plain.bpref(L, J, 3, 2),
    "InfAP": lambda L, J: plain.infap(L, J),
    "InfAP(rel=2)@3": lambda L, J: plain.infap(L, J, 3, 2),
    "InfAP(variant=trec)@4": lambda L, J: plain.infap(L, J, 4, 1, "trec"),
    "Rprec": lambda L, J: plain.rprec(L, J),
    "Rprec(rel=2)@2": lambda L, J: plain.rprec(L, J, 2, 2),
    "Success@2": lambda L, J: plain.success(L, J, 2),
    "Success(rel=3)": lambda L, J: plain.success(L, J, None, 3),
    "RBP": lambda L, J: plain.rbp(L, J),
    "RBP(rel=2,p=0.5)@3": lambda L, J: plain.rbp(L, J, 3, 2, 0.5),
    "ARP@3": lambda L, J: plain.arp(L, J, 3),
    "ARP(rel=2)@5": lambda L, J: plain.arp(L, J, 5, 2),
    "Judged": lambda L, J: plain.judged(L, J),
    "Judged@3": lambda L, J: plain.judged(L, J, 3),
}
LABELS = [*EVERY, "pnDCG@3"]
LINEAR = [label for label in LABELS if cr.measure(label).linear]

items = st.sampled_from("abcdefgh")
users = st.sampled_from("uvwxy")
rated = st.dictionaries(items, st.integers(-1, TOP), min_size=1)
ranked = st.lists(items, unique=True, min_size=1)
worlds = st.tuples(
    st.dictionaries(users, rated, min_size=1),
    st.dictionaries(users, ranked, min_size=1),
)


def prepared(drawn):
    """Give both sides one user more, so that they meet and the top rating is there."""
    truth, lists = drawn
    return {**truth, "z": {"a": TOP, "b": 0}}, {**lists, "z": ["b", "a"]}


def all_values(truth, table, labels=LABELS, **policies):
    result = cr.evaluate(truth, {"run": table}, measure=labels, test="none", **policies)
    return grid(result)[0], result


def test_the_list_is_complete():
    assert {cr.measure(label).name for label in LABELS} == set(cr.measure.kinds)


@settings(max_examples=150, deadline=None)
@given(worlds)
def test_equal_to_the_plain_formula(drawn):
    truth, lists = prepared(drawn)
    got, result = all_values(judgments(truth), run(lists), list(EVERY))
    for u, user in enumerate(result.units.ids):
        for m, (label, formula) in enumerate(EVERY.items()):
            expected = formula(lists.get(user, []), truth[user])
            assert got[m, u] == pytest.approx(expected, abs=1e-12), (user, label)


@settings(max_examples=60, deadline=None)
@given(worlds)
def test_a_value_is_the_sum_of_what_its_hits_are_worth(drawn):
    """So that hits can be weighted one by one, as inverse propensities do."""
    truth, lists = prepared(drawn)
    pool = make_pool(schema.judgments_schema(judgments(truth)).whole())
    hits, _ = find_hits(schema.run_schema(run(lists)).whole(), pool)
    for label in LABELS:
        measure = cr.measure(label)
        total, base = hits.sum(measure.worth(hits, pool)), measure.standing(pool)
        total += 0 if base is None else np.bincount(pool.unit, base, pool.n)
        assert total == pytest.approx(measure.per_unit(hits, pool), abs=1e-12), label
        found = np.bincount(pool.unit, measure.gains(pool), pool.n)
        assert np.all(measure.worth(hits, pool)[measure.gains(pool)[hits.judgment] == 0] == 0)
        assert label.startswith("Judged") or np.array_equal(found > 0, measure.defined(pool))


@pytest.mark.parametrize("label", LINEAR)
def test_the_sum_holds_for_expected_ties_too(label):
    pool = make_pool(
        schema.judgments_schema(judgments({"u": {"a": 3, "b": 1, "d": 4}, "v": {"a": 4}})).whole()
    )
    tied = scored({"u": [("a", 2), ("x", 2), ("b", 1), ("d", 1)], "v": [("q", 1), ("a", 1)]})
    hits, _ = find_hits(schema.run_schema(tied).whole(), pool, ties="expected")
    measure = cr.measure(label)
    total, base = hits.sum(measure.worth(hits, pool)), measure.standing(pool)
    total += 0 if base is None else np.bincount(pool.unit, base, pool.n)
    assert total == pytest.approx(measure.per_unit(hits, pool))


@settings(max_examples=50, deadline=None)
@given(worlds)
def test_geometric_means_and_ratio_of_means(drawn):
    truth, lists = prepared(drawn)
    labels = [str(cr.measure(label[:-1] + ",mean=geometric)" if label.endswith(")") else label))
              for label in EVERY]  # fmt: skip
    result = cr.evaluate(judgments(truth), {"run": run(lists)}, measure=labels, test="none")
    for m, row in enumerate(result.estimates):
        x = list(grid(result)[0, m])
        geometric = cr.measure(row.measure).mean == "geometric"
        assert row.value == pytest.approx(plain.geometric(x) if geometric else np.mean(x))
    ratio = cr.evaluate(judgments(truth), {"run": run(lists)}, measure=["pnDCG@3"], test="none")
    top = sum(plain.dcg(lists.get(u, []), truth[u], 3) for u in truth)
    bottom = sum(plain.idcg(truth[u], 3) for u in truth)
    assert ratio.estimates[0].value == pytest.approx(top / bottom, abs=1e-12)
    assert grid(ratio)[0, 0].mean() == pytest.approx(top / bottom, abs=1e-12)


@pytest.mark.parametrize("label", LABELS)
def test_label_parses_back(label):
    measure = cr.measure(label)
    assert cr.measure(str(measure)) == measure
    assert hash(cr.measure(label)) == hash(measure)
    assert str(measure) == label


@settings(max_examples=40, deadline=None)
@given(worlds, st.permutations("abcdefgh"), st.randoms(use_true_random=False))
def test_renaming_items_and_shuffling_rows_change_nothing(drawn, names, random):
    truth, lists = prepared(drawn)
    before, _ = all_values(judgments(truth), run(lists))
    new = dict(zip("abcdefgh", names, strict=True))
    truth = {u: {new[i]: r for i, r in own.items()} for u, own in truth.items()}
    lists = {u: [new[i] for i in own] for u, own in lists.items()}
    table, judged = run(lists), judgments(truth)
    order = random.sample(range(table.height), table.height)
    judged = judged[random.sample(range(judged.height), judged.height)]
    after, _ = all_values(judged, table[order])
    assert np.array_equal(before, after)


@pytest.mark.parametrize("rows", [1, 7, 64, 10_000])
def test_bucket_size_changes_nothing(rows):
    truth, runs = world(seed=3)
    pool = make_pool(schema.judgments_schema(truth).whole())
    table = schema.run_schema(runs["b"].sample(fraction=1, shuffle=True, seed=1)).whole()
    whole, _ = find_hits(table, pool)
    cut, _ = find_hits(table, pool, rows=rows, threads=2)
    for label in LABELS:
        measure = cr.measure(label)
        assert np.array_equal(measure.per_unit(whole, pool), measure.per_unit(cut, pool)), label


@settings(max_examples=40, deadline=None)
@given(worlds)
def test_bounded_measures_stay_between_0_and_1(drawn):
    truth, lists = prepared(drawn)
    got, result = all_values(judgments(truth), run(lists))
    for m, measure in enumerate(map(cr.measure, result.protocol["measures"])):
        if measure.name == "pnDCG":
            assert -1e-12 <= got[m].mean() <= 1 + 1e-12  # a unit's share may exceed 1
        elif measure.bounded:
            assert got[m].min() >= 0, str(measure)
            assert got[m].max() <= 1 + 1e-12, str(measure)


REACH_ONE = (
    "nDCG nDCG@2 nDCG@50 nDCG(gain=exp)@3 pnDCG@3 Recall Recall@50 AP AP@50 AP(over=min)@2 RR RR@1"
    " Rprec Success@1 Bpref InfAP P@1 Judged@3"
).split()


@pytest.mark.parametrize("label", REACH_ONE)
def test_truth_ranked_by_truth_is_one(label):
    truth = {"u": {"a": 4, "b": 3, "c": 1}, "v": {"d": 2}, "w": {"a": 4, "b": 4, "c": 2, "d": 1}}
    best = {u: sorted(own, key=own.get, reverse=True) for u, own in truth.items()}
    got = values(judgments(truth), run(best), label)
    assert np.mean(list(got.values())) == pytest.approx(1, abs=2e-5 if label == "InfAP" else 1e-12)


@pytest.mark.parametrize("label", LABELS)
def test_a_better_list_is_never_worse(label):
    """Swap a rated item with its less rated upper neighbour: no measure may fall."""
    measure = cr.measure(label)
    rng = np.random.default_rng(0)
    truth, better, worse = {"z": {"a": TOP}}, {"z": ["a"]}, {"z": ["a"]}
    for n in range(400):
        own = {i: int(rng.integers(0, 5)) for i in "abcdef"}
        order = list(rng.permutation(list("abcdefgh")))
        place = int(rng.integers(0, 7))
        upper, lower = order[place], order[place + 1]
        if own.get(upper, 0) < own.get(lower, 0):
            swapped = [*order[:place], lower, upper, *order[place + 2 :]]
            truth[f"u{n}"], worse[f"u{n}"], better[f"u{n}"] = own, order, swapped
    assert len(truth) > 100
    high, low = (values(judgments(truth), run(x), label) for x in (better, worse))
    if measure.better == "lower":
        high, low = low, high
    if label.startswith(("Judged", "IDCG")):
        return  # it does not look at ratings, or not at the order
    assert all(high[u] >= low[u] - 1e-12 for u in truth)
    assert sum(high.values()) > sum(low.values()) or (measure.k is None and measure.name in (
        "CG", "P", "Recall", "F1", "Success",
    ))  # fmt: skip


@pytest.mark.parametrize("label", LINEAR)
def test_expected_ties_are_the_mean_over_all_orders(label):
    truth = judgments({"u": {"a": 3, "b": 1, "c": 0, "d": 4}, "v": {"a": 4, "e": 2}})
    tied = {"u": [("a", 2), ("x", 2), ("b", 2), ("c", 1), ("d", 1), ("y", 0)],
            "v": [("e", 1), ("a", 1), ("q", 1)]}  # fmt: skip
    got = values(truth, scored(tied), label, ties="expected")
    for user, pairs in tied.items():
        levels = sorted({s for _, s in pairs}, reverse=True)
        groups = [[i for i, s in pairs if s == level] for level in levels]
        orders = [
            [i for group in order for i in group]
            for order in product(*(list(permutations(g)) for g in groups))
        ]
        own = truth.filter(pl.col("user") == user)
        own = dict(zip(own["item"], own["rating"], strict=True))
        mean = np.mean([expected_value(label, order, own) for order in orders])
        assert got[user] == pytest.approx(mean, abs=1e-12)


def expected_value(label, order, own):
    if label != "pnDCG@3":
        return EVERY[label](order, own)
    ideals = [plain.idcg({"a": 3, "b": 1, "c": 0, "d": 4}, 3), plain.idcg({"a": 4, "e": 2}, 3)]
    return plain.dcg(order, own, 3) / np.mean(ideals)


@pytest.mark.parametrize("label", [x for x in LABELS if cr.measure(x).better == "higher"])
def test_an_absent_user_counts_zero_and_disturbs_nobody(label):
    truth = {"a": {"x": 4, "y": 1}, "b": {"x": 2}, "c": {"y": 4}}
    lists = {"a": ["y", "x"], "c": ["x", "y"]}
    with_gap = values(judgments(truth), run(lists), label)
    assert with_gap["b"] == (2 if label.startswith("IDCG") and "list" not in label else 0) or (
        label == "IDCG(gain=exp,ideal=all)" and with_gap["b"] == 3
    )
    alone = values(judgments(truth), run({**lists, "b": ["q"]}), label)
    assert with_gap["a"] == alone["a"]
    assert with_gap["c"] == alone["c"]


OURS = {n: k for n, k in cr.measure.kinds.items() if k.__module__.startswith("counterrank.")}


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_option_changes_some_value(name):
    """No option is accepted and ignored."""
    other = {
        "gain": ("exp", "binary"), "rel": (3,), "over": ("listed", "min"), "ideal": ("all", "list"),
        "variant": ("trec",), "top": ("user", 6), "p": (0.5,), "mean": ("geometric",),
        "floor": (0.01,), "discount": ("power", "geometric(p=0.7)", "table(1,0.2)"), "k": (2,),
    }  # fmt: skip
    truth, runs = world(seed=5)
    short = runs["a"].filter(~pl.col("user").str.starts_with("u1") | (pl.col("rank") < 3))
    known = {field.name for field in fields(cr.measure.kinds[name])}
    for field in fields(cr.measure.kinds[name]):
        base = ""
        if field.name == "floor":
            base = "mean=geometric,gain=binary," if "gain" in known else "mean=geometric,"
            base += "rel=4," if "rel" in known else ""
        if field.name == "rel" and "gain" in known:
            base = "gain=binary,"
        if name == "pnDCG" and field.name in ("mean", "floor"):
            continue  # a ratio of means has no geometric form, and says so
        changed = False
        for word in other[field.name]:
            try:
                old = f"{name}({base.rstrip(',')})@5" if base else f"{name}@5"
                new = (
                    f"{name}@{word}"
                    if field.name == "k"
                    else f"{name}({base}{field.name}={word})@5"
                )
                rows = cr.evaluate(truth, {"r": short}, measure=[old, new], test="none").estimates
            except cr.UsageError:
                continue
            changed |= abs(rows[0].value - rows[1].value) > 1e-9
        assert changed, f"{name}({field.name}=...) changes nothing"
