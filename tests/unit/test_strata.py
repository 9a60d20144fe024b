"""Stratified evaluation: every method against plain Python, the cuts, the result, the messages."""

from __future__ import annotations

import json
from math import log2

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterrank as cr
import plain
from counterrank.simulate import judged_world, paradox_world
from counterrank.stats.inference import interval
from counterrank.stratified.propensity_strata import PropensitySpread, by_values, cut_strata
from making import judgments, run, weighed, world

LABELS = ("nDCG@5", "DCG(gain=exp)@5", "P(rel=2)@5", "Recall(rel=2)@5", "AP(rel=2)@10", "RR(rel=3)")


def own(table: pl.DataFrame, column: str) -> dict[str, dict[str, float]]:
    """user -> item -> value."""
    found: dict[str, dict[str, float]] = {}
    for user, item, value in table.select("user", "item", column).iter_rows():
        found.setdefault(user, {})[item] = value
    return found


def lists(table: pl.DataFrame) -> dict[str, list[str]]:
    """user -> items best first."""
    return {
        part["user"][0]: part.sort("rank")["item"].to_list() for part in table.partition_by("user")
    }


def contributions(label: str, L: list[str], J: dict[str, float]) -> dict[str, float]:
    """What each listed item adds to the measure, written out once more."""
    rank = {i: r for r, i in enumerate(L, 1)}
    if label == "nDCG@5":
        ideal = plain.idcg(J, 5)
        return {i: J[i] / log2(rank[i] + 1) / ideal for i in J if rank.get(i, 9) <= 5 and ideal}
    if label == "DCG(gain=exp)@5":
        return {i: (2 ** J[i] - 1) / log2(rank[i] + 1) for i in J if rank.get(i, 9) <= 5}
    good = [i for i in J if J[i] >= (3 if label.startswith("RR") else 2)]
    if label == "P(rel=2)@5":
        return {i: 1 / 5 for i in good if rank.get(i, 9) <= 5}
    if label == "Recall(rel=2)@5":
        return {i: 1 / len(good) for i in good if rank.get(i, 9) <= 5}
    if label == "AP(rel=2)@10":
        near = [i for i in good if rank.get(i, 99) <= 10]
        above = {i: sum(rank[j] <= rank[i] for j in near) for i in near}
        return {i: above[i] / rank[i] / len(good) for i in near}
    first = min((i for i in good if i in rank), key=lambda i: rank[i], default=None)
    return {} if first is None else {first: 1 / rank[first]}


def gains(label: str, J: dict[str, float]) -> dict[str, float]:
    if "DCG" in label:
        return {i: 2 ** J[i] - 1 if "exp" in label else J[i] for i in J}
    return {i: float(J[i] >= (3 if label.startswith("RR") else 2)) for i in J}


PLAIN = {
    "nDCG@5": lambda L, J: plain.ndcg(L, J, 5),
    "DCG(gain=exp)@5": lambda L, J: plain.dcg(L, J, 5, "exp"),
    "P(rel=2)@5": lambda L, J: plain.precision(L, J, 5, 2),
    "Recall(rel=2)@5": lambda L, J: plain.recall(L, J, 5, 2),
    "AP(rel=2)@10": lambda L, J: plain.ap(L, J, 10, 2),
    "RR(rel=3)": lambda L, J: plain.rr(L, J, None, 3),
}


@pytest.mark.parametrize("policy", ["skip", "zero"])
def test_every_method_equals_plain_python(policy: str) -> None:
    table, runs = weighed()
    result = cr.strata(
        table, runs, measure=LABELS, propensity="propensity", cut="country", no_relevant=policy
    )
    J, p, g = own(table, "rating"), own(table, "propensity"), own(table, "country")
    rows = {(r.system, r.measure, r.method): r for r in result.estimates}
    for system, label in ((s, m) for s in runs for m in LABELS):
        L = lists(runs[system])
        finds = {u: any(gains(label, J[u]).values()) for u in J}
        users = [u for u in J if finds[u] or policy == "zero"]
        values = [PLAIN[label](L[u], J[u]) for u in users]
        assert rows[system, label, "holdout"].value == pytest.approx(np.mean(values), abs=1e-12)
        each = {u: contributions(label, L[u], J[u]) for u in users}
        ips = np.mean([sum(x / p[u][i] for i, x in each[u].items()) for u in users])
        assert rows[system, label, "IPS"].value == pytest.approx(ips, abs=1e-12)
        weight = []
        for u in users:
            gain = gains(label, J[u]) if finds[u] else dict.fromkeys(J[u], 1.0)
            weight.append(sum(x / p[u][i] for i, x in gain.items()) / sum(gain.values()))
        snips = rows[system, label, "SNIPS"].value
        assert snips == pytest.approx(ips / np.mean(weight), abs=1e-12)
        total = 0.0
        for name in ("NL", "UK", "US"):
            inside = {u: {i: J[u][i] for i in J[u] if g[u][i] == name} for u in J}
            there = [u for u in J if any(gains(label, inside[u]).values())]
            value = np.mean([PLAIN[label](L[u], inside[u]) for u in there])
            row = rows[system, label, f"country={name}"]
            assert row.value == pytest.approx(value, abs=1e-12)
            assert row.units == len(there)
            total += value * (table["country"] == name).mean()
        assert rows[system, label, "stratified"].value == pytest.approx(total, abs=1e-12)


def test_published_ips_equals_plain_python() -> None:
    """Labels 1/p of relevant items, gain 2^label - 1, ideal of the same labels; nDCG only."""
    table, runs = world(users=60, seed=4)
    labels = ["nDCG(gain=binary,rel=3)@5", "nDCG@5", "P(rel=3)@5"]
    options = {"propensity": "published", "no_relevant": "skip"}
    result = cr.strata(table, runs, measure=labels, **options)
    rows = {(r.system, r.measure, r.method): r.value for r in result.estimates}
    assert ("a", "P(rel=3)@5", "IPS-published") not in rows
    counts = dict(table.group_by("item").len("n").iter_rows())
    law = result.protocol["alpha"], result.protocol["xmin"]
    p = {i: n ** law[0] if n > law[1] else n for i, n in counts.items()}
    J = own(table, "rating")
    for label, least in ((labels[0], 3), (labels[1], 1)):
        weights = {u: {i: 1 / p[i] if J[u][i] >= least else 0 for i in J[u]} for u in J}
        users = [u for u in J if any(weights[u].values())]
        for system, listed in runs.items():
            L = lists(listed)
            value = np.mean([plain.ndcg(L[u], weights[u], 5, "exp") for u in users])
            assert rows[system, label, "IPS-published"] == pytest.approx(value, rel=1e-5)


def test_stratified_is_the_sum_of_share_and_mean() -> None:
    table, runs = weighed()
    result = cr.strata(table, runs, cut="quantile", strata=4, propensity="propensity")
    share = {s.name: s.share for s in result.strata}
    assert sum(share.values()) == pytest.approx(1, abs=1e-15)
    rows = {(r.system, r.measure, r.method): r.value for r in result.estimates}
    for system in result.systems:
        for m in result.protocol["measures"]:
            total = sum(share[q] * rows[system, m, q] for q in share)
            assert rows[system, m, "stratified"] == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("kind", ["normal", "t", "bootstrap"])
def test_one_stratum_is_holdout_exactly(kind: str) -> None:
    table, runs = weighed()
    result = cr.strata(table, runs, strata=1, propensity="propensity", interval=kind, resamples=200)
    rows = {(r.system, r.measure, r.method): r for r in result.estimates}
    for (system, m, method), row in rows.items():
        if method in ("stratified", "Q1"):
            same = rows[system, m, "holdout"]
            assert row.value == same.value
            assert row.se == pytest.approx(same.se, rel=2e-2 if method == "stratified" else 1e-12)


@pytest.mark.parametrize("policy", ["skip", "zero"])
def test_holdout_is_what_evaluate_says(policy: str) -> None:
    table, runs = weighed()
    labels = [*LABELS, "pnDCG@5", "AP(mean=geometric,rel=2)@5", "ARP(rel=2)@5"]
    ours = cr.strata(table, runs, measure=labels, no_relevant=policy, propensity="propensity")
    theirs = cr.evaluate(table, runs, measure=labels, no_relevant=policy, test="none")
    expected = {(r.system, r.measure): r for r in theirs.estimates}
    for row in (r for r in ours.estimates if r.method == "holdout"):
        same = expected[row.system, row.measure]
        assert (row.value, row.se, row.low, row.high) == pytest.approx(
            (same.value, same.se, same.low, same.high), rel=1e-9, abs=1e-12
        )
        assert row.units == same.units


@pytest.mark.parametrize("policy", ["skip", "zero"])
def test_equal_propensities_give_holdout_back(policy: str) -> None:
    table, runs = weighed()
    labels = [*LABELS, "ERR@5", "Bpref(rel=2)", "InfAP@5", "Rprec(rel=2)", "Success(rel=3)@2",
              "RBP", "ARP(rel=2)@5", "Judged@5", "CG@5", "pnDCG@5", "F1(rel=2)@5",
              "P(mean=geometric,rel=2)@5"]  # fmt: skip
    table = table.with_columns(propensity=pl.lit(0.2))
    result = cr.strata(table, runs, measure=labels, propensity="propensity", no_relevant=policy)
    rows = {(r.system, r.measure, r.method): r.value for r in result.estimates}
    for system in runs:
        for m in result.protocol["measures"]:
            holdout, ips, snips = (rows[system, m, k] for k in ("holdout", "IPS", "SNIPS"))
            assert snips == pytest.approx(holdout, abs=1e-12)
            assert "geometric" in m or ips == pytest.approx(5 * holdout, abs=1e-12)


def test_estimates_subtract_as_the_comparisons_say() -> None:
    table, runs = weighed()
    result = cr.strata(table, runs, measure=["nDCG@5"], cut="country", baseline="a", interval="t")
    assert len(result.comparisons) == 2 * len(result.protocol["methods"])
    for c in result.comparisons:
        d = result.estimate(c.system, c.measure, c.method) - result.estimate(
            "a", "nDCG@5", c.method
        )
        assert (c.difference, c.se) == pytest.approx((d.value, d.se), abs=1e-12)
        assert c.p_corrected >= c.p
        assert c.low < c.difference < c.high
    alone = cr.strata(table, runs, measure=["nDCG@5"], cut="country", baseline="a", correct="none")
    assert all(c.p == c.p_corrected for c in alone.comparisons)
    many = cr.strata(table, runs, measure=["nDCG@5"], cut="country")
    assert len(many.comparisons) == 3 * len(many.protocol["methods"])


def test_rows_are_those_of_the_estimates() -> None:
    table, runs = weighed()
    labels = ["nDCG@5", "pnDCG@5", "AP(mean=geometric,rel=2)@5"]
    for kind in ("normal", "t"):
        result = cr.strata(
            table, runs, measure=labels, propensity="propensity", cut="country", interval=kind
        )
        for row in result.estimates:
            own = result.estimate(row.system, row.measure, row.method)
            ends = interval(own, level=0.95, method=kind)
            assert (row.value, row.se) == pytest.approx((own.value, own.se), abs=1e-14)
            assert (row.low, row.high) == pytest.approx(ends, abs=1e-14)


def test_bootstrap_and_normal_intervals_agree() -> None:
    table, runs = world(users=300, seed=2)
    kinds = {
        kind: cr.strata(
            table, runs, measure=["nDCG@5"], cut="quantile", interval=kind, baseline="a"
        )
        for kind in ("normal", "bootstrap")
    }
    for rows in ("estimates", "comparisons"):
        pairs = zip(getattr(kinds["normal"], rows), getattr(kinds["bootstrap"], rows), strict=True)
        for a, b in pairs:
            assert (b.low, b.high) == pytest.approx((a.low, a.high), abs=0.25 * (a.high - a.low))


users = st.sampled_from("uvwxyz")
items = st.sampled_from("abcdefgh")
worlds = st.dictionaries(users, st.dictionaries(items, st.integers(0, 4), min_size=2), min_size=3)


@settings(max_examples=25, deadline=None)
@given(worlds, st.permutations("abcdefgh"), st.randoms(use_true_random=False))
def test_renaming_items_and_shuffling_rows_change_nothing(drawn, names, random) -> None:
    truth = {**drawn, "s": {"a": 4, "b": 0, "c": 3}, "t": {"a": 2, "d": 4}}
    ranked = {u: sorted("abcdefgh", key=lambda i: (hash_of(u, i), i)) for u in truth}
    new = dict(zip("abcdefgh", names, strict=True))
    renamed = {u: {new[i]: r for i, r in own.items()} for u, own in truth.items()}
    relisted = {u: [new[i] for i in own] for u, own in ranked.items()}
    before = stratified(judgments(truth), run(ranked))
    table, listed = judgments(renamed), run(relisted)
    table = table[random.sample(range(table.height), table.height)]
    listed = listed[random.sample(range(listed.height), listed.height)]
    assert stratified(table, listed) == before


def hash_of(user: str, item: str) -> int:
    return (ord(user) * 31 + ord(item) * 17) % 11


def stratified(table: pl.DataFrame, listed: pl.DataFrame) -> list[tuple[str, float]]:
    counts = table.group_by("item").len("n")
    table = table.join(counts, on="item").with_columns(p=pl.col("n") / pl.col("n").max())
    result = cr.strata(table, {"r": listed}, measure=["nDCG@3", "AP@3"], propensity="p", strata=3)
    return [(r.method, round(r.value, 12), r.units) for r in result.estimates if r.units]


def cut(p, item, *, bins, how):
    """The strata of rows that stand once each, and the stratum of each row."""
    found = cut_strata(PropensitySpread.of(p, item, np.ones(len(p), np.int64)), bins=bins, how=how)
    return found, found.code(p, item).tolist()


def test_cuts() -> None:
    p = np.array([1, 1, 2, 3, 4, 10.0])
    item = np.array([0, 0, 1, 2, 3, 4])
    assert cut(p, item, bins=2, how="quantile")[1] == [0, 0, 0, 1, 1, 1]
    assert cut(p, item, bins=2, how="items")[1] == [0, 0, 0, 1, 1, 1]
    wide, code = cut(p, item, bins=3, how="width")
    assert (wide.names, code) == (("Q1", "Q3"), [0, 0, 0, 0, 0, 1])
    assert wide.empty == ("Q2 (4 to 7)",)
    same, _ = cut(np.ones(4), np.arange(4), bins=2, how="width")
    assert (same.names, len(same.empty)) == (("Q1",), 1)
    some, code = cut(np.array([1, 2, np.nan]), np.arange(3), bins=2, how="quantile")
    assert (some.names, code) == (("Q1", "Q2", "unknown"), [0, 1, 2])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=4, max_size=80), st.integers(1, 6))
def test_a_cut_is_the_same_from_counts(values, bins) -> None:
    p = np.array(values, float)
    kinds, count = np.unique(p, return_counts=True)
    for how in ("width", "quantile"):
        found, code = cut(p, np.zeros(len(p), int), bins=bins, how=how)
        again = cut_strata(
            PropensitySpread.of(kinds, np.zeros(len(kinds), int), count), bins=bins, how=how
        )
        assert (again.names, again.empty) == (found.names, found.empty)
        assert again.code(p, np.zeros(len(p), int)).tolist() == code


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=4, max_size=80), st.integers(1, 6))
def test_quantiles_keep_ties_together_and_order(values, bins) -> None:
    p = np.array(values, float)
    code = np.array(cut(p, np.arange(len(p)), bins=bins, how="quantile")[1])
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(code[order]) >= 0)
    for value in set(values):
        assert len(set(code[p == value])) == 1
    if len(set(values)) == len(values):
        counts = np.bincount(code)
        assert counts.max() - counts.min() <= 1


def test_column_values_are_strata_in_order() -> None:
    ages = pl.Series("age", [30, 5, 30, 100])
    found = by_values("age", ages, "3")
    assert (found.names, found.code_of(ages).tolist()) == (
        ("age=5", "age=30", "age=100"),
        [1, 0, 1, 2],
    )


def test_user_dependent_propensities_come_from_a_table_too(tmp_path) -> None:
    table, runs = weighed()
    expected = cr.strata(table, runs, measure=["nDCG@5"], propensity="propensity")
    plain_table, given = table.drop("propensity"), table.select("user", "item", "propensity")
    given.sample(fraction=1, shuffle=True, seed=1).write_csv(tmp_path / "p.csv")
    for source in (given, str(tmp_path / "p.csv")):
        again = cr.strata(plain_table, runs, measure=["nDCG@5"], propensity=source)
        assert again.to_frame().equals(expected.to_frame())
    assert [i.name for i in again.inputs][1] == str(tmp_path / "p.csv")


def test_rows_without_a_propensity_are_said_and_set_apart() -> None:
    table, runs = weighed()
    given = table.group_by("item").agg(pl.col("propensity").mean()).sort("item")
    result = cr.strata(table, runs, measure=["nDCG@5"], propensity=given[3:])
    assert result.strata[-1].name == "unknown"
    loud = {d.name: d for d in result.diagnostics if d.state != "pass"}
    assert "left out of IPS" in loud["propensities missing"].meaning
    assert sum(s.share for s in result.strata) == pytest.approx(1)


def test_popularity_is_counted_where_asked() -> None:
    table, runs = world(users=200, seed=1)
    items = sorted(table["item"].unique())
    rows = [(f"x{n}", item) for k, item in enumerate(items) for n in range(1 + (3 * k) // 2)]
    feedback = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    here = cr.strata(table, runs, measure=["nDCG@5"], propensity="published")
    there = cr.strata(table, runs, measure=["nDCG@5"], propensity="published", feedback=feedback)
    assert here.protocol["alpha"] != there.protocol["alpha"]
    assert len(there.inputs) == 1 + 1 + 3
    plain_count = cr.strata(table, runs, measure=["nDCG@5"], feedback=feedback)
    assert plain_count.protocol["rule"] == "frequency"
    assert plain_count.strata[-1].high < 1
    # the published values are not scaled; item and count stay in the same order
    assert there.strata[-1].high > 1


def test_a_stratum_without_anything_to_find_is_loud() -> None:
    table = judgments({u: {"a": 3, "b": 0, "c": 2} for u in "uvwxy"})
    table = table.with_columns(group=pl.when(pl.col("item") == "b").then(1).otherwise(0))
    listed = run({u: ["c", "a", "b"] for u in "uvwxy"})
    given = pl.DataFrame({"item": ["a", "b", "c"], "propensity": [0.5, 0.2, 0.3]})
    result = cr.strata(table, {"r": listed}, measure=["nDCG"], cut="group", propensity=given)
    rows = {r.method: r for r in result.estimates}
    assert np.isnan(rows["group=1"].value)
    assert rows["group=1"].units == 0
    assert rows["stratified"].value == rows["group=0"].value
    assert [d.state for d in result.diagnostics if d.name == "stratum without a value"] == ["fail"]
    assert json.loads(result.to_json())["estimates"][-1]["value"] is None


def test_empty_bins_are_named_in_result_and_diagnostic() -> None:
    table, runs = weighed()
    table = table.with_columns(
        propensity=pl.when(pl.col("propensity") < 0.5).then(0.1).otherwise(0.9)
    )
    result = cr.strata(table, runs, measure=["P@3"], strata=4, propensity="propensity", cut="width")
    assert [s.name for s in result.strata] == ["Q1", "Q4"]
    (said,) = [d for d in result.diagnostics if d.name == "empty strata"]
    assert said.state == "caution"
    assert "Q2 (0.3 to 0.5), Q3 (0.5 to 0.7)" in said.meaning
    assert len(result.protocol["empty_strata"]) == 2


def test_thin_strata_few_items_and_heavy_weights_are_diagnosed() -> None:
    truth = {f"u{n}": {"head": 1.0 * (n < 20), f"t{n % 7}": 1.0} for n in range(60)}
    listed = run({u: ["head", *(f"t{k}" for k in range(7))] for u in truth})
    given = pl.DataFrame({"item": ["head", *(f"t{k}" for k in range(7))],
                          "propensity": [1.0, 1e-6, *[0.2] * 6]})  # fmt: skip
    result = cr.strata(
        judgments(truth), {"r": listed}, measure=["RR"], propensity=given, cut="width"
    )
    loud = {(d.name, d.subject): d.state for d in result.diagnostics if d.state != "pass"}
    assert loud["users in stratum", "Q2"] == "caution"
    assert loud["few items decide", "Q2"] == "caution"
    assert loud["largest weight", "IPS"] == "fail"
    assert loud["effective sample size", "IPS"] == "fail"


def test_missing_users_are_left_out_for_all_or_count_zero() -> None:
    table, runs = weighed()
    short = {**runs, "b": runs["b"].filter(pl.col("user") != "u3")}
    options = {"measure": ["P@5"], "propensity": "propensity"}
    skip = cr.strata(table, short, missing="skip", **options)
    fewer = cr.strata(table.filter(pl.col("user") != "u3"), runs, **options)
    pairs = zip(skip.estimates, fewer.estimates, strict=True)
    assert all(a.units == b.units for a, b in pairs if a.method == "holdout")
    zero = cr.strata(table, short, **options)
    assert zero.estimates[0].units == skip.estimates[0].units + 1


def test_nobody_with_lists_has_anything_to_find() -> None:
    table = judgments({"u": {"a": 1, "b": 0}, "v": {"a": 0, "b": 0}})
    given = pl.DataFrame({"item": ["a", "b"], "propensity": [0.5, 0.2]})
    with pytest.raises(cr.InputError, match="No user with a list of every system has anything"):
        cr.strata(table, {"r": run({"v": ["a", "b"]})}, measure=["RR"], propensity=given,
                  missing="skip", no_relevant="skip")  # fmt: skip


def test_the_document_has_every_key_and_values_by_unit_average_to_the_rows() -> None:
    table, runs = weighed()
    labels = ["nDCG@5", "pnDCG@5"]
    result = cr.strata(table, runs, measure=labels, cut="country", baseline="a")
    document = json.loads(result.to_json())
    assert {"kind", "estimates", "comparisons", "tables", "diagnostics", "protocol",
            "provenance"} <= set(document)  # fmt: skip
    assert {"strata", "paradoxes", "agreement"} <= set(document["tables"])
    assert set(document["tables"]["strata"][0]) == {
        "name",
        "low",
        "high",
        "share",
        "users",
        "items",
        "ratings",
    }
    assert document["estimates"][0]["estimator"] == "holdout"
    mean = (
        result.by_unit()
        .group_by("system", "measure", "estimator", "segment")
        .agg(pl.col("value").mean())
    )
    found = {key: value for *key_, value in mean.iter_rows() for key in [tuple(key_)]}
    for row in result.estimates:
        if row.method != "stratified":
            assert found[row.system, row.measure, row.estimator, row.segment] == pytest.approx(
                row.value
            )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cut": "countri"}, 'Did you mean "country"'),
        ({"cut": "country", "strata": 3}, "number cannot be chosen"),
        ({"cut": "item"}, "too many values"),
        ({"strata": 0}, "strata must lie between 1 and 20, not 0"),
        ({"propensity": "popular"}, 'Did you mean "popularity"'),
        ({"propensity": "country"}, "must hold numbers"),
        (
            {"propensity": "propensity", "feedback": "x.csv"},
            "only for propensities from popularity",
        ),
        ({"propensity": pl.DataFrame({"item": ["zz"], "propensity": [1.0]})}, "none of the judg"),
        ({"propensity": pl.DataFrame({"item": ["i1", "i1"], "propensity": [1.0, 1]})}, "more than"),
        ({"propensity": pl.DataFrame({"item": ["i1"], "propensity": [0.0]})}, "above 0"),
        ({"interval": "bernstein"}, "interval cannot be"),
        ({"test": "permutation"}, "test cannot be"),
        ({"measure": ["P(rel=9)@5"]}, "None of 40 judged users has anything to find"),
        ({"strata": 2.5}, "strata must be a whole number, not 2.5"),
        ({"no_relevant": "error", "measure": ["P(rel=4)@5"]}, "nothing to find"),
        ({"baseline": "zz"}, "no system"),
    ],
)
def test_messages(options, words) -> None:
    table, runs = weighed()
    with pytest.raises(cr.CounterrankError, match=words):
        cr.strata(table, runs, **{"propensity": "propensity", **options})


def test_open_loop_judgments_tell_which_method_agrees() -> None:
    world = paradox_world(users=400)
    options = {"measure": ["nDCG@10"], "cut": "width", "open_loop": world.open_loop}
    result = cr.strata(world.judgments, world.runs, **options)
    assert [a.estimator for a in result.agreement] == result.protocol["methods"]
    tau = {a.estimator: a.kendall for a in result.agreement}
    assert tau["holdout"] < tau["stratified"] == 1
    assert {r.method for r in result.estimates} == {*result.protocol["methods"], "open loop"}
    alone = cr.evaluate(world.open_loop, world.runs, measure=["nDCG@10"], test="none")
    opened = [r for r in result.estimates if r.method == "open loop"]
    assert [r.value for r in opened] == pytest.approx([r.value for r in alone.estimates])
    again = cr.strata(
        world.judgments, world.runs, **options, open_run=dict(reversed(world.runs.items()))
    )
    assert again.agreement == result.agreement
    with pytest.raises(cr.UsageError, match="no open-loop run"):
        cr.strata(world.judgments, world.runs, measure=["P@5"], open_loop=world.open_loop,
                  open_run={"weak": world.runs["weak"]})  # fmt: skip


def test_a_planted_paradox_is_found_named_and_diagnosed() -> None:
    world = paradox_world(users=400)
    result = cr.strata(world.judgments, world.runs, measure=["nDCG@10"])
    assert [(p.ahead, p.behind) for p in result.paradoxes] == [world.planted]
    (said,) = [d for d in result.diagnostics if d.name == "Simpson's paradox"]
    assert (said.state, said.value) == ("caution", 1)


def test_propensities_are_probabilities_and_guesses_are_told():
    small = judged_world(users=60)
    given = small.judgments.with_columns(pl.lit(0.5).alias("p"), pl.lit(1.5).alias("q"))
    with pytest.raises(cr.InputError, match="at most 1"):
        cr.strata(given, small.runs, measure=["nDCG@10"], propensity="q")
    verdicts = {}
    for word in ("p", "popularity"):
        result = cr.strata(given, small.runs, measure=["nDCG@10"], propensity=word, strata=1)
        verdicts[word] = {d.name: d.state for d in result.diagnostics}["propensities known"]
    assert verdicts == {"p": "pass", "popularity": "caution"}
