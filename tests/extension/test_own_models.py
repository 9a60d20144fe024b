"""A user's own models of rewards, clicks and conversions: nothing but fit and predict."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.nuisance.base import Features, Folds, Task
from counterrank.nuisance.cross_fit import cross_fit, training
from counterrank.nuisance.own_model import OwnModel
from counterrank.nuisance.rates import Rates
from parity_worlds import cases, differences


class Same:
    """The mean of what it has seen, whatever the features."""

    def fit(self, X, y):
        self.mean = y.mean()

    def predict(self, X):
        return np.full(len(X), self.mean)


class Chances:
    """The chance of 1 by the first feature: the item's own rate."""

    def fit(self, X, y, sample_weight=None):
        self.seen = len(y)

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def own_case(**options):
    case = cases()["funnel, models"]
    return replace(case, options={**case.options, "estimator": ["IPS", "DM", "DR"], **options})


def run(case, **more):
    return getattr(cr, case.verb)(*case.tables.values(), **case.options, **more)


def values(result):
    return [row.value for row in result.estimates]


@pytest.mark.parametrize("model", [Same(), Same, lambda: Same()])
def test_a_reward_model(model):
    case = cases()["estimate"]
    options = {**case.options, "estimator": ["DM", "DR"], "model": model}
    result = cr.estimate(*case.tables.values(), **options)
    assert values(result) == values(
        cr.estimate(*case.tables.values(), **{**options, "model": Same()})
    )
    assert json.loads(result.to_json())["provenance"]["options"]["model"] == "(in memory)"
    assert not hasattr(model, "mean")  # what was given has learned nothing
    with pytest.raises(cr.UsageError, match="a model of this result was in memory"):
        cr.repeat(result)


def test_models_of_clicks_and_conversions():
    mine = Same()
    result = run(own_case(ctr=mine, cvr=Chances))
    assert not hasattr(mine, "mean")
    told = json.loads(result.to_json())
    assert told["protocol"]["ctr"] == "Same"
    assert told["protocol"]["cvr"] == "Chances"
    (how,) = {own["cross-fitting"] for own in told["protocol"]["models"].values()}
    assert how.startswith("by user")
    assert "Same" in result.report()
    assert {"click model", "conversion model"} <= {d.name for d in result.diagnostics}


def test_the_features_are_what_they_are_said_to_be():
    """A model that says the item's own rate is the model of rates by item."""
    ours = run(own_case(ctr="rates(by=item)", cvr="rates(by=item)"))
    own = run(own_case(ctr=Chances(), cvr=Chances()))
    assert values(own) == pytest.approx(values(ours), rel=1e-9)


def test_features_of_the_tables_reach_it_in_order():
    seen = []

    class Looks(Same):
        def fit(self, X, y):
            seen.append(X)
            super().fit(X, y)

    case = own_case(ctr=Looks, cvr="rates")
    users = case.tables["funnel"]["user"].unique(maintain_order=True)
    items = pl.concat(t["item"] for t in [case.tables["funnel"], *case.tables["runs"].values()])
    of_user = pl.DataFrame({"user": users, "age": np.arange(len(users)) + 100.0})
    items = items.unique(maintain_order=True)
    of_item = pl.DataFrame({"item": items, "price": np.arange(len(items)) - 1000.0})
    run(case, user_features=of_user, item_features=of_item)
    assert len(seen) == 5
    for X in seen:
        assert X.shape[1] == 4
        assert ((X[:, 0] > 0) & (X[:, 0] < 1)).all()
        assert (X[:, 1] >= 0).all()
        assert (X[:, 2] < 0).all()
        assert (X[:, 3] >= 100).all()


def world(seed=0, users=40, items=12):
    rng = np.random.default_rng(seed)
    user, item = np.divmod(np.arange(users * items), items)
    rate = np.linspace(0.1, 0.6, items)[item]
    click = (rng.random(len(user)) < rate).astype(float)
    convert = click * (rng.random(len(user)) < 0.5)
    return training(user, item, click, convert, users=users, items=items)


def test_a_prediction_has_not_seen_the_clicks_of_its_user():
    pairs = world()
    whole = cross_fit(pairs, ctr=OwnModel(Chances), cvr=OwnModel(Chances))
    item = np.arange(pairs.items)
    mine = np.zeros(pairs.items, np.int64)
    other = replace(pairs, click=np.where(pairs.user == 0, ~pairs.click, pairs.click))
    again = cross_fit(other, ctr=OwnModel(Chances), cvr=OwnModel(Chances))
    assert whole.ctr(mine, item) == pytest.approx(again.ctr(mine, item), rel=1e-12)
    assert np.any(whole.ctr(mine + 1, item) != again.ctr(mine + 1, item)) or np.any(
        whole.ctr(mine + 2, item) != again.ctr(mine + 2, item)
    )


@pytest.mark.parametrize("weighted", [True, False])
def test_a_sample_of_the_pairs_has_the_rate_of_all(weighted):
    """Where ``fit`` takes no weights the draws stand for themselves."""
    pairs = world(users=400, items=30)
    folds = Folds.deal(pairs.users, pairs.items, by="user", folds=5, seed=0)
    user, item, _ = pairs.clicked
    one = np.ones(len(user))
    task = Task(user, item, one, one, folds, -1, True, "logit", Features(), 0).outside(2)
    m = 4000
    u, i, y, w = task.examples(m, weighted=weighted)
    assert (task.folds.of(u, i) != 2).all()
    rate = len(task.user) / task.pairs
    tolerance = 4 * np.sqrt(rate * (1 - rate) / (0.8 * m))
    assert np.average(y, weights=w) == pytest.approx(rate, abs=tolerance)
    assert weighted or (w == 1).all()


def test_a_chance_of_nothing_is_half_a_row():
    class Never(Same):
        def predict(self, X):
            return np.zeros(len(X))

    found = cross_fit(world(), ctr=OwnModel(Never), cvr="rates(by=item)")
    p = found.ctr(np.zeros(3, np.int64), np.arange(3))
    assert p == pytest.approx(0.5 / (40 * 12 * 4 / 5 + 1))


def test_outcomes_that_are_all_alike_need_no_model():
    class Fails(Same):
        def fit(self, X, y):
            raise AssertionError

    pairs = world()
    none = replace(pairs, conversion=np.zeros_like(pairs.conversion))
    own = cross_fit(none, cvr=OwnModel(Fails))
    ours = cross_fit(none, cvr=Rates(by="item"))
    user = np.arange(12)
    assert own.cvr(user, user) == pytest.approx(ours.cvr(user, user), rel=1e-12)


@pytest.mark.parametrize("options", [{"partitions": 5}, {"partitions": 5, "inference": "moments"}])
def test_on_disk(options, tmp_path):
    case = own_case(ctr=Same(), cvr=Chances(), test="t")
    told = case.told(lambda frame: frame)
    again = case.told(lambda frame: frame, scratch=str(tmp_path), **options)
    for kind in ("estimates", "comparisons"):
        assert not list(differences(told[kind], again[kind], kind))


def test_refused_on_a_cluster_before_any_work():
    with pytest.raises(cr.UsageError, match=r"ctr is a model of your own.*not sent to a cluster"):
        run(own_case(ctr=Same()), engine=cr.Spark(session=object()))


class NoFit:
    def predict(self, X):
        return X


@dataclass
class Broken:
    """Each in its own way."""

    way: str

    def fit(self, X, y):
        if self.way == "raises":
            raise ValueError("no such thing\nas this")

    def predict(self, X):
        wrong = {"nan": np.nan, "beyond": 1.5}.get(self.way, 0.5)
        return np.full(len(X) - (self.way == "short"), wrong)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (NoFit(), "ctr cannot be .*no fit"),
        (NoFit, "ctr cannot be .*no fit"),
        (5, "ctr cannot be 5.*no fit"),
        (Broken, "ctr was given raised an error.*TypeError"),
        (Broken("raises"), "ctr was given raised an error.*Broken.fit: ValueError: no such thing"),
        (Broken("nan"), "Broken.predict must give a finite number for every row"),
        (Broken("short"), "Broken.predict must give a finite number for every row"),
        (Broken("beyond"), r"Broken must predict chances, between 0 and 1.*first: 1.5"),
    ],
)
def test_what_is_refused(given, says):
    with pytest.raises(cr.CounterrankError, match=says):
        run(own_case(ctr=given))


def test_a_reward_model_that_only_knows_chances():
    case = cases()["estimate"]
    options = {**case.options, "estimator": ["DM"], "model": Chances()}
    with pytest.raises(cr.UsageError, match=r"model cannot be .*no predict"):
        cr.estimate(*case.tables.values(), **options)
    spend = own_case(cvr=Chances(), reward="spend", ctr="rates")
    table = spend.tables["funnel"].with_columns(spend=pl.col("conversion") * 7.5)
    spend = replace(spend, tables={**spend.tables, "funnel": table})
    with pytest.raises(cr.UsageError, match="predicts chances, and outcomes are not 0 and 1"):
        run(spend)
