"""The studies' folds, candidates and recommenders are what they say."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

sys.path.append(str(Path(__file__).resolve().parents[2] / "studies"))

from movielens import CUT, folds, lists
from recommenders import RECOMMENDERS, ease, item_neighbours, random_walk

OWN = ("random", "popularity", "item-knn-10", "user-knn-10", "ease-100", "svd-5", "walk")


@pytest.fixture(scope="module")
def ratings() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    user, item = np.divmod(rng.choice(80 * 300, 3000, replace=False), 300)
    return pl.DataFrame({"user": user + 1, "item": item + 1, "rating": rng.integers(1, 6, 3000)})


def test_every_rating_is_tested_once(ratings):
    parts = list(folds(ratings))
    assert (
        pl.concat([test for _, test in parts])
        .sort("user", "item")
        .equals(ratings.sort("user", "item"))
    )
    assert all(train.join(test, on=["user", "item"]).is_empty() for train, test in parts)


def test_lists_hold_candidates_only(ratings, monkeypatch):
    for name in set(RECOMMENDERS) - set(OWN):
        monkeypatch.delitem(RECOMMENDERS, name)
    train, test = next(folds(ratings))
    found = dict(lists(train, test))
    assert set(found) == set(OWN)
    for table in found.values():
        assert table.select("user", "item").is_duplicated().sum() == 0
        assert table.join(train.cast(pl.Int32), on=["user", "item"]).is_empty()
        assert set(table["item"]) <= set(test["item"])
        assert table["rank"].max() <= CUT
        assert set(table["user"]) == set(test["user"])


def test_ease_is_ridge_regression_without_the_item_itself():
    x = (np.random.default_rng(1).random((40, 6)) < 0.4).astype(float)
    found = ease(sp.csr_matrix(x), l2=3.0)
    for j in range(6):
        rest = np.delete(x, j, axis=1)
        weight = np.linalg.solve(rest.T @ rest + 3 * np.eye(5), rest.T @ x[:, j])
        assert found[:, j] == pytest.approx(rest @ weight)


def test_a_walk_of_three_steps_by_hand():
    x = np.array([[1, 1, 0], [0, 1, 1]])
    found = random_walk(sp.csr_matrix(x), alpha=1.0, beta=0.0)
    step, back = x / x.sum(axis=1, keepdims=True), x.T / x.sum(axis=0)[:, None]
    assert found == pytest.approx(step @ back @ step)


def test_neighbours_are_the_nearest():
    x = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1]])
    found = item_neighbours(sp.csr_matrix(x), k=1, values="binary")
    near = 1 / np.sqrt(2)  # items 0 and 1 are alike; 2 and 3 are nearest to each other
    assert found == pytest.approx(np.array([[1, 1, 0, 0], [1, 1, 0, near], [0, 0, near, near]]))
