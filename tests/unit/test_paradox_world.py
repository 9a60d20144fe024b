"""The simulated paradox is there, is the only one, and the audit finds it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.errors import CounterrankError
from counterrank.simulate import paradox_world
from counterrank.stratified import Blend, Face, agreements, audited, paradoxes

MEASURES = ["nDCG@10", "Recall@10", "RR"]


def face(name, judgments, runs, measure, users):
    """One method as a face over all users; those with nothing to find do not count."""
    result = cr.evaluate(judgments, runs, measures=[measure], test="none", no_relevant="skip")
    top, base = np.zeros((len(runs), users)), np.zeros(users)
    for s, system in enumerate(runs):
        rows = result.by_unit().filter(pl.col("system") == system).drop_nulls("value")
        top[s, rows["unit"]] = rows["value"]
        base[rows["unit"]] = 1
    return Face(name, top, base)


def methods(world, measure, users):
    judgments = world.judgments
    parts = {n: judgments.filter(pl.col("stratum") == n) for n in ("head", "tail")}
    strata = [face(n, part, world.runs, measure, users) for n, part in parts.items()]
    feedback = np.array([np.bincount(part["user"], minlength=users) for part in parts.values()])
    whole = face("holdout", judgments, world.runs, measure, users)
    return whole, strata, Blend("stratified", strata, feedback.astype(float))


@pytest.mark.parametrize("seed", range(3))
def test_the_audit_finds_the_planted_paradox_and_no_other(seed):
    world = paradox_world(users=600, seed=seed)
    tables = [audited(list(world.runs), m, *methods(world, m, 600)) for m in MEASURES]
    found = paradoxes(tables).paradoxes
    assert {(row.ahead, row.behind) for row in found} == {world.planted}
    assert {row.measure for row in found} == set(MEASURES)
    assert all(row.stratified == "reversed" for row in found if row.measure == "nDCG@10")
    assert "but explorer leads in tail, which holds" in found[0].sentence


@pytest.mark.parametrize("seed", range(3))
def test_truth(seed):
    truth = paradox_world(seed=seed).truth
    for stratum, better, worse in (
        ("head", "mainstream", "explorer"),
        ("tail", "explorer", "mainstream"),
    ):
        order = ["strong", better, worse, "weak"]
        assert sorted(truth, key=lambda name: -truth[name][stratum]) == order


def test_the_open_loop_orders_as_the_strata_do():
    world = paradox_world(users=600)
    whole, _, blend = methods(world, "nDCG@10", 600)
    truth = face("open loop", world.open_loop, world.runs, "nDCG@10", 600)
    rows = agreements("nDCG@10", truth, [whole, blend], place=np.arange(600), draws=100)
    assert rows[1].tau > rows[0].tau


def test_head_items_stand_out_and_hold_little_of_the_feedback():
    world = paradox_world()
    counts = world.judgments.group_by("item", "stratum").len()
    head = counts.filter(pl.col("stratum") == "head")["len"]
    tail = counts.filter(pl.col("stratum") == "tail")["len"]
    assert len(head) == 8
    assert head.min() > 2 * tail.max()
    assert head.sum() < 0.3 * len(world.judgments)


def test_seeds_and_sizes():
    first, again, other = (paradox_world(users=50, seed=s) for s in (1, 1, 2))
    assert first.judgments.equals(again.judgments)
    assert first.runs["strong"].equals(again.runs["strong"])
    assert not first.judgments.equals(other.judgments)
    for wrong in ({"users": 5}, {"items": 20}, {"top": 3}):
        with pytest.raises(CounterrankError, match="at least"):
            paradox_world(**wrong)
