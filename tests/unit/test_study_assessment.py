"""The assessment of measures: folds, lists, what explains differences, a very small run."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau, norm

import counterrank as cr
from counterrank.report.figures.assess_charts import robustness
from counterrank.studies import assessment_findings as told
from counterrank.studies import metric_assessment as study
from counterrank.studies.study import Context


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(2)
    taste = rng.random((50, 3)) @ rng.random((3, 150))
    user, item = np.nonzero(rng.random(taste.shape) < taste / 3)
    stars = np.clip(np.round(1 + 2.5 * taste[user, item] + rng.normal(0, 1, len(user))), 1, 5)
    return pl.DataFrame({"user": user + 7, "item": item, "rating": stars.astype(int)})


def test_every_rating_is_tested_once_and_learned_from_elsewhere(ratings):
    folds = list(study.split_folds(ratings, 5, 0))
    assert sum(len(fold.test) for fold in folds) == len(ratings)
    for fold in folds:
        held = fold.train[fold.test["user"].to_numpy(), fold.test["item"].to_numpy()]
        assert not np.asarray(held).any()
        assert fold.train.sum() + fold.test["rating"].sum() == ratings["rating"].sum()


def test_judged_items_alone_are_worth_what_the_whole_list_is(ratings):
    fold = next(study.split_folds(ratings, 2, 0))
    scores = np.random.default_rng(0).random(fold.train.shape)
    scores[0] = 0  # a user without a list
    asked = {"measure": [study.label_of(name) for name in study.NINE], "test": "none"}
    found = cr.evaluate(fold.test, {"m": pl.DataFrame(fold.lists(scores))}, **asked)
    tested, whole = set(fold.test["item"]), []
    for u in set(fold.test["user"]) - {0}:
        best = [i for i in np.argsort(-scores[u]) if i in tested and not fold.train[u, i]][:100]
        whole += [{"user": u, "item": int(i), "rank": rank} for rank, i in enumerate(best, 1)]
    want = cr.evaluate(fold.test, {"m": pl.DataFrame(whole)}, **asked)
    assert [r.value for r in found.estimates] == pytest.approx([r.value for r in want.estimates])


def test_more_users_make_smaller_p():
    p = [0.9, 0.3, 1e-5]
    want = sum(2 * norm.sf(norm.isf(x / 2) * 2) for x in p)
    assert told.at_size({"curves": {"P": p}}, 4)["P"] == pytest.approx(want)
    assert told.at_size({"curves": {"P": p}}, 1)["P"] == pytest.approx(sum(p))


def test_zeros_taken_for_one_turn_an_order():
    """Two users each: a finds nothing for one of them, and by the slip that is the best of all."""
    judged = pl.DataFrame({"user": [1, 2], "item": [1, 1], "rating": 5, "fold": 0})
    ranks = {"a": {1: 1}, "b": {1: 2, 2: 2}, "c": {1: 3, 2: 3}}
    runs = {
        name: pl.DataFrame({"user": list(own), "item": 1, "rank": list(own.values()), "fold": 0})
        for name, own in ranks.items()
    }
    found = study.find_power(judged, runs, 50, 0)
    plain, geometric, slip = [1 / 2, 1 / 2, 1 / 3], [1e-5**0.5, 1 / 2, 1 / 3], [1, 1 / 2, 1 / 3]
    want = [kendalltau(plain, other).statistic for other in (geometric, slip)]
    assert found["twins"]["RR"] == pytest.approx(want)


def test_a_small_run_has_every_table_figure_and_claim(ratings, monkeypatch):
    some = ("Random", "Popularity", "Rocchio", "SLIM", "PLSA", "UIR-Item")
    chosen = {name: study.FAMILIES[name] for name in some}
    monkeypatch.setattr(study, "FAMILIES", chosen)
    sets = {"movielens-100k": ratings, "movielens-1m": ratings.drop("rating")}
    found = study.metric_assessment(Context(quick=True, loaded=sets))
    two, three, twins, areas, settings = found.tables
    assert [row[0] for row in two.rows] == [*told.TABLE2, "movielens-100k"]
    assert [cell.ours for cell in two.rows[-1][1:4]] == ["50", "150", f"{len(ratings):,}"]
    assert [row[1].paper for row in three.rows] == list(told.TABLE3["movielens-1m"])
    assert all(row[1].ours > 0 and row[2] > 0 and row[3] < row[1].ours for row in three.rows)
    assert [row[1].paper for row in twins.rows if row[1].paper] == ["0.42", "0.92"]
    assert len(areas.rows) == 18
    assert all(-1 <= x <= 1 for row in areas.rows for x in row[1:])
    assert len(settings.rows) == len(some)
    assert [f.name for f in found.figures] == [f"fig{n}" for n in range(1, 15)]
    assert all(figure.rows for figure in found.figures)
    assert len(found.differences) == 5
    assert len(found.claims) == 16
    assert not told.Assessment("movielens-100k", {}, {}, {}, {}, 0, 0).original


def test_stars_of_the_original_are_taken_where_they_are(ratings, monkeypatch):
    sets = {"movielens-100k": ratings.head(0), "movielens-1m": ratings}
    monkeypatch.setattr(study, "FAMILIES", {"Popularity": study.FAMILIES["Popularity"]})
    seen = []
    monkeypatch.setattr(study, "pooled_tables", lambda context, folds: seen.extend(folds) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        study.metric_assessment(Context(loaded=sets))
    assert sum(len(fold.test) for fold in seen) == len(ratings)


def test_settings_are_chosen_by_what_was_held_back(ratings, monkeypatch):
    best = lambda r, good: np.tile(np.asarray(r.sum(axis=0)) * (1 if good else -1), (r.shape[0], 1))  # noqa: E731
    family = study.FAMILIES["Popularity"].__class__(best, [{"good": 0}, {"good": 1}, {"good": 0}])
    monkeypatch.setattr(study, "FAMILIES", {"x": family})
    assert study.choose_setting(next(study.split_folds(ratings, 5, 0)), "x", 0) == 1


def test_the_page_of_robustness_draws_absolute_values():
    """Fig. 4 of the paper: mean of all systems by the share kept."""
    own = {"reduction": "ratings", "measure": "P@5", "size": [1, 0.5]}
    values = [
        {**own, "system": "a", "value": [0.4, 0.2]},
        {**own, "system": "b", "value": [0.2, 0]},
    ]
    curve = {"reduction": "ratings", "measure": "P@5", "size": 1.0, "kendall": 1.0}
    *_, last = robustness({"curves": [curve], "values": values})
    assert [(row["size"], row["value"]) for row in last.rows] == [
        (1, pytest.approx(0.3)), (0.5, pytest.approx(0.1)),
    ]  # fmt: skip


def test_the_number_of_users_explains_no_difference_the_other_way():
    """nDCG falls toward the paper's 1.044 with more users, F1 away from its 6.316."""
    p = {name: [0.9, 0.6, 0.2, 0.1, 0.1, 0.1] for name in told.NINE}
    rows = {n: {"value": 2.0, "low": 1.9, "high": 2.1, "by_user": 2.5} for n in told.NINE}
    power = {"curves": p, "rows": rows}
    found = told._differences(told.Assessment("movielens-100k", {}, power, {}, {}, 0.1, 943))
    why = {d.where.split(", ")[1]: d.because for d in found}
    assert "farther off, so it is not that. Five pairs" in why["F1"]
    assert "95% of the sum" in why["F1"]
    again = told._differences(told.Assessment("movielens-1m", {}, power, {}, {}, 0.1, 6040))
    assert {d.because.split(";")[0] for d in again} == {
        "Settings of the 21 recommenders are not published"
    }


def test_two_measures_alike_lie_apart_by_both_ways_of_counting_or_it_cannot_be_told():
    names = ("a", "b", "c", "d")
    alike = {("a", "b"): 1.0, ("a", "c"): 0.5, ("a", "d"): 0.5, ("b", "c"): 0.5, ("b", "d"): 0.5,
             ("c", "d"): 0.6}  # fmt: skip
    taus = alike | {(y, x): tau for (x, y), tau in alike.items()}
    found = told.Assessment("movielens-100k", {}, {}, taus, {}, 0.1, 943)
    ways = [found.apart(names), found.apart(names, ("a", "b"))]
    assert ways == [{"c": pytest.approx(1.6 / 3), "d": pytest.approx(1.6 / 3)},
                    {"a": 0.5, "b": 0.5}]  # fmt: skip
    assert told._both_ways(ways, ("a", "b")) == "cannot be told here"
    assert told._both_ways(ways[1:] * 2, ("b", "a")) == "holds"
    assert told._both_ways(ways[1:] * 2, ("c", "d")) == "does not hold"


def test_the_lowest_dp_must_be_surely_so():
    rows = {"nDCG": {"low": 1, "high": 2}, "P": {"low": 3, "high": 4}, "RR": {"low": 5, "high": 9}}
    assert told._lowest(rows) == "holds"
    assert told._lowest(rows, "P") == "does not hold"
    assert told._lowest(rows | {"P": {"low": 1.5, "high": 4}}) == "cannot be told here"
