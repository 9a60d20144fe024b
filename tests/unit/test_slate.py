"""Slate estimators against their formulas in plain Python, and what they refuse."""

from __future__ import annotations

from math import prod

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterrank as cr
from counterrank.data.logs import log_schema, target_schema
from counterrank.data.runs import RunTables
from counterrank.engine.partitions import InMemory
from counterrank.ope import log as sessions
from counterrank.ope.estimators import estimator
from counterrank.ope.estimators.clipped_weight import Rows
from counterrank.ope.request import EstimateRequest, LogTables
from counterrank.ope.reward_model import fit_models, returns
from counterrank.ope.setting import Setting
from counterrank.stats.plan import Plan

ITEMS = 3
SUMS = ("IIPS", "SIPS", "RIPS", "PI")
RATIOS = ("SNIIPS", "SNSIPS", "SNRIPS")


def tables(slates):
    """Slates are lists of (item, reward, e0, target's probabilities), one per rank."""
    rows = [
        (s, item, r, float(c), e0, chance)
        for s, slate in enumerate(slates)
        for r, (item, c, e0, chance) in enumerate(slate, 1)
    ]
    log = pl.DataFrame(
        [row[:5] for row in rows], schema=["session", "item", "rank", "click", "propensity"],
        orient="row",
    )  # fmt: skip
    run = pl.DataFrame(
        [(s, a, r, p) for s, _, r, _, _, chance in rows for a, p in enumerate(chance)],
        schema=["session", "item", "rank", "propensity"], orient="row",
    )  # fmt: skip
    return log, run


def weights(slate, clip=float("inf")):
    return [chance[item] * min(clip, 1 / e0) for item, _, e0, chance in slate]


def plain(label, slates, clip=float("inf")):
    """The value per session."""
    n = len(slates)
    w = [weights(slate, clip) for slate in slates]
    W = [[prod(own[: r + 1]) for r in range(len(own))] for own in w]
    c = [[row[1] for row in slate] for slate in slates]
    deepest = max(map(len, slates))

    def normalised(by):
        total = 0.0
        for r in range(deepest):
            there = [s for s in range(n) if len(slates[s]) > r]
            bottom = sum(by[s][r] for s in there)
            total += len(there) / n * sum(by[s][r] * c[s][r] for s in there) / bottom
        return total

    if label == "IIPS":
        return sum(x * y for s in range(n) for x, y in zip(w[s], c[s], strict=True)) / n
    if label == "RIPS":
        return sum(x * y for s in range(n) for x, y in zip(W[s], c[s], strict=True)) / n
    if label == "SIPS":
        return sum(W[s][-1] * sum(c[s]) for s in range(n)) / n
    if label == "SNSIPS":
        return sum(W[s][-1] * sum(c[s]) for s in range(n)) / sum(W[s][-1] for s in range(n))
    if label == "PI":
        return sum((1 + sum(x - 1 for x in w[s])) * sum(c[s]) for s in range(n)) / n
    return normalised(w if label == "SNIIPS" else W)


def estimated(slates, labels, **options):
    log, run = tables(slates)
    result = cr.estimate(
        log, {"new": run}, estimator=labels, logged="propensity", test="none", **options
    )
    return {row.estimator: row for row in result.estimates if row.system == "new"}


chance = st.lists(st.integers(1, 9), min_size=ITEMS, max_size=ITEMS).map(
    lambda x: [i / sum(x) for i in x]
)
row = st.tuples(
    st.integers(0, ITEMS - 1), st.integers(-2, 3), st.floats(0.05, 0.9), chance
)  # fmt: skip
some_slates = st.lists(st.lists(row, min_size=1, max_size=4), min_size=2, max_size=6)


@settings(max_examples=40, deadline=None)
@given(some_slates)
def test_formulas(slates):
    found = estimated(slates, [*SUMS, *RATIOS, "IPS", "SIPS(clip=2)", "RIPS(clip=2)", "PI(clip=2)"])
    for label in SUMS + RATIOS:
        assert found[label].value == pytest.approx(plain(label, slates), rel=1e-9, abs=1e-9)
    for label in ("SIPS", "RIPS", "PI"):
        expected = plain(label, slates, clip=2)
        assert found[f"{label}(clip=2)"].value == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert found["IIPS"].value == found["IPS"].value


@settings(max_examples=20, deadline=None)
@given(some_slates)
def test_per_impression_divides_by_the_ranks_of_a_session(slates):
    found = estimated(slates, [*SUMS, *RATIOS], per="impression")
    ranks = sum(map(len, slates)) / len(slates)
    for label in SUMS + RATIOS:
        expected = plain(label, slates) / ranks
        assert found[label].value == pytest.approx(expected, rel=1e-9, abs=1e-9)


def drawn(n, seed, length=3):
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n):
        slate = []
        for _ in range(length):
            p0, p = rng.dirichlet(np.ones(ITEMS)) * 0.7 + 0.1, rng.dirichlet(np.ones(ITEMS))
            item = int(rng.integers(ITEMS))
            slate.append((item, int(rng.integers(2)), float(p0[item]), p.tolist()))
        out.append(slate)
    return out


def learned(slates):
    """The model CascadeDR uses, by session, rank and item."""
    log, run = (
        schema(t).whole()
        for schema, t in zip((log_schema, target_schema), tables(slates), strict=True)
    )
    held = InMemory({"log": log, "target 0": run})
    plan = Plan(baseline="logged", test="none")
    request = EstimateRequest(
        LogTables(RunTables({"target 0": "new"})), (estimator("CascadeDR"),), None, plan,
        logged="propensity",
    )  # fmt: skip
    setting = Setting.of(request.with_heads(held), held)
    model = fit_models(held, setting, "means").futures["new"]["click"]
    fold = setting.sessions(held.partition).fold
    n = len(slates)

    def q(s, r, item):
        one = [np.array([x]) for x in (fold[s], 0, item, r)]
        return float(model.at(*one)[0])

    return [
        [[q(s, r + 1, a) for a in range(ITEMS)] for r in range(len(slates[s]))] for s in range(n)
    ]


def test_cascade_dr_is_its_formula():
    slates = drawn(60, 3)
    q = learned(slates)
    total = 0.0
    for s, slate in enumerate(slates):
        w = weights(slate)
        for r, (item, c, _, p) in enumerate(slate):
            ahead = sum(p[a] * q[s][r][a] for a in range(ITEMS))
            total += prod(w[: r + 1]) * (c - q[s][r][item]) + prod(w[:r]) * ahead
    found = estimated(slates, ["CascadeDR"])["CascadeDR"].value
    assert found == pytest.approx(total / len(slates), rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(some_slates)
def test_returns_weigh_what_comes_later(slates):
    rows = [row for slate in slates for row in slate]
    none = np.empty(0)
    length = np.array([len(slate) for slate in slates])
    found = returns(
        Rows(
            start=np.cumsum(length) - length,
            reward=np.array([c for _, c, _, _ in rows], float),
            e=np.array([p[item] for item, _, _, p in rows]),
            e0=np.array([e0 for _, _, e0, _ in rows]),
            seen=none, q=none, cell=none, cell_rank=none, place=none, views=none, direct=none,
        )
    )  # fmt: skip
    expected = []
    for slate in slates:
        G, own = 0.0, []
        for (_, c, _, _), w in zip(slate[::-1], [0.0, *weights(slate)[:0:-1]], strict=True):
            G = c + w * G
            own.append(G)
        expected += own[::-1]
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_intervals_come_with_every_estimate():
    found = estimated(drawn(50, 1), [*SUMS, *RATIOS, "CascadeDR"])
    for row in found.values():
        assert row.low < row.value < row.high


@pytest.mark.parametrize("label", RATIOS)
def test_influence_of_ratios_is_the_derivative(label):
    """Weighing one session a little more moves the value as its influence says."""
    slates = drawn(20, 5)
    log, run = tables(slates)
    result = cr.estimate(log, {"new": run}, estimator=[label], logged="propensity", test="none")
    key = result.key("new", label)
    one, columns = result.estimate("new", label), np.stack(result.units.columns[key], axis=1)
    function = result.functions[key]
    influence = result.units.influence(key, function)
    n, h = one.n, 1e-6
    for u in range(3):
        share = np.full(n, (1 - h) / n)
        share[u] += h
        moved = float(function(share @ columns))
        assert (moved - one.value) / h == pytest.approx(influence[u], rel=1e-3, abs=1e-6)


def refused(log, run, label, **options):
    with pytest.raises((cr.InputError, cr.UsageError)) as caught:
        cr.estimate(log, {"new": run}, estimator=[label], test="none", **options)
    return str(caught.value)


PRODUCTS = ("SIPS", "SNSIPS", "RIPS", "SNRIPS", "CascadeDR")


@pytest.mark.parametrize("label", [*SUMS, *RATIOS, "CascadeDR"])
def test_refused_where_weights_are_not_propensities(label):
    log, run = tables(drawn(5, 0))
    message = refused(log, run, label, logged="rank", position_bias="log2")
    assert "propensity" in message
    assert label in message


@pytest.mark.parametrize("label", [*PRODUCTS, "PI"])
def test_refused_where_ranks_are_missing(label):
    log, run = tables(drawn(5, 0))
    log = log.filter(pl.col("rank") != 2)
    message = refused(log, run, label, logged="propensity", views="rows")
    assert "whole slates" in message
    assert "5 rows" in message


def test_rows_by_themselves_need_no_whole_slate():
    log, run = tables(drawn(5, 0))
    result = cr.estimate(
        log.filter(pl.col("rank") != 2), {"new": run}, estimator=["IIPS", "SNIIPS"],
        logged="propensity", views="rows", test="none",
    )  # fmt: skip
    assert all(np.isfinite(row.value) for row in result.estimates)


@pytest.mark.parametrize("label", PRODUCTS)
def test_samples_cannot_be_multiplied(label):
    log, run = tables(drawn(5, 0))
    samples = run.filter(pl.col("item") == pl.col("rank") - 1).drop("propensity")
    message = refused(log, samples.with_columns(draw=1), label, logged="propensity")
    assert "samples" in message


@pytest.mark.parametrize("label", ["SIPS", "SNSIPS", "SNIIPS", "SNRIPS", "PI"])
def test_short_lists_are_refused(label):
    log, run = tables(drawn(5, 0))
    short = run.filter((pl.col("item") == pl.col("rank") - 1) & (pl.col("rank") < 3))
    message = refused(log, short.drop("propensity"), label, logged="propensity", disjoint="zero")
    assert "5 such sessions" in message


def test_cascade_dr_needs_all_items_of_a_rank():
    log, run = tables(drawn(5, 0))
    some = run.filter((pl.col("item") > 0) | (pl.col("rank") == 1))
    message = refused(log, some, "CascadeDR", logged="propensity")
    assert "add up" in message
    assert "Session 0" in message


def test_a_target_must_say_ranks():
    log, run = tables(drawn(5, 0))
    run = run.select("session", "item", exposure="propensity").unique(["session", "item"])
    assert "which rank" in refused(log, run, "IIPS", logged="propensity")


def test_several_loggers_do_not_multiply():
    log, run = tables(drawn(6, 0))
    log = log.with_columns(
        policy=pl.when(pl.col("session") < 3).then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    message = refused(log, run, "SIPS", logged="propensity", logger={"a": run, "b": run})
    assert "one logger" in message


def test_a_list_is_a_certain_target():
    """A logged slate counts only where it is the target's own."""
    log = pl.DataFrame(
        {
            "session": [1, 1, 2, 2],
            "item": [0, 1, 0, 2],
            "rank": [1, 2, 1, 2],
            "click": [1, 1, 1, 0],
            "propensity": [0.5, 0.5, 0.5, 0.25],
        }
    )
    run = pl.DataFrame({"session": [1, 1, 2, 2], "item": [0, 1, 0, 1], "rank": [1, 2, 1, 2]})
    result = cr.estimate(
        log, {"new": run}, estimator=["SIPS", "RIPS", "IIPS", "PI"], logged="propensity",
        test="none",
    )  # fmt: skip
    values = {row.estimator: row.value for row in result.estimates if row.system == "new"}
    assert values == pytest.approx(
        {"SIPS": (4 * 2 + 0) / 2, "RIPS": (2 + 4 + 2) / 2, "IIPS": (2 + 2 + 2) / 2,
         "PI": ((1 + 1 + 1) * 2 + (1 + 1 - 1) * 1) / 2}
    )  # fmt: skip


@pytest.mark.parametrize("label", ["IPS", "SNIPS", "DR", "SIPS", "RIPS", "PI", "CascadeDR"])
def test_kept_logged_lists_earn_what_they_earned(label):
    """Where the run has no list, the logged one stays: it weighs 1, however unlikely it was."""
    slates = drawn(30, 2)
    log, run = tables(slates)
    one = run.filter(pl.col("session") == 0)
    result = cr.estimate(
        log, {"new": one}, estimator=[label], logged="propensity", missing="logged", test="none",
        disjoint="zero",
    )  # fmt: skip
    columns = result.units.columns[result.key("new", label)]
    earned = [sum(row[1] for row in slate) for slate in slates]
    paid = columns[2 if label == "SNIPS" else 0]
    assert paid[1:] == pytest.approx(earned[1:])


def diagnostic(slates, labels, kind):
    log, run = tables(slates)
    result = cr.estimate(log, {"new": run}, estimator=labels, logged="propensity", test="none")
    return [d for d in result.diagnostics if d.name == kind]


def alike(n, e0, length=4):
    """Slates drawn with probability e0 per rank, by a target that always shows one of them."""
    rng = np.random.default_rng(0)
    items = (rng.random((n, length)) >= e0).astype(int)
    return [
        [(i, 1, e0 if i == 0 else 1 - e0, [1.0, 0.0, 0.0]) for i in own] for own in items.tolist()
    ]


def test_products_are_diagnosed_as_products():
    """Whole slates match one time in 4, or in 2,401."""
    (good,) = diagnostic(alike(5_000, 0.7), ["SIPS"], "effective slates")
    assert good.state == "pass"
    assert good.value == pytest.approx(5_000 * 0.7**4, rel=0.1)
    (bad,) = diagnostic(alike(5_000, 1 / 7), ["SIPS"], "effective slates")
    assert bad.state == "fail"
    assert not diagnostic(alike(50, 0.5), ["IIPS"], "effective slates")


def test_clipped_products_tell_what_they_lose():
    (cut,) = diagnostic(alike(2_000, 0.5), ["RIPS(clip=1)"], "clipping")
    assert cut.value == pytest.approx(1 - 1 / 16, abs=0.02)


def test_blocks_change_nothing(monkeypatch):
    """Also where one block's slates are shorter than another's."""
    slates = drawn(12, 4, length=2) + drawn(12, 5, length=4)
    labels = [*SUMS, *RATIOS, "CascadeDR"]
    whole = estimated(slates, labels)
    monkeypatch.setattr(sessions, "ROWS", 5)
    parts = estimated(slates, labels)
    for label in labels:
        assert parts[label].value == pytest.approx(whole[label].value, rel=1e-12)
        assert parts[label].se == pytest.approx(whole[label].se, rel=1e-9)
