"""Slate estimators in a small cascade world whose truth is known: unbiased, and their intervals."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

import counterrank as cr

RUNS, SLATES, ITEMS, LENGTH = 400, 300, 3, 3
LOGGER = np.array([[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.3, 0.3, 0.4]])  # ranks x items
TARGET = np.array([[0.5, 0.3, 0.2], [0.2, 0.4, 0.4], [0.4, 0.2, 0.4]])
QUALITY = np.array([0.7, 0.4, 0.2])
LABELS = ("SIPS", "RIPS", "SNSIPS", "SNRIPS", "CascadeDR")
BAND = 3.3 * (0.95 * 0.05 / RUNS) ** 0.5


def chance(slate):
    """Click probability of each rank: an item that has just been shown attracts half as much."""
    again = np.zeros(slate.shape, bool)
    again[..., 1:] = slate[..., 1:] == slate[..., :-1]
    return QUALITY[slate] * np.where(again, 0.5, 1.0)


def truth():
    ranks = range(LENGTH)
    return sum(
        np.prod([TARGET[r, slate[r]] for r in ranks]) * chance(np.array(slate)).sum()
        for slate in product(range(ITEMS), repeat=LENGTH)
    )


def estimates(rng):
    u = rng.random((SLATES, LENGTH, 1))
    slate = (u > LOGGER.cumsum(axis=1)[None, :, :-1]).sum(axis=2)
    session, rank = np.indices(slate.shape)
    log = {
        "session": session, "item": slate, "rank": rank + 1,
        "click": rng.random(slate.shape) < chance(slate), "propensity": LOGGER[rank, slate],
    }  # fmt: skip
    log = pl.DataFrame({k: v.ravel() for k, v in log.items()})
    session, rank, item = np.indices((SLATES, LENGTH, ITEMS))
    run = {"session": session, "item": item, "rank": rank + 1, "propensity": TARGET[rank, item]}
    run = pl.DataFrame({k: v.ravel() for k, v in run.items()})
    result = cr.estimate(
        log.with_columns(pl.col("click").cast(pl.Float64)), {"new": run}, estimator=LABELS,
        logged="propensity", test="none",
    )  # fmt: skip
    return {row.estimator: row for row in result.estimates if row.system == "new"}


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(11)
    return [estimates(rng) for _ in range(RUNS)]


@pytest.mark.parametrize("label", LABELS)
def test_intervals_cover(runs, label):
    inside = np.mean([run[label].low <= truth() <= run[label].high for run in runs])
    assert abs(inside - 0.95) < BAND


@pytest.mark.parametrize("label", ["SIPS", "RIPS", "CascadeDR"])
def test_no_bias(runs, label):
    values = np.array([run[label].value for run in runs])
    assert abs(values.mean() - truth()) < 3.3 * values.std(ddof=1) / RUNS**0.5


def test_from_the_top_down_varies_less_than_the_whole_slate(runs):
    """Under a cascade, RIPS leaves out weights that do not matter; a model takes out more."""
    spread = {label: np.std([run[label].value for run in runs]) for label in LABELS}
    assert spread["CascadeDR"] < spread["RIPS"] < spread["SIPS"]
