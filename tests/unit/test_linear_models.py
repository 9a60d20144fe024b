"""EASE and KUNN against their formulas, written out, and against reference values where present."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.studies.linear_models import Ease, Kunn, best_items, interaction_matrix


@pytest.fixture(scope="module")
def x():
    rng = np.random.default_rng(3)
    user, item = np.divmod(np.sort(rng.choice(60 * 40, 500, replace=False)), 40)
    return interaction_matrix(user, item, (60, 40))


@pytest.mark.parametrize("l2", [1.0, 50.0])
def test_ease_is_ridge_regression_of_each_item_on_the_others(x, l2):
    dense, got = x.toarray().astype(float), Ease(x).scores(l2)
    for j in range(0, 40, 7):
        others = np.delete(dense, j, axis=1)
        weight = np.linalg.solve(others.T @ others + l2 * np.eye(39), others.T @ dense[:, j])
        new = dense[:, j] == 0
        assert got[new, j] == pytest.approx((others @ weight)[new], abs=1e-5)


def test_kunn_is_its_sum_over_neighbours(x):
    r, model = x.toarray().astype(float), Kunn(x)
    cu, ci = r.sum(1), r.sum(0)
    got = model.user_part(5) + model.item_part(4)

    def sim(a, own, other):
        scaled = a / np.sqrt(own)[:, None]
        s = np.array([[(x * y / np.sqrt(other)).sum() for y in scaled] for x in scaled])
        np.fill_diagonal(s, 0)
        return s

    users, items = sim(r, cu, ci), sim(r.T, ci, cu)
    for u in range(0, 60, 11):
        for i in range(0, 40, 9):
            near, like = np.argsort(-users[u])[:5], np.argsort(-items[i])[:4]
            if (
                users[u][near[-1]] == np.sort(users[u])[-6]
                or items[i][like[-1]] == np.sort(items[i])[-5]
            ):
                continue  # a tie decides who is near
            want = sum(users[u, v] * r[v, i] for v in near) / np.sqrt(ci[i])
            want += sum(items[i, j] * r[u, j] for j in like) / np.sqrt(cu[u])
            assert got[u, i] == pytest.approx(want, rel=1e-5)


def test_lists_are_the_best_that_were_not_seen(x):
    scores = np.random.default_rng(0).random(x.shape).astype(np.float32)
    scores[:, 5] = 0
    table = best_items(scores, x, np.arange(60), 10)
    for (user,), own in table.partition_by("user", as_dict=True).items():
        free = [i for i in range(40) if x[user, i] == 0 and i != 5]
        assert own["item"].to_list() == sorted(free, key=lambda i: -scores[user, i])[:10]


GOLDEN = "linear_models"


def test_reference_values(golden):
    folder = golden / GOLDEN
    parts = [pl.read_csv(folder / f"{name}.tsv", separator="\t") for name in ("train", "test")]
    train, test = parts
    x = interaction_matrix(train["user"].to_numpy(), train["item"].to_numpy(), (200, 120))
    users, measures = test["user"].unique().sort().to_numpy(), [5, 10, 50]
    labels = [f"{m}@{k}" for k in measures for m in ("DCG", "nDCG")]
    for model, parameters, *expected in pl.read_csv(
        folder / "expected.tsv", separator="\t"
    ).iter_rows():
        values = dict(part.split("=") for part in parameters.replace(" ", "").split(","))
        if model == "EASE":
            scores = Ease(x).scores(float(values["l2"]))
        else:
            scores = Kunn(x).user_part(int(values["Ku"])) + Kunn(x).item_part(int(values["Ki"]))
        run = best_items(scores, x, users, 120)
        judged = test.with_columns(rating=1)
        found = cr.evaluate(judged, {"run": run}, measure=labels, test="none")
        got = [row.value for row in found.estimates]
        assert got == pytest.approx(expected, abs=2e-7), (model, parameters)
