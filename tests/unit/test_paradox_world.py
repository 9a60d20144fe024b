"""The simulated paradox is there, is the only one, and the audit finds it."""

from __future__ import annotations

import polars as pl
import pytest

import counterrank as cr
from counterrank.core.errors import CounterrankError
from counterrank.simulate import paradox_world

MEASURES = ["nDCG@10", "Recall@10", "RR"]


@pytest.mark.parametrize("seed", range(3))
def test_the_audit_finds_the_planted_paradox_and_no_other(seed):
    world = paradox_world(users=600, seed=seed)
    found = cr.strata(world.judgments, world.runs, measure=MEASURES, cut="stratum").paradoxes
    assert {(row.ahead, row.behind) for row in found} == {world.planted}
    assert {row.measure for row in found} == set(MEASURES)
    assert all(row.stratified == "reversed" for row in found if row.measure == "nDCG@10")
    assert "but explorer leads in stratum=tail, which holds" in found[0].sentence


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
    options = {"measure": ["nDCG@10"], "cut": "stratum", "open_loop": world.open_loop}
    tau = {
        row.estimator: row.kendall
        for row in cr.strata(world.judgments, world.runs, **options).agreement
    }
    assert tau["stratified"] > tau["holdout"]


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
