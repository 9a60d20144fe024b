"""Several numbers of strata at once, propensities in two steps, values per item, tests of pairs."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau

import counterrank as cr
from counterrank.simulate import judged_world
from counterrank.stats.correlation import dependent_correlations


@pytest.fixture(scope="module")
def world():
    return judged_world(users=150, seed=3)


def values(result, method):
    return {(r.system, r.measure): r.value for r in result.estimates if r.method == method}


def test_several_numbers_are_what_each_is_by_itself(world):
    several = cr.strata(world.judgments, world.runs, measure="nDCG@10", strata=[1, 2, 4])
    assert [(n.strata, n.filled) for n in several.tables["numbers"]] == [(1, 1), (2, 2), (4, 4)]
    within = [n.within for n in several.tables["numbers"]]
    assert within[0] == pytest.approx(1)
    assert within == sorted(within, reverse=True)
    taken = int(several.tables["recommendation"][0].split()[1])
    alone = cr.strata(world.judgments, world.runs, measure="nDCG@10", strata=taken)
    assert values(several, "stratified") == values(alone, "stratified")
    assert "numbers" not in alone.tables
    for number in several.tables["numbers"]:
        one = cr.strata(world.judgments, world.runs, measure="nDCG@10", strata=number.strata)
        se = [r.se for r in one.estimates if r.method == "stratified"]
        assert number.se == pytest.approx(np.mean(se))


def test_variance_left_within_strata_by_hand(world):
    result = cr.strata(
        world.judgments, world.runs, measure="nDCG@10", strata=[2, 3], propensity="frequency"
    )
    count = world.judgments.group_by("item").len()
    n = count["len"].to_numpy().astype(float)
    from counterrank.propensity.popularity import frequency

    p = frequency(n, n.sum() / (world.judgments["user"].n_unique() * len(n)))
    x = np.log(np.repeat(p, n.astype(int)))
    low = [s.low for s in cr.strata(world.judgments, world.runs, measure="nDCG@10", strata=3,
                                    propensity="frequency").strata]  # fmt: skip
    own = np.searchsorted(np.log(low) + 1e-9, x + 2e-9) - 1
    left = sum(np.sum((x[own == q] - x[own == q].mean()) ** 2) for q in range(3))
    expected = left / np.sum((x - x.mean()) ** 2)
    assert result.tables["numbers"][1].within == pytest.approx(expected)


def test_a_propensity_of_two_steps_is_their_product(world):
    items = world.judgments.select("item").unique().sort("item")
    rng = np.random.default_rng(0)
    select, interact = rng.uniform(0.1, 0.9, (2, items.height))
    steps = items.with_columns(select=pl.Series(select), interact=pl.Series(interact))
    whole = items.with_columns(propensity=pl.Series(select * interact))
    a, b = (cr.strata(world.judgments, world.runs, measure="DCG@10", propensity=table)
            for table in (steps, whole))  # fmt: skip
    assert values(a, "IPS") == pytest.approx(values(b, "IPS"))
    with pytest.raises(cr.CounterrankError, match="above 0"):
        cr.strata(world.judgments, world.runs,
                  propensity=steps.with_columns(select=pl.lit(0.0)))  # fmt: skip


def test_per_item_divides_by_the_judged_items_of_the_user(world):
    judged = world.judgments
    p = judged.select("item").unique().sort("item")
    p = p.with_columns(propensity=pl.Series(np.linspace(0.2, 0.8, p.height)))
    found = cr.strata(judged, world.runs, measure="DCG@10", per="item", strata=1, propensity=p)
    assert found.protocol["per"] == "item"
    size = judged.group_by("user").len()
    rated = judged.join(p, on="item").join(size, on="user")
    for system, run in world.runs.items():
        top = run.sort("score", descending=True) if "score" in run.columns else run.sort("rank")
        top = top.with_columns(r=pl.int_range(1, pl.len() + 1).over("user")).filter(
            pl.col("r") <= 10
        )
        hit = top.join(rated, on=["user", "item"])
        gain = hit["rating"].to_numpy() / np.log2(hit["r"].to_numpy() + 1) / hit["len"].to_numpy()
        users = judged["user"].n_unique()
        assert values(found, "holdout")[system, "DCG@10"] == pytest.approx(gain.sum() / users)
        weighted = (gain / hit["propensity"].to_numpy()).sum() / users
        assert values(found, "IPS")[system, "DCG@10"] == pytest.approx(weighted)


def test_every_pair_of_methods_is_tested_and_shown(world):
    other = judged_world(users=150, seed=4)
    result = cr.strata(world.judgments, world.runs, open_loop=other.judgments, open_run=other.runs,
                       measure="nDCG@10", strata=2)  # fmt: skip
    pairs = {(p.other, p.estimator): p for p in result.tables["agreement_pairs"]}
    methods = [a.estimator for a in result.agreement]
    assert set(pairs) == set(itertools.combinations(methods, 2))
    truth = list(values(result, "open loop").values())
    a, b = "IPS", "stratified"
    x, y = (list(values(result, m).values()) for m in (a, b))
    r = [kendalltau(*z).statistic for z in ((truth, y), (truth, x), (x, y))]
    expected = dependent_correlations(*r, len(truth))
    assert pairs[a, b].t_one_sided == pytest.approx(expected.p_one_sided)
    assert "Williams' test" in str(result).replace("\n", " ")
