"""Models of clicks and conversions: their formulas, what they recover, what they never see."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import pytest

from clicked_world import World, sigmoid, world
from counterrank.core.errors import InputError, UsageError
from counterrank.nuisance import factors as factor_model
from counterrank.nuisance.base import Features, Folds, Task
from counterrank.nuisance.cross_fit import Nuisance, Pairs, cross_fit, pair_model, training
from counterrank.nuisance.factors import _Loss
from counterrank.nuisance.rates import PairRows, effects, grid_outside_fold, penalties
from counterrank.stats.shrinkage import shrink_means

LABELS = (
    "rates", "rates(by=item)", "rates(by=user)", "rates(weight=ctr)", "logistic",
    "logistic(terms=crossed,weight=ctr)", "factors(d=2)", "factors(d=2,sample=1000,weight=ctr)",
)  # fmt: skip


def fit(pairs: Pairs, place: World, label: str, **how) -> Nuisance:
    """Both models by one label; what is for conversions alone is taken off the clicks'."""
    return cross_fit(
        pairs, ctr=replace(pair_model(label), weight="none"), cvr=label,
        user_features=place.user_features, item_features=place.item_features, **how,
    )  # fmt: skip


def everywhere(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    user, item = np.divmod(np.arange(pairs.users * pairs.items), pairs.items)
    return user, item


# formulas


def plain_shrunken(c, n, noise):
    k, total = len(c), sum(n)
    average = sum(c) / total
    spread = sum(m * (x / m - average) ** 2 for x, m in zip(c, n, strict=True)) - (k - 1) * noise
    tau2 = spread / (total - sum(m**2 for m in n) / total)
    if tau2 <= 0:
        return [average] * k
    return [(x + noise / tau2 * average) / (m + noise / tau2) for x, m in zip(c, n, strict=True)]


def test_item_rates_are_the_shrunken_rates_of_the_other_folds():
    place = world(40, 9, kind="items")
    pairs = place.drawn(3)
    n = fit(pairs, place, "rates(by=item)", folds=4, seed=5)
    group, _ = Folds.deal(40, 9, by="user", folds=4, seed=5).known()
    clicked = set(zip(pairs.user.tolist(), pairs.item.tolist(), strict=True))
    for fold in range(4):
        others = [u for u in range(40) if group[u] != fold]
        c = [sum((u, i) in clicked for u in others) for i in range(9)]
        share = sum(c) / (9 * len(others))
        expected = plain_shrunken(c, [len(others)] * 9, share * (1 - share))
        user = int(np.flatnonzero(group == fold)[0])
        assert n.ctr(np.full(9, user), np.arange(9)) == pytest.approx(expected, rel=1e-12)


def test_groups_without_trials_have_the_mean_and_equal_groups_are_not_told_apart():
    out = shrink_means(np.array([3.0, 9.0, 0.0]), np.array([10.0, 10.0, 0.0]), 0.24)
    assert out[2] == pytest.approx(0.6)
    assert np.all(shrink_means(np.array([5.0, 5.0]), np.array([10.0, 10.0]), 0.25) == 0.5)


@pytest.mark.parametrize("link", ["logit", "identity"])
def test_effects_solve_the_penalised_equations(link):
    random = np.random.default_rng(0)
    user, item = np.nonzero(random.random((30, 12)) < 0.6)
    score = random.normal(0, 1, 30)[user] + random.normal(0, 1, 12)[item]
    y = random.random(len(user)) < sigmoid(score) if link == "logit" else score + 1
    rows = PairRows(user, item, y.astype(float), random.uniform(0.5, 2, len(user)), 30, 12)
    penalty = penalties(rows, 0.2, link)
    mu, a, b = effects(rows, 0.2, link)
    by_user, by_item = [0.0] * 30, [0.0] * 12
    for u, i, value, w in zip(user, item, rows.y, rows.weight, strict=True):
        eta = mu + a[u] + b[i]
        residual = w * (value - (1 / (1 + exp(-eta)) if link == "logit" else eta))
        by_user[u] += residual
        by_item[i] += residual
    assert by_user == pytest.approx(penalty[0] * a, abs=1e-3)
    assert by_item == pytest.approx(penalty[1] * b, abs=1e-3)
    assert sum(by_user) == pytest.approx(0, abs=1e-3)
    assert min(penalty) > 0
    assert max(penalty) < 100


@pytest.mark.parametrize("by", ["pair", "user"])
def test_classes_of_the_grid_say_the_same_as_all_pairs_laid_out(by, monkeypatch):
    pairs = world(50, 20).drawn(1)
    folds = Folds.deal(50, 20, by=by, folds=3, seed=0)
    train = folds.of(pairs.user, pairs.item) != 1
    classes, user_class, item_class = grid_outside_fold(
        pairs.user[train], pairs.item[train], folds, 1
    )
    task = Task(
        pairs.user[train], pairs.item[train], np.ones(int(train.sum())),
        np.ones(int(train.sum())), folds, 1, True, "logit", Features(), 0,
    )  # fmt: skip
    user, item, y, w = task.examples(1000)
    assert task.pairs == len(user) == np.sum(folds.of(*everywhere(pairs)) != 1)
    laid = effects(PairRows(user, item, y, w, 50, 20), task.noise, "logit")
    found = effects(classes, task.noise, "logit")
    assert found[0] == pytest.approx(laid[0], abs=1e-5)
    seen = np.isin(np.arange(50), user)  # users of the fold have no pair to learn from
    assert found[1][user_class][seen] == pytest.approx(laid[1][seen], abs=1e-5)
    assert found[2][item_class] == pytest.approx(laid[2], abs=1e-5)
    monkeypatch.setattr("counterrank.nuisance.rates.CELLS", 1)  # counts below 65 stay exact
    again, _, _ = grid_outside_fold(pairs.user[train], pairs.item[train], folds, 1)
    assert all(np.array_equal(x, z) for x, z in zip(again.observed, classes.observed, strict=True))


def test_rounded_counts_change_little(monkeypatch):
    pairs = world(600, 80).drawn(1)
    exact = cross_fit(pairs).ctr(*everywhere(pairs))
    monkeypatch.setattr("counterrank.nuisance.rates.CELLS", 1)
    monkeypatch.setattr("counterrank.nuisance.rates.EXACT", 20)
    rough = cross_fit(pairs).ctr(*everywhere(pairs))
    off = np.abs(rough / exact - 1)
    assert 0 < off.max() < 0.03


@pytest.mark.parametrize("grid", [0, 4], ids=["rows", "table"])
def test_the_gradient_of_factors_is_that_of_their_loss(grid: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(factor_model, "GRID", grid)
    random = np.random.default_rng(0)
    user, item = np.nonzero(random.random((7, 5)) < 0.7)
    y, w = (random.random(len(user)) < 0.4).astype(float), random.uniform(0.5, 2, len(user))
    order = random.permutation(len(user))
    rows = PairRows(user[order], item[order], y, w, 7, 5)
    x, ridge = random.normal(0, 1, 1 + 12 * 4), random.uniform(0, 2, 1 + 12 * 4)
    loss = _Loss(rows, ridge, (7, 5, 3))
    a, b = x[1:8], x[8:13]
    p, q = x[13:34].reshape(7, 3), x[34:].reshape(5, 3)
    plain = float(ridge @ x**2) / 2
    for u, i, value, weight in zip(rows.user, rows.item, y, w, strict=True):
        eta = x[0] + a[u] + b[i] + sum(p[u, j] * q[i, j] for j in range(3))
        plain += weight * log(1 + exp(-(2 * value - 1) * eta))
    assert loss(x)[0] == pytest.approx(plain, rel=1e-12)
    for place in range(len(x)):
        step = np.zeros(len(x))
        step[place] = 1e-6
        slope = (loss(x + step)[0] - loss(x - step)[0]) / 2e-6
        assert loss(x)[1][place] == pytest.approx(slope, abs=1e-5)


def test_no_factors_are_rates():
    place = world(100, 30)
    pairs = place.drawn(0)
    rates, factors = fit(pairs, place, "rates"), fit(pairs, place, "factors(d=0)")
    assert factors.ctr(*everywhere(pairs)) == pytest.approx(rates.ctr(*everywhere(pairs)), rel=1e-3)
    assert factors.cvr(*everywhere(pairs)) == pytest.approx(rates.cvr(*everywhere(pairs)), rel=1e-3)


# what they never see


@pytest.mark.parametrize("kind", ["all", "rows"])
@pytest.mark.parametrize("label", LABELS)
def test_a_pair_never_enters_its_own_prediction(label, kind):
    place = world(60, 25)
    pairs = place.drawn(2, pairs=kind)
    before = fit(pairs, place, label)
    user, item = everywhere(pairs)
    for row in np.flatnonzero(pairs.click)[[0, 7, -1] if "rates" in label else [7]]:
        own = pairs.user[row : row + 1], pairs.item[row : row + 1]
        bought = pairs.conversion.copy()
        bought[row] = 1 - bought[row]
        after = fit(replace(pairs, conversion=bought), place, label)
        assert np.array_equal(after.cvr(*own), before.cvr(*own))
        assert not np.array_equal(after.cvr(user, item), before.cvr(user, item))
        click = pairs.click.copy()
        click[row] = False
        after = fit(replace(pairs, click=click, conversion=bought * click), place, label)
        assert np.array_equal(after.ctr(*own), before.ctr(*own))
        assert np.array_equal(after.cvr(*own), before.cvr(*own))
        assert not np.array_equal(after.ctr(user, item), before.ctr(user, item))


@pytest.mark.parametrize("label", ["rates(by=item)", "logistic"])
def test_models_that_do_not_know_users_never_see_a_user_they_predict(label):
    place = world(60, 25)
    pairs = place.drawn(2)
    before = fit(pairs, place, label)
    someone = int(pairs.user[0])
    click = pairs.click & (pairs.user != someone)
    after = fit(replace(pairs, click=click, conversion=pairs.conversion * click), place, label)
    own = np.full(25, someone), np.arange(25)
    assert np.array_equal(after.ctr(*own), before.ctr(*own))
    assert np.array_equal(after.cvr(*own), before.cvr(*own))
    assert before.description["cross-fitting"].startswith("by user")
    assert fit(pairs, place, "rates").description["cross-fitting"].startswith("by pair")


@pytest.mark.parametrize("label", ["rates", "factors(d=2)"])
def test_the_order_of_rows_changes_nothing_and_the_seed_does(label):
    place = world(60, 20)
    pairs = place.drawn(2)
    order = np.random.default_rng(0).permutation(len(pairs.user))
    shuffled = training(
        pairs.user[order], pairs.item[order], pairs.click[order].astype(float),
        pairs.conversion[order], users=60, items=20,
    )  # fmt: skip
    one, two = fit(pairs, place, label), fit(shuffled, place, label)
    assert np.array_equal(one.ctr(*everywhere(pairs)), two.ctr(*everywhere(pairs)))
    assert np.array_equal(one.cvr(*everywhere(pairs)), two.cvr(*everywhere(pairs)))
    other = fit(pairs, place, label, seed=1)
    assert not np.array_equal(one.ctr(*everywhere(pairs)), other.ctr(*everywhere(pairs)))


# what they recover


def test_item_rates_err_by_no_more_than_their_sampling_error():
    """Squared errors over their binomial variance average 1 at most; chi-square bounds."""
    place = world(2000, 300, kind="items")
    pairs = place.drawn(0)
    n = fit(pairs, place, "rates(by=item)")
    truth = place.ctr[0]
    scaled = (n.ctr(np.zeros(300, int), np.arange(300)) - truth) ** 2 * 1600
    scaled /= truth * (1 - truth)
    assert 0.7 < scaled.mean() < 1 + 4 * sqrt(2 / 300)


def test_added_effects_err_by_no_more_than_their_sampling_error():
    """The same on the logit, where the variance of an effect is 1 over its information."""
    place = world(1000, 300)
    pairs = place.drawn(0)
    user, item = everywhere(pairs)
    error = np.log(fit(pairs, place, "rates").ctr(user, item))
    error -= np.log1p(-np.exp(error)) + np.log(place.ctr.ravel() / (1 - place.ctr.ravel()))
    information = 0.8 * place.ctr * (1 - place.ctr)
    variance = 1 / information.sum(axis=1)[:, None] + 1 / information.sum(axis=0)[None, :]
    assert 0.5 < np.mean(error**2 / variance.ravel()) < 1 + 4 * sqrt(2 / 300)


def deviance(p, truth):
    return -np.mean(truth * np.log(p) + (1 - truth) * np.log1p(-p))


def test_the_model_that_is_right_predicts_best():
    for kind, best in (("features", "logistic"), ("factors", "factors(d=2)")):
        place = world(400, 60, kind=kind)
        pairs = place.drawn(0)
        user, item = everywhere(pairs)
        loss = {
            label: deviance(fit(pairs, place, label).ctr(user, item), place.ctr.ravel())
            for label in ("rates(by=item)", "rates", best)
        }
        least = deviance(place.ctr.ravel(), place.ctr.ravel())
        assert least < loss[best] < loss["rates"] < loss["rates(by=item)"], (kind, loss)
        assert loss[best] - least < 0.5 * (loss["rates"] - least)


def test_weights_make_the_conversion_model_serve_all_pairs():
    """Half of the users buy what they click and hardly click; one rate must be right for all."""
    random = np.random.default_rng(0)
    keen = np.arange(2000) < 1000
    ctr = np.where(keen, 0.05, 0.4)[:, None] * np.ones(20)
    z = random.random(ctr.shape) < ctr
    u, i = np.nonzero(z)
    y = (random.random(len(u)) < np.where(keen, 0.8, 0.2)[u]).astype(float)
    pairs = training(u, i, np.ones(len(u)), y, users=2000, items=20)
    features = keen[:, None].astype(float)
    for label, expected in (("rates(by=item)", 0.2667), ("rates(by=item,weight=ctr)", 0.5)):
        n = cross_fit(pairs, ctr="logistic", cvr=label, user_features=features)
        error = sqrt(0.25 / len(u)) if "weight" not in label else sqrt(0.2 / (0.05 * 20000)) / 2
        assert n.cvr(*everywhere(pairs)).mean() == pytest.approx(expected, abs=4 * error)


def test_a_sample_of_the_unclicked_pairs_stands_for_all_of_them():
    place = world(500, 80, kind="features")
    pairs = place.drawn(0)
    whole = fit(pairs, place, "logistic").ctr(*everywhere(pairs))
    part = fit(pairs, place, "logistic(sample=10000)").ctr(*everywhere(pairs))
    assert not np.array_equal(part, whole)
    error = sqrt(1 / 8000 * 1 / (1 - pairs.click.sum() / 40000))  # of the sampled weights' sum
    assert part.mean() == pytest.approx(whole.mean(), rel=4 * error)
    assert np.corrcoef(part, whole)[0, 1] > 0.98


# the edges


def test_unknown_users_and_items_get_the_mean():
    place = world(200, 40)
    pairs = place.drawn(0)
    nobody, someone = np.array([-1, -1, 3]), np.array([5, -1, -1])
    for label in ("rates", "rates(by=item)", "logistic", "factors(d=2)"):
        n = fit(pairs, place, label)
        mean = n.ctr(nobody, someone)[1]
        assert 0.5 * place.ctr.mean() < mean < 1.2 * place.ctr.mean()
        assert np.isfinite(n.cvr(nobody, someone)).all()


def test_spending_is_modelled_by_rates_alone():
    place = world(300, 30)
    pairs = place.drawn(0)
    spent = pairs.conversion * (5 + pairs.item)
    paid = replace(pairs, conversion=spent)
    for label in ("rates", "rates(by=item)"):
        h = fit(paid, place, label).cvr(pairs.user, pairs.item)
        error = spent.std() / sqrt(len(spent))
        assert h.mean() == pytest.approx(spent.mean(), abs=error)
        assert np.corrcoef(h, place.cvr[pairs.user, pairs.item] * (5 + pairs.item))[0, 1] > 0.6
    for label in ("logistic", "factors"):
        with pytest.raises(UsageError, match="takes conversions of 0 and 1"):
            fit(paid, place, label)


def test_few_clicks_leave_probabilities_within_bounds():
    u, i = np.array([0, 1]), np.array([0, 0])
    pairs = training(u, i, np.ones(2), np.zeros(2), users=6, items=3)
    for label in ("rates", "rates(by=item)", "factors(d=1)"):
        n = cross_fit(pairs, ctr=label, cvr=label, folds=3)
        p, h = n.ctr(*everywhere(pairs)), n.cvr(*everywhere(pairs))
        assert ((p > 0) & (p < 1) & (h > 0) & (h < 1)).all(), label


def test_labels_say_all_options_and_are_read_back():
    for label in LABELS:
        assert str(pair_model(label)) == label
    assert str(pair_model("FACTORS(d=10)")) == "factors"
    for wrong in ("rate", "rates(by=day)", "factors(d=-1)", "factors(l2=0)", "logistic(l=1)"):
        with pytest.raises(UsageError):
            pair_model(wrong)


def test_what_cannot_be_fitted_says_so(monkeypatch):
    place = world(30, 10)
    pairs = place.drawn(0)
    with pytest.raises(UsageError, match="weight=ctr is for conversions"):
        cross_fit(pairs, ctr="rates(weight=ctr)")
    with pytest.raises(UsageError, match="folds cannot be 1"):
        cross_fit(pairs, folds=1)
    with pytest.raises(UsageError, match="needs features"):
        cross_fit(pairs, ctr="logistic")
    with pytest.raises(UsageError, match="Expected 30 rows"):
        cross_fit(pairs, ctr="logistic", user_features=place.user_features[:5])
    with pytest.raises(InputError, match="No pair was clicked"):
        training(pairs.user, pairs.item, 0.0 * pairs.user, pairs.conversion, users=30, items=10)
    monkeypatch.setitem(__import__("sys").modules, "sklearn.linear_model", None)
    with pytest.raises(UsageError, match="not installed"):
        cross_fit(pairs, ctr="logistic", user_features=place.user_features)
