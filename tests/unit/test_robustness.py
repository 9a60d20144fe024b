"""Assessing robustness: reduced judgments are smaller tables, however they are computed."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau

import counterrank as cr
from common.test_every_measure import EVERY
from counterrank.assess.reduced_judgments import (
    AT_RANDOM,
    OF_USERS,
    REDUCTIONS,
    SIZES,
    Evidence,
    Reductions,
)
from counterrank.assess.robustness import (
    Track,
    area,
    areas_differ,
    recommend_by_robustness,
    single,
    taus_on_reduced,
    trapezoid,
)
from counterrank.core.errors import UsageError
from counterrank.data.runs import Policies
from counterrank.simulate import judged_world
from counterrank.stats.correlation import kendall_tau
from cutting import matches
from making import judgments as table
from making import world

LABELS = (
    "P(rel=3)@10", "Recall(rel=3)@10", "F1(rel=3)@10", "AP(rel=3)@10", "nDCG@10", "RR(rel=3)@10",
    "ERR@10", "Bpref(rel=3)@10", "InfAP(rel=3)@10", "pnDCG@10", "ARP(rel=3)@10", "Judged@10",
    "DCG@10", "CG(gain=binary,rel=3)", "nDCG(ideal=list)@10",
    "AP(rel=3,mean=geometric)@10", "nDCG(mean=geometric,floor=0.01)@10",
)  # fmt: skip


def parts(missing: str = "zero", no_relevant: str = "zero"):
    """A small world in which some users have no list, and its evaluation."""
    truth, runs = world(users=60, seed=3)
    runs = {n: r.filter(pl.col("user") != f"u{k}") for k, (n, r) in enumerate(runs.items())}
    policies = Policies(missing, no_relevant)
    found = matches(truth, runs, LABELS, cr.Local(), missing=missing, no_relevant=no_relevant)
    return Evidence.of(found.pool, found.hits, [cr.measure(m) for m in LABELS], policies), runs


@pytest.mark.parametrize("no_relevant", ["zero", "skip"])
@pytest.mark.parametrize("missing", ["zero", "skip"])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_a_reduction_is_an_evaluation_of_the_smaller_table(kind, missing, no_relevant):
    """The law: masking the hits gives what evaluating the reduced table would."""
    evidence, runs = parts(missing, no_relevant)
    pool, reductions = evidence.pool, Reductions(evidence.pool)
    for size in (0.7, 0.2):
        kept = reductions.left_over(kind, size, 1)
        if kind in OF_USERS:
            mine = evidence.under(kept[None].astype(float))[:, 0]
            kept = kept[pool.unit]
        else:
            mine = evidence.among(kept[None])[:, 0]
        rows = pl.DataFrame(
            {"user": pool.units.gather(pool.unit), "item": pool.items, "rating": pool.rating}
        ).filter(pl.Series(kept))
        assert rows["rating"].max() == pool.top, "the scale of ratings must still be there"
        plain = cr.evaluate(
            rows, runs, measure=LABELS, test="none", missing=missing, no_relevant=no_relevant
        )
        theirs = plain.to_frame().pivot("system", index="measure", values="value")
        assert theirs["measure"].to_list() == [str(m) for m in evidence.measures]
        np.testing.assert_allclose(mine, theirs.drop("measure").to_numpy(), rtol=1e-12, atol=1e-12)


def test_stacked_systems_are_as_each_by_itself_in_every_measure():
    """Every label there is, on all judgments and on a few of them, equal to the last bit."""
    truth, runs = world(users=60, seed=3)
    whole = matches(truth, runs, EVERY, cr.Local())
    measures = [cr.measure(label) for label in EVERY]
    evidence = Evidence.of(whole.pool, whole.hits, measures, Policies())
    kept = Reductions(whole.pool).left_over("ratings", 0.3, 0)
    pool = whole.pool.only(kept)
    for form, x in evidence.only(kept)._per_unit.items():
        each = [form.per_unit(hits.only(kept), pool) for hits in whole.hits]
        assert np.array_equal(x.reshape(len(runs), -1), each), form


def test_samples_together_are_as_each_by_itself():
    evidence, _ = parts("skip", "skip")
    reductions = Reductions(evidence.pool)
    kept = np.stack([reductions.left_over("items", 0.4, sample) for sample in range(5)])
    each = np.concatenate([evidence.among(which[None]) for which in kept], axis=1)
    assert np.ptp(each[:, :, 0], axis=1).min() > 0
    np.testing.assert_allclose(evidence.among(kept), each, rtol=1e-14)


def test_the_policy_matters_on_reduced_judgments():
    pools = [parts("zero", none)[0] for none in ("zero", "skip")]
    kept = Reductions(pools[0].pool).left_over("ratings", 0.2, 0)
    zero, skip = (e.only(kept).value for e in pools)
    assert np.all(skip[0] > zero[0]), "precision without those who have nothing to find is larger"


def test_exactly_the_asked_number_is_left():
    evidence, _ = parts()
    reductions = Reductions(evidence.pool)
    pool = evidence.pool
    for kind in REDUCTIONS:
        for size in SIZES:
            kept = reductions.left_over(kind, size, 0)
            if kind in ("items", "popular_items"):
                left = len(np.unique(reductions.item[kept]))
                assert (
                    np.isin(reductions.item, np.unique(reductions.item[kept])).sum() == kept.sum()
                )
            else:
                left = int(kept.sum())
            assert left == max(1, round(size * reductions.total(kind)))
    assert reductions.total("items") == pool.items.n_unique()


def test_the_most_judged_go_first_and_of_equals_the_smaller_id():
    rated = {
        "10": {"a": 1, "b": 1, "c": 1},
        "2": {"a": 1, "b": 1, "10": 1},
        "7": {"a": 1, "9": 1},
        "8": {"c": 1, "9": 1},
    }
    lists = pl.DataFrame({"user": ["2"], "item": ["a"], "rank": [1]})
    pool = matches(table(rated), {"r": lists}, ["P@1"], cr.Local()).pool
    reductions = Reductions(pool)
    gone = [
        set(pool.units.filter(~pl.Series(reductions.left_over("large_users", s, 0))))
        for s in (0.75, 0.5, 0.25)
    ]
    assert gone == [{"2"}, {"2", "10"}, {"2", "10", "7"}], "ids that are numbers sort as numbers"
    gone = [
        set(pool.items.filter(~pl.Series(reductions.left_over("popular_items", s, 0))))
        for s in (0.8, 0.6, 0.4, 0.2)
    ]
    assert gone == [{"a"}, {"a", "9"}, {"a", "9", "b"}, {"a", "9", "b", "c"}]


def test_every_judgment_is_as_likely_to_stay():
    """Shares over samples lie within 4.5 standard errors of the size (about 400 judgments)."""
    evidence, _ = parts()
    reductions = Reductions(evidence.pool)
    for kind in AT_RANDOM:
        draws = 800
        kept = np.mean([reductions.left_over(kind, 0.3, s) for s in range(draws)], axis=0)
        share = reductions.left(kind, 0.3) / reductions.total(kind)
        assert np.abs(kept - share).max() < 4.5 * np.sqrt(share * (1 - share) / draws)


def test_a_sample_is_the_same_whatever_else_is_asked():
    """Neither threads nor other kinds and sizes change a number; another seed does."""
    truth, runs = world(users=60, seed=3)
    ask = {"measure": ["nDCG@10", "RR@10"], "samples": 4}
    whole = cr.assess_robustness(truth, runs, sizes=[1, 0.5, 0.2], threads=1, **ask)
    part = cr.assess_robustness(truth, runs, sizes=[0.2], reduction=["items"], threads=3, **ask)
    mine = [row for row in whole.tables["values"] if row.reduction == "items"]
    assert [row.value[2] for row in mine] == [row.value[0] for row in part.tables["values"]]
    assert whole.tables["curves"][0].samples == 1, "nothing is drawn where nothing is lost"
    other = cr.assess_robustness(truth, runs, sizes=[0.2], reduction=["items"], seed=1, **ask)
    assert part.tables["values"] != other.tables["values"]


def test_tau_is_that_of_scipy_with_ties_and_without():
    rng = np.random.default_rng(0)
    for levels in (3, 1000):
        x, y = rng.integers(0, levels, (2, 20, 9)).astype(float)
        assert kendall_tau(x, y) == pytest.approx(
            [kendalltau(a, b).statistic for a, b in zip(x, y, strict=True)]
        )
    for nothing in (np.zeros(4), np.full(4, np.nan)):  # no difference says nothing of the order
        assert np.isnan(kendall_tau(np.arange(4.0), nothing, missing="skip"))
        assert taus_on_reduced(np.arange(4.0)[None], nothing[None, None]) == 0
        assert taus_on_reduced(nothing[None], np.arange(4.0)[None, None]) == 0
    for gone in range(3):  # neither the best nor the worst: the pairs with it say nothing
        left = np.where(np.arange(3) == gone, np.nan, [1.0, 2, 3])
        skipped = kendall_tau([1.0, 2, 3], left, missing="skip")
        assert skipped == pytest.approx(1 / np.sqrt(3))
        assert np.isnan(kendall_tau([1.0, 2, 3], left))


def test_rounding_does_not_break_a_tie():
    full = np.array([0.3, 0.2, 0.1])
    assert kendall_tau(full, [0.1 + 0.2, 0.3, 0.1]) == kendall_tau(full, [0.3, 0.3, 0.1])


def test_an_area_is_the_trapezoid_rule_over_sizes():
    rng = np.random.default_rng(1)
    sizes = (1.0, 0.6, 0.5, 0.1)
    tau = [rng.uniform(-1, 1, (2, n)) for n in (1, 5, 5, 5)]
    track = Track("items", sizes, (), tuple(tau))
    means = [t[0].mean() for t in tau]
    by_hand = sum((sizes[i] - sizes[i + 1]) * (means[i] + means[i + 1]) / 2 for i in range(3)) / 0.9
    assert area([track], single(0, 2)).value == pytest.approx(by_hand)
    assert area([track, track], single(0, 2)).value == pytest.approx(by_hand)
    assert trapezoid([0.3]) == 1


def test_the_monte_carlo_error_of_an_area_and_of_a_difference():
    """The spread of areas over 400 replications is the stated error, within 4 of its own errors."""
    rng = np.random.default_rng(2)
    sizes, found, stated = (1.0, 0.5, 0.1), [], []
    for contrast in (single(0, 2), single(0, 2) - single(1, 2)):
        found.clear(), stated.clear()
        for _ in range(400):
            common = rng.normal(0, 0.1, (3, 20))
            tau = [np.stack([c, c + rng.normal(0, 0.02, 20)]) for c in common]
            found_area = area([Track("items", sizes, (), tuple(tau))], contrast)
            found.append(found_area.value)
            stated.append(found_area.se)
        spread, mean = np.std(found, ddof=1), np.sqrt(np.mean(np.square(stated)))
        assert abs(spread / mean - 1) < 4 / np.sqrt(2 * 400)


def test_curves_are_those_of_plain_evaluations():
    """The whole way by hand for one kind: reduce, evaluate, order, correlate."""
    truth, runs = world(users=60, seed=3)
    ask = {"measure": ["AP@10"], "mean": "geometric", "reduction": ["large_users"]}
    result = cr.assess_robustness(truth, runs, sizes=[1, 0.5, 0.1], **ask)
    number = truth.group_by("user").len().sort("len", "user", descending=[True, False])
    order = {}
    for size in (1, 0.5, 0.1):
        left = number["user"].tail(round(size * 60))
        rows = truth.filter(pl.col("user").is_in(left.implode()))
        plain = cr.evaluate(rows, runs, measure=["AP(mean=geometric)@10"], test="none")
        order[size] = [row.value for row in plain.estimates]
    for row in result.tables["curves"]:
        assert row.kendall == pytest.approx(kendalltau(order[1], order[row.size]).statistic)
        assert (row.low, row.high, row.se, row.samples) == (row.kendall, row.kendall, 0, 1)
    for place, row in enumerate(result.tables["values"]):
        assert row.value == pytest.approx([order[size][place] for size in row.size], rel=1e-12)


def test_the_default_measures_are_the_nine_of_the_paper_under_both_means():
    truth, runs = world(users=20)
    result = cr.assess_robustness(truth, runs, rel=3, samples=2, sizes=[0.5], mean="both")
    names = [row.measure for row in result.estimates if row.segment is None]
    assert len(names) == 18
    assert {"P(rel=3)@100", "nDCG@100", "ERR@100", "AP(mean=geometric,rel=3)@100"} <= set(names)
    assert len(result.recommendation) == 3


def test_areas_not_separated_are_named():
    """Two measures that always agree cannot be told apart."""
    truth, runs = world(users=60, seed=3)
    result = cr.assess_robustness(
        truth, runs, measure=["DCG@10", "pnDCG@10"], mean="arithmetic", samples=3, sizes=[0.5, 0.1]
    )
    first, second = (row for row in result.estimates if row.segment is None)
    assert first.value == second.value
    assert result.recommendation[0].startswith("The measures are not separated")
    assert not any("best" in said or "Least" in said for said in result.recommendation)


def test_the_sentences_follow_from_the_areas():
    """The best, who ties with it, and the least; more measures need larger gaps."""
    rng = np.random.default_rng(0)
    common = rng.normal(0.5, 0.1, 20)
    tau = np.stack([common, common - 0.001 + rng.normal(0, 0.01, 20), common - 0.3])
    track = Track("items", (0.5,), (), (tau,))
    first, second, third = recommend_by_robustness([track], ["a", "b", "c"], 0.95)
    assert "a keeps the order best" in first
    assert first.endswith("not separated from it: b.")
    assert second.startswith("Least robust is c")
    assert third.startswith("a is weakest where whole items are missing at random")
    alone = recommend_by_robustness([Track("items", (0.5,), (), (tau[:1],))], ["a"], 0.95)
    assert not any("best" in said for said in alone[:1])
    gap = area([track], single(0, 3) - single(1, 3))
    z = abs(gap.value) / gap.se
    inside, beyond = (2 * NormalDist().cdf(z * k) - 1 for k in (0.99, 1.01))
    two = Track("items", (0.5,), (), (tau[:2],))
    assert areas_differ([two], 0, 1, 2, inside)
    assert not areas_differ([two], 0, 1, 2, beyond)
    assert not areas_differ([track], 0, 1, 3, inside), (
        "of three, each comparison has half the error"
    )


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"sizes": [0.5, 1.2]}, "Found 1.2"),
        ({"samples": 1}, "at least two samples"),
        ({"threads": -3, "samples": 2}, "threads must lie between 0 and 1024, not -3"),
        ({"reduction": ["rating"]}, "ratings"),
        ({"mean": "harmonic"}, "geometric"),
        ({"measure": ["P@10"], "rel": 4}, "in the label"),
        ({"measure": ["pnDCG@10"], "mean": "geometric"}, "no geometric mean"),
        ({"no_relevant": "error"}, "zero, skip"),
        ({"seed": -1}, "seed must lie between 0 and .*, not -1"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, says):
    truth, runs = world(users=10)
    with pytest.raises(UsageError, match=says):
        cr.assess_robustness(truth, runs, **wrong)


def test_one_system_has_no_order():
    truth, runs = world(users=10)
    with pytest.raises(UsageError, match="no order to lose"):
        cr.assess_robustness(truth, {"a": runs["a"]})


def test_per_unit_values_lose_users_as_judgments_and_runs_do(tmp_path):
    world = judged_world(users=80)
    wanted = {"measure": ["nDCG@10", "RR@10"], "samples": 3, "reduction": ["users"]}
    whole = cr.assess_robustness(world.judgments, world.runs, **wanted)
    values = cr.evaluate(world.judgments, world.runs, measure=["nDCG@10", "RR@10"], test="none")
    told = cr.assess_robustness(values, samples=3)
    values.by_unit().write_parquet(tmp_path / "units.parquet")
    saved = cr.assess_robustness(tmp_path / "units.parquet", samples=3)
    assert [vars(row) for row in told.estimates] == [vars(row) for row in saved.estimates]
    mine, theirs = told.to_frame("curves"), whole.to_frame("curves")
    assert mine["measure"].to_list() == theirs["measure"].to_list()
    assert mine["kendall"].to_list() == pytest.approx(theirs["kendall"].to_list(), abs=1e-12)
    assert mine.height == 2 * 20  # two measures, every size
    with pytest.raises(UsageError, match="items cannot go missing"):
        cr.assess_robustness(values, reduction=["items"])


def test_a_recommendation_has_an_interval_and_losses_that_are_not_drawn_recommend_nothing():
    """The most judged users or items are lost in one way only: what it does is no evidence."""
    fixed = Track(
        "large_users", (1.0, 0.5), (), (np.array([[1.0], [1.0]]), np.array([[0.9], [0.2]]))
    )
    assert not areas_differ([fixed], 0, 1, 2, 0.95)
    told = recommend_by_robustness([fixed], ["ERR@100", "P@100"], 0.95)
    assert told[0].startswith("The measures are not separated")
    assert "take" not in told[2]
    assert "without an interval" in told[2]
    world = judged_world(users=80)
    labels = ["nDCG@10", "RR@10"]
    found = cr.assess_robustness(world.judgments, world.runs, measure=labels, samples=5)
    assert {row.measure for row in found.estimates} == set(labels)  # and no mean nobody asked for
    for sentence in found.recommendation:
        if "is weakest" in sentence or "keeps the order best" in sentence:
            assert "[" in sentence or "without an interval" in sentence
