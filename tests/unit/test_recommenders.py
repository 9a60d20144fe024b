"""The recommenders of the studies against their formulas, written out one pair at a time."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
import scipy.sparse as sp

from counterrank.studies import recommenders as rec

USERS, ITEMS, K = 12, 9, 4


@pytest.fixture(scope="module")
def r():
    rng = np.random.default_rng(5)
    ratings = rng.integers(1, 6, (USERS, ITEMS)) * (rng.random((USERS, ITEMS)) < 0.5)
    ratings[0, 0] = 3  # everyone and everything is rated
    ratings[:, 1] = np.maximum(ratings[:, 1], 1)
    ratings[1] = np.maximum(ratings[1], 1)
    return ratings.astype(float)


@pytest.fixture(scope="module")
def near(r):
    length = np.sqrt((r**2).sum(axis=1))
    cosine = r @ r.T / np.outer(length, length)
    np.fill_diagonal(cosine, 0)
    return [np.argsort(-row)[:K].tolist() for row in cosine]


def cells():
    return [(u, i) for u in range(0, USERS, 3) for i in range(ITEMS)]


def test_feedback_weights(r, near):
    got = {
        f: rec.pseudo_feedback(sp.csr_matrix(r), f, K) for f in ("Rocchio", "RSV", "CHI2", "KLD")
    }
    for u, i in cells():
        v = near[u]
        mean, p, c = r[v, i].sum() / K, r[v, i].sum() / r[v].sum(), r[:, i].sum() / r.sum()
        want = {"Rocchio": mean, "RSV": mean * (p - c), "CHI2": (p - c) ** 2 / c,
                "KLD": p * log(p / c) if p else 0.0}  # fmt: skip
        for form, value in want.items():
            assert got[form][u, i] == pytest.approx(value if p else 0.0), form


def test_relevance_models(r, near):
    p = 0.7 * r / r.sum(axis=1, keepdims=True) + 0.3 * r.sum(axis=0) / r.sum()
    one = rec.relevance_model_1(sp.csr_matrix(r), K, 0.3)
    two = rec.relevance_model_2(sp.csr_matrix(r), K, 0.3)
    for u, i in cells():
        rated = np.flatnonzero(r[u])
        query = {v: np.prod(p[v, rated]) for v in near[u]}
        want = sum(p[v, i] * query[v] for v in near[u]) / sum(query.values())
        assert one[u, i] == pytest.approx(want)
        want = sum(log(sum(p[v, i] * p[v, j] for v in near[u])) for j in rated)
        assert two[u, i] == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("by", ["user", "item"])
def test_neighbours_by_language_models(r, by):
    x = r if by == "user" else r.T
    share, ratio = x.sum(axis=0) / x.sum(), x / x.sum(axis=1, keepdims=True)
    got = rec.likely_neighbours(sp.csr_matrix(r), by, K, 0.4)
    for u, i in cells():
        own = u if by == "user" else i
        similar = [(x[own] * np.log(1 + 0.6 / 0.4 * ratio[v] / share)).sum() * (v != own)
                   for v in range(len(x))]  # fmt: skip
        best = np.argsort(-np.array(similar))[:K]
        other = r[:, i] if by == "user" else r[u]
        assert got[u, i] == pytest.approx(sum(similar[v] * other[v] for v in best))


@pytest.mark.parametrize("by", ["user", "item"])
def test_neighbours_by_cosine_around_biases(r, by):
    rated, base = r > 0, rec.biases(sp.csr_matrix(r))
    mean = r[rated].mean()
    item = [
        (r[rated[:, i], i] - mean).sum() / (rated[:, i].sum() + rec.DAMPING) for i in range(ITEMS)
    ]
    user = np.where(rated, r - mean - np.array(item), 0).sum(axis=1)
    user /= rated.sum(axis=1) + rec.DAMPING
    assert base == pytest.approx(mean + np.add.outer(user, item))
    got = rec.cosine_neighbours(sp.csr_matrix(r), by, K, 2.0)
    x = r if by == "user" else r.T
    for u, i in cells():
        own = u if by == "user" else i
        n = [((x[own] > 0) & (row > 0)).sum() for row in x]
        similar = np.array([c / (c + 2) * (x[own] @ row) / np.sqrt((x[own] @ x[own]) * (row @ row))
                            for c, row in zip(n, x, strict=True)])  # fmt: skip
        similar[own] = 0
        apart = np.where(rated, r - base, 0)
        other = apart[:, i] if by == "user" else apart[u]
        want = base[u, i] + sum(similar[v] * other[v] for v in np.argsort(-similar)[:K])
        assert got[u, i] == pytest.approx(want)


def test_slim_cannot_be_improved_by_any_weight(r):
    """The slope is 0 where a weight is positive, and not below 0 elsewhere."""
    x, l1, l2 = np.vstack([r > 0, np.eye(ITEMS)]), 0.3, 1.0
    scores = rec.sparse_linear(sp.csr_matrix(x), ITEMS - 1, l1, l2, rounds=500)
    weight, free = scores[-ITEMS:], ~np.eye(ITEMS, dtype=bool)  # who has one item shows its weights
    slope = x.T @ (x @ weight - x) + l2 * weight + l1
    assert weight.min() >= 0
    assert (weight > 0).any()
    assert not np.diag(weight).any()
    assert np.abs(slope[free & (weight > 0)]).max() < 1e-6
    assert slope[free].min() > -1e-6


def test_hitting_times_solve_their_equations(r):
    got, total = rec.hitting_time(sp.csr_matrix(r), 3000), USERS + ITEMS
    graph = np.block([[np.zeros((USERS, USERS)), r], [r.T, np.zeros((ITEMS, ITEMS))]])
    step = graph / graph.sum(axis=1, keepdims=True)
    for u in range(USERS):
        rest = [x for x in range(total) if x != u]
        time = np.linalg.solve(np.eye(total - 1) - step[np.ix_(rest, rest)], np.ones(total - 1))
        assert -got[u] == pytest.approx(time[-ITEMS:], rel=1e-3)


def test_topics_climb_the_likelihood(r):
    def likelihood(rounds):
        p = rec.likely_topics(sp.csr_matrix(r), 2, rounds)
        assert p.sum(axis=1) == pytest.approx(np.ones(USERS))
        return float((r[r > 0] * np.log(p[r > 0])).sum())

    steps = [likelihood(rounds) for rounds in (1, 2, 5, 20, 100)]
    assert steps == sorted(steps)
    assert steps[-1] > steps[0] + 1


def test_likely_items_is_a_product_over_what_the_user_has(r):
    x, got = r > 0, rec.likely_items(sp.csr_matrix(r), 2.5)
    for u, i in cells():
        want = log(x[:, i].sum())
        for j in np.flatnonzero(x[u]):
            both = (x[:, i] & x[:, j]).sum()
            want += log((both + 2.5 * x[:, j].mean()) / (x[:, i].sum() + 2.5))
        assert got[u, i] == pytest.approx(want)


def test_pure_svd_is_the_best_matrix_of_its_rank(r):
    left, values, right = np.linalg.svd(r)
    want = (left[:, :3] * values[:3]) @ right[:3]
    assert rec.pure_svd(sp.csr_matrix(r), 3) == pytest.approx(want)


def test_all_families_of_the_paper_beat_chance_where_there_are_two_tastes():
    rng, group = np.random.default_rng(0), np.arange(80) % 2
    likes = np.where(group[:, None] == np.arange(60) % 2, 0.5, 0.05)
    r = sp.csr_matrix(rng.integers(3, 6, likes.shape) * (rng.random(likes.shape) < likes) * 1.0)
    unseen, right = r.toarray() == 0, likes > 0.1  # about a third of what is unseen
    assert len(rec.FAMILIES) == 21
    for name, family in rec.FAMILIES.items():
        setting = {
            k: min(v, 10) if k in ("k", "size") else v for k, v in family.settings[0].items()
        }
        scores = np.where(unseen, family.scores(r, **setting), -np.inf)
        first = np.argsort(-scores, axis=1)[:, :10]
        share = np.take_along_axis(right, first, axis=1).mean()
        by_stars = name == "SVD" or name.startswith("NNCosNgr")  # and these say nothing here
        assert share > 0.55 or by_stars or name in ("Random", "Popularity"), (name, share)
