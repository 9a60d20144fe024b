"""``funnel`` with features: a known logistic world comes out, and what is refused."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.data.features import feature_schema
from counterrank.nuisance.cross_fit import cross_fit, training
from counterrank.nuisance.logistic import encode_features

USERS, ITEMS, TOP = 1200, 30, 10
BOTH = {"ctr": "logistic", "cvr": "logistic"}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.fixture(scope="module")
def shop():
    """Clicks and conversions that follow a logistic model of four columns of three kinds."""
    rng = np.random.default_rng(5)
    age, member = rng.normal(40, 10, USERS), rng.random(USERS) < 0.3
    town = rng.choice(["north", "south", "west"], USERS)
    price = rng.lognormal(3, 0.5, ITEMS)
    pull = {"north": -0.6, "south": 0.0, "west": 0.5}
    x = 0.03 * (age - 40) + 0.5 * member + np.array([pull[t] for t in town])
    v = -0.8 * (np.log(price) - 3) + np.where(np.arange(ITEMS) % 3 == 0, 0.7, 0.0)
    p = sigmoid(-2 + x[:, None] + v)
    q = sigmoid(-1 - 0.8 * x[:, None] + 0.5 * v)
    click = rng.random(p.shape) < p
    sold = click & (rng.random(p.shape) < q)
    user, item = np.nonzero(click)
    table = pl.DataFrame(
        {"user": user, "item": item, "click": 1, "conversion": sold[user, item].astype(int)}
    )
    of_users = pl.DataFrame({"user": np.arange(USERS), "age": age, "member": member, "town": town})
    of_items = pl.DataFrame(
        {
            "item": np.arange(ITEMS), "price": np.log(price),
            "kind": [["coat", "hat", "hat"][n % 3] for n in range(ITEMS)],
        }
    )  # fmt: skip
    runs = {}
    for name, score in {"dear": q - 0.3 * p, "liked": p + 0 * q}.items():
        order = np.argsort(-score, axis=1)[:, :TOP]
        rank = np.tile(np.arange(1, TOP + 1), USERS)
        listed = {"user": np.repeat(np.arange(USERS), TOP), "item": order.ravel(), "rank": rank}
        runs[name] = pl.DataFrame(listed)
    return table, runs, of_users, of_items, (p, q)


def told(shop, **options):
    table, runs, of_users, of_items, _ = shop
    given = {"user_features": of_users, "item_features": of_items, "measure": "CG@10", **BOTH}
    return cr.funnel(table, runs, **given | options)


def test_a_logistic_world_comes_out(shop):
    _, runs, _, _, (p, q) = shop
    result = told(shop, estimator=["IPS", "DR"])
    for row in result.estimates:
        at = runs[row.system]
        truth = q[at["user"], at["item"]].sum() / USERS
        naive = (p * q)[at["user"], at["item"]].sum() / USERS
        assert abs(row.value - truth) < 4 * row.se
        assert abs(naive - truth) > 8 * row.se  # there was something to mend
    few = {"conversions", "effective sample size", "hidden liking"}
    assert {d.name for d in result.not_passing} <= few
    assert result.protocol["ctr"] == "logistic"
    assert result.protocol["features"] == {
        "user": {
            "columns": ["age", "member", "town=north", "town=south", "town=west"],
            "left out": [],
        },
        "item": {"columns": ["price", "kind=coat", "kind=hat"], "left out": []},
    }
    assert [x["rows"] for x in result.to_dict()["provenance"]["inputs"]][-2:] == [USERS, ITEMS]


def test_predictions_err_no_more_than_the_number_of_coefficients_says(shop):
    r"""The sum of :math:`(\hat p - p)^2 / (p (1 - p))` over n pairs is about a chi-squared of k.

    Each fold learns from four fifths of the pairs, of the clicked ones for the cvr. k = 1 + 4 + 2,
    without the columns that text has too many of.
    """
    table, _, of_users, of_items, (p, q) = shop
    x = encode_features(
        feature_schema(of_users, of="user").whole(), "user", pl.Series(range(USERS))
    )
    v = encode_features(
        feature_schema(of_items, of="item").whole(), "item", pl.Series(range(ITEMS))
    )
    pairs = training(
        *(table[c].to_numpy().astype(float) for c in ("user", "item", "click", "conversion")),
        users=USERS, items=ITEMS,
    )  # fmt: skip
    n = cross_fit(pairs, **BOTH, user_features=x.numbers, item_features=v.numbers)
    everywhere = np.indices(p.shape).reshape(2, -1)
    k = 7
    for predict, true, (user, item) in ((n.ctr, p, everywhere), (n.cvr, q, pairs.clicked[:2])):
        chance = true[user, item]
        off = predict(user, item) - chance
        assert np.sum(off**2 / (chance * (1 - chance))) < (k + 4 * np.sqrt(2 * k)) / 0.8


def test_ids_of_another_type_and_rows_in_another_order_change_nothing(shop):
    _, _, of_users, of_items, _ = shop
    values = [row.value for row in told(shop).estimates]
    moved = of_users.sample(fraction=1.0, shuffle=True, seed=1)
    as_text = moved.with_columns(pl.col("user").cast(pl.String))
    renamed = of_items.rename({"item": "product"})
    again = told(shop, user_features=as_text, item_features=renamed, columns={"item": "product"})
    assert [row.value for row in again.estimates] == pytest.approx(values, rel=1e-9)
    more = pl.concat([of_items, of_items.with_columns(pl.col("item") + 1000)])
    known = told(shop, item_features=more)  # rows of items that nobody lists are not asked
    assert [row.value for row in known.estimates] == values


def test_one_side_alone_serves_and_constant_columns_are_told(shop):
    _, _, of_users, _, _ = shop
    extra = of_users.with_columns(country=pl.lit("at"), zero=pl.lit(0.0))
    result = told(shop, user_features=extra, item_features=None, cvr="rates", estimator="IPS")
    loud = {d.name: d.meaning for d in result.not_passing}
    assert (
        '2 more say the same of all that count and were left out: "country", "zero".'
        in (loud["constant user features"])
    )
    assert result.protocol["features"]["user"]["left out"] == ["country", "zero"]
    plain = told(shop, item_features=None, cvr="rates", estimator="IPS")
    assert "constant user features" not in {d.name for d in plain.not_passing}
    assert [r.value for r in plain.estimates] == [r.value for r in result.estimates]


def blank(frame, column, row=2):
    number = pl.int_range(pl.len())
    return frame.with_columns(pl.when(number == row).then(None).otherwise(column).alias(column))


def test_what_is_refused(shop):
    _, _, of_users, of_items, _ = shop
    day = of_users.with_columns(since=datetime.date(2026, 1, 1))
    ids = of_users.with_columns(name=pl.col("user").cast(pl.String) + "x")
    for wrong, said in (
        (of_users[3:], "no row for 3 of 1,200 users that count. The first is 0; the table begins"),
        (blank(of_users, "age"), 'Column "age" .* has missing values.*first: row 3'),
        (of_users.with_columns(age=pl.lit(float("nan"))), 'Column "age" .* must be finite'),
        (of_users.with_columns(town=pl.lit(" ")), 'Column "town" .* has empty values'),
        (day, 'Column "since" .* is no feature.*type Date'),
        (ids, 'Column "name" .* too many values.*Found 1,200 for 1,200 users; at most 100'),
        (pl.concat([of_users, of_users[7:9]]), "user more than once.*Found 2 .*row 1201, user 7"),
        (of_users.select("user"), "has no features"),
        (of_users.select("user", age=pl.lit(1)), "tells no user from another.*constant: age"),
        (of_users.with_columns(item=1), 'has a column "item".*of a user alone'),
        (of_users.rename({"user": "who"}), 'no column "user"'),
        (of_users[:0], "has no rows"),
    ):
        with pytest.raises(cr.InputError, match=f"(?s){said}"):
            told(shop, user_features=wrong)
    with pytest.raises(cr.InputError, match="no row for 1 of 30 items"):
        told(shop, item_features=of_items[:-1])
    with pytest.raises(cr.UsageError, match="of users and items were given, and no model reads"):
        told(shop, ctr="rates", cvr="factors")
    with pytest.raises(cr.UsageError, match=r"needs features.*--user-features PATH"):
        told(shop, user_features=None, item_features=None)
    rng = np.random.default_rng(0)
    wide = of_users.with_columns(pl.Series(f"n{k}", rng.random(USERS)) for k in range(200))
    many = of_items.with_columns(pl.Series(f"n{k}", rng.random(ITEMS)) for k in range(100))
    with pytest.raises(cr.UsageError, match=r"GB\. Give fewer features, or draw fewer pairs"):
        told(shop, ctr="logistic(terms=crossed)", user_features=wide, item_features=many)


def test_the_command_reads_features_from_text(shop, tmp_path):
    table, runs, of_users, of_items, _ = shop
    table.write_parquet(tmp_path / "funnel.parquet")
    runs["liked"].write_parquet(tmp_path / "liked.parquet")
    of_users.write_csv(tmp_path / "users.csv")
    of_items.write_csv(tmp_path / "items.csv")
    words = ["funnel.parquet", "liked.parquet", "--ctr", "logistic", "--cvr", "logistic", "-e"]
    words += ["DR", "-m", "CG@10", "--user-features", "users.csv"]

    def call(*more):
        return subprocess.run(
            [sys.executable, "-m", "counterrank", "funnel", *words, *more], cwd=tmp_path,
            capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "100"},
        )  # fmt: skip

    done = call("--item-features", "items.csv", "--format", "csv")
    assert done.returncode == 0, done.stderr
    value = float(pl.read_csv(done.stdout.encode())["value"][0])
    assert value == pytest.approx(told(shop, estimator="DR").estimate("liked", "DR").value)
    (tmp_path / "items.csv").write_text("item,price\n0,1.5\n")
    refused = call("--item-features", "items.csv")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "no row for 29 of 30 items" in refused.stderr
    assert "Traceback" not in refused.stderr
