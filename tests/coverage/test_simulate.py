"""Simulated platforms earn what their truth says, and estimators that should find it do.

Every statement is a mean with a standard error clustered by user; it must lie within four of them.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from counterrank.simulate import RANKERS, REWARDS, World, platform

EVERYONE = {"arms": dict.fromkeys(RANKERS, 1 / len(RANKERS))}
BROKEN = {
    "cascading": {"cascading": 0.6},
    "carry over": {"carry_over": 1},
    "interaction": {"interaction": 0.8},
    "trust": {"trust": 0.8},
    "missing support": {"missing_support": 0.7},
    "all, stochastic": {
        "cascading": 0.3, "carry_over": 0.5, "interaction": 0.5, "trust": 0.5,
        "missing_support": 0.5, "ranker": "plackett_luce", "days": 3, "drift": 1,
    },
}  # fmt: skip
KEPT = {
    "log2": {},
    "plackett luce": {"ranker": "plackett_luce", "temperature": 0.7},
    "power": {"examination": "power(eta=1.5)"},
    "geometric": {"examination": "geometric(p=0.7)"},
    "table": {"examination": "table(0.3,1,0,0.5)"},
    "by context": {"examination": ("log2", "geometric(p=0.5)", "table(0.9,0.5,0.2)")},
    "days": {"days": 5, "drift": 1, "traffic": 1},
    "cascade": {"examination": "cascade"},
    "dependent clicks": {"examination": "dependent_clicks"},
}


def within(total, truth, sessions, extra=0.0):
    """``total`` has a row per user; compare its mean per session with the truth."""
    mean = total.sum() / sessions.sum()
    se = np.sqrt(np.sum((total - mean * sessions) ** 2)) / sessions.sum()
    assert abs(mean - truth) <= 4 * np.hypot(se, extra), (mean, truth, se)


@pytest.mark.parametrize("options", [*KEPT.values(), *BROKEN.values()], ids=[*KEPT, *BROKEN])
def test_every_ranker_earns_its_truth(options):
    world = World(**options, **EVERYONE)
    sample = platform(world, sessions=60_000, seed=1, runs=[])
    by_user = sample.log.group_by("arm", "user").agg(
        pl.col("session").n_unique(), pl.col("viewed", *REWARDS).sum()
    )
    for (name,), own in by_user.partition_by("arm", as_dict=True).items():
        sessions = own["session"].to_numpy().astype(float)
        for reward, known in sample.truth[str(name)].items():
            within(own[reward].to_numpy().astype(float), known.value, sessions, known.se)
        views = own["viewed"].to_numpy().astype(float)
        clicks = sample.truth[str(name)]["click"]
        extra = 3 * clicks.se / clicks.value * clicks.per_view
        within(own["click"].to_numpy().astype(float), clicks.per_view, views, extra)


def test_each_day_earns_its_own_truth():
    world = World(days=4, drift=1, traffic=1)
    log = platform(world, sessions=40_000, seed=2, runs=[]).log
    for day in range(4):
        own = log.filter(pl.col("day") == day).group_by("user")
        own = own.agg(pl.col("session").n_unique(), pl.col("click", "revenue").sum())
        for reward in ("click", "revenue"):
            truth = world.truth(day=day)["logged"][reward].value
            within(own[reward].to_numpy().astype(float), truth, own["session"].to_numpy())


@pytest.mark.parametrize("given", ["candidates", "context"])
def test_exposure_and_propensity_are_frequencies(given):
    """Views and places of every item in every cell, under two stochastic loggers."""
    world = World(
        contexts=2, sets=3, candidates=6, slots=4, items=20, ranker="plackett_luce",
        loggers={"logged": 0.6, "stochastic": 0.4}, examination=("log2", "power(eta=1)"),
    )  # fmt: skip
    log = platform(world, sessions=60_000, seed=3, runs=[], given=given).log
    cell = ["policy", "context"] + (["candidates"] if given == "candidates" else [])
    n = log.group_by(cell).agg(pl.col("session").n_unique().alias("n"))
    for column, by, count in (
        ("exposure", [*cell, "item"], pl.col("viewed").sum()),
        ("propensity", [*cell, "item", "rank"], pl.len()),
    ):
        rows = log.group_by(by).agg(
            count.cast(float).alias("count"),
            pl.col(column).first().alias("p"),
            (pl.col(column).max() - pl.col(column).min()).alias("spread"),
        )
        assert rows["spread"].max() < 1e-12
        rows = rows.join(n, on=cell).filter(pl.col("n") * pl.col("p") >= 20)
        p, size = rows["p"].to_numpy(), rows["n"].to_numpy()
        z = (rows["count"].to_numpy() - size * p) / np.sqrt(size * p * (1 - p))
        assert len(z) > 40
        assert np.abs(z).max() < 4.5
        assert np.mean(z**2) == pytest.approx(1, abs=4 * np.sqrt(2 / len(z)))


def test_position_bias_is_the_share_of_views_at_each_rank():
    for options in ({"examination": "cascade"}, {"cascading": 0.5, "carry_over": 0.5}):
        world = World(**options)
        log = platform(world, sessions=40_000, seed=4, runs=[]).log
        rows = log.group_by("user", "rank").agg(pl.col("viewed").sum(), pl.len())
        for (rank,), own in rows.partition_by("rank", as_dict=True).items():
            if rank > 1:
                bias = world.position_bias[0, rank - 1]
                within(own["viewed"].to_numpy().astype(float), bias, own["len"].to_numpy())


def ips(sample, name):
    """Jeunen et al. (2024), Eq. 8: rewards times exposure under the target over that logged."""
    run = sample.runs[name]
    if "exposure" not in run.columns:
        run = run.with_columns(exposure=1 / (pl.col("rank") + 1).log(2)).drop("rank")
    rows = sample.log.join(run, on=["session", "item"], how="left", suffix="_target")
    weight = pl.col("exposure_target").fill_null(0) / pl.col("exposure")
    by_user = rows.group_by("user").agg(
        (pl.col("click") * weight).sum().alias("total"), pl.col("session").n_unique()
    )
    return by_user["total"].to_numpy(), by_user["session"].to_numpy().astype(float)


@pytest.mark.parametrize("given", ["candidates", "context"])
@pytest.mark.parametrize("ranker", ["deterministic", "plackett_luce"])
def test_inverse_propensities_find_the_truth(given, ranker):
    world = World(ranker=ranker)
    sample = platform(world, sessions=20_000, seed=5, given=given)
    assert len(sample.runs) == (7 if given == "context" else 6)
    for name in sample.runs:
        total, sessions = ips(sample, name)
        within(total, sample.truth[name]["click"].value, sessions)


def test_several_loggers_each_find_the_truth():
    world = World(loggers={"logged": 0.5, "near": 0.2, "stochastic": 0.3})
    sample = platform(world, sessions=20_000, seed=6)
    for name in ("far", "ideal"):
        total, sessions = ips(sample, name)
        within(total, sample.truth[name]["click"].value, sessions)


@pytest.mark.parametrize("name", ["carry over", "cascading", "interaction", "trust",
                                  "missing support"])  # fmt: skip
def test_a_broken_assumption_misleads(name):
    """The same estimator is off by more than its noise explains, for some target."""
    world = World(**{**BROKEN[name], "user_spread": 0})
    sample = platform(world, sessions=40_000, seed=7)
    off = []
    for target in ("far", "random", "ideal"):
        total, sessions = ips(sample, target)
        mean = total.sum() / sessions.sum()
        se = np.sqrt(np.sum((total - mean * sessions) ** 2)) / sessions.sum()
        off.append(abs(mean - sample.truth[target]["click"].value) / se)
    assert max(off) > 5
