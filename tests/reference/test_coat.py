"""Coat under the published protocol: printed values and strata, made by the verb itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.propensity.popularity import popularity
from counterrank.stratified.propensity_strata import PropensitySpread, cut_strata

NDCG = "nDCG(gain=binary,rel=4)"
OPTIONS = {"propensity": "published", "cut": "width", "no_relevant": "skip"}
SPLITS = 6


@pytest.fixture(scope="module")
def coat(data: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    return tuple(pl.read_parquet(data / "coat" / f"{name}.parquet") for name in ("train", "test"))


def most_popular(train: pl.DataFrame) -> pl.DataFrame:
    """All training items for every user, also the user's own, by number of ratings."""
    counts = train.group_by("item").len("score")
    return train.select("user").unique().sort("user").join(counts.sort("item"), how="cross")


def split(closed: pl.DataFrame, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """80 % of the ratings; of the others those of users and items seen there."""
    order = np.random.default_rng(seed).permutation(closed.height)
    cut = round(0.8 * closed.height)
    train, test = closed[order[:cut]], closed[order[cut:]]
    for column in ("user", "item"):
        test = test.join(train.select(column).unique(), on=column, how="semi")
    return train, test


def test_most_popular_on_the_open_loop_to_four_decimals(coat) -> None:
    closed, opened = coat
    printed = {"": 0.2420, "@5": 0.0256, "@10": 0.0354, "@20": 0.0560}
    result = cr.strata(
        opened,
        {"MPOP": most_popular(closed)},
        measure=[NDCG + cut for cut in printed],
        feedback=closed,
        **OPTIONS,
    )
    assert (result.protocol["alpha"], result.protocol["xmin"]) == (
        pytest.approx(4.014793, abs=1e-6),
        28,
    )
    holdout = [row for row in result.estimates if row.method == "holdout"]
    assert {row.units for row in holdout} == {237}
    assert [round(row.value, 4) for row in holdout] == list(printed.values())
    near = cr.evaluate(
        opened,
        {"MPOP": most_popular(closed)},
        measure=[NDCG + "@30", NDCG + "@100"],
        no_relevant="skip",
        ties="expected",
        test="none",
    )
    assert [r.value for r in near.estimates] == pytest.approx([0.0672, 0.1248], abs=5e-4)


def test_most_popular_without_the_users_own_training_items(coat) -> None:
    closed, opened = coat
    new = most_popular(closed).join(closed, on=["user", "item"], how="anti")
    result = cr.evaluate(opened, {"MPOP": new}, measure=[NDCG], no_relevant="skip", test="none")
    # other orders of items of equal counts move it by as much
    assert result.estimates[0].value == pytest.approx(0.2146, abs=5e-4)


def test_the_head_stratum_and_the_most_popular_row(coat) -> None:
    """Five head items with 5 to 7 % of the ratings; values within the spread between splits."""
    closed, _ = coat
    found = []
    for seed in range(SPLITS):
        train, test = split(closed, seed)
        result = cr.strata(
            test, {"MPOP": most_popular(train)}, measure=[NDCG], feedback=closed, **OPTIONS
        )
        tail, head = result.strata
        assert head.items == 5
        assert 0.045 < head.share < 0.075
        rows = {row.method: row.value for row in result.estimates}
        total = tail.share * rows["Q1"] + head.share * rows["Q2"]
        assert rows["stratified"] == pytest.approx(total, abs=1e-12)
        found.append([rows[name] for name in ("holdout", "Q1", "Q2", "stratified")])
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    printed = np.array([0.2448, 0.1985, 0.6815, 0.2280])  # of one split, nobody knows which
    assert np.all(np.abs(printed - mean) < 4 * spread * np.sqrt(1 + 1 / SPLITS))


def test_the_head_of_movielens_is_four_items(data: Path) -> None:
    rows = pl.read_parquet(data / "movielens-1m" / "interactions.parquet")
    _, item, count = np.unique(rows["item"].to_numpy(), return_inverse=True, return_counts=True)
    propensity = popularity(count, rule="published").value[item]
    for seed in range(3):
        test = np.random.default_rng(seed).random(len(item)) < 0.2
        p, own = propensity[test], item[test]
        spread = PropensitySpread.of(p, own, np.ones(len(p), np.int64))
        found = cut_strata(spread, bins=2, how="width").code(p, own)
        assert len(np.unique(own[found == 1])) == 4
        assert np.mean(found == 1) == pytest.approx(0.012, abs=0.001)


def test_one_stratum_is_holdout(coat) -> None:
    closed, _ = coat
    train, test = split(closed, 0)
    result = cr.strata(
        test, {"MPOP": most_popular(train)}, measure=[NDCG], feedback=closed, strata=1, **OPTIONS
    )
    rows = {row.method: row.value for row in result.estimates}
    assert rows["stratified"] == rows["holdout"] == rows["Q1"]


def test_propensities_of_every_cell_serve_too(coat, data: Path) -> None:
    """The propensities published with the data depend on the user."""
    closed, _ = coat
    train, test = split(closed, 0)
    given = str(data / "coat" / "propensities.parquet")
    result = cr.strata(test, {"MPOP": most_popular(train)}, measure=[NDCG], propensity=given)
    low, high = result.strata[0].low, result.strata[-1].high
    assert 0.00253 <= low < high <= 0.69026
    rows = {row.method: row.value for row in result.estimates}
    assert 0 < rows["SNIPS"] < 1
    assert not [d for d in result.diagnostics if d.name == "propensities missing" and d.value]
