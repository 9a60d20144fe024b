"""``assess online`` from a log by way of the disk: the figures of each day are those of memory."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

import counterrank as cr
from counterrank.core.errors import InputError, UsageError
from counterrank.engine import Local
from counterrank.simulate import World, platform

ARMS = ("near", "ideal")


@pytest.fixture(scope="module")
def week():
    world = World(
        examination="power(eta=1)", days=3, drift=1.0, traffic=1.0,
        arms={"ideal": 0.3, "near": 0.3}, seed=1,
    )  # fmt: skip
    sample = platform(world, sessions=900, seed=1, runs=list(ARMS))
    return sample.log.sample(fraction=1, shuffle=True, seed=3), {a: sample.runs[a] for a in ARMS}


def same(log, runs, **options):
    """The result by way of the disk, which equals that of memory whatever the buckets."""
    whole = cr.assess_online(log, runs, **options)
    expected = whole.to_dict()
    assert expected["protocol"]["engine"] == "local"
    assert expected["protocol"].pop("partitions") == 1
    for partitions in (1, 5):
        parts = cr.assess_online(log, runs, **options, engine=Local(partitions=partitions))
        told = parts.to_dict()
        assert told["protocol"].pop("partitions") == partitions
        assert told["provenance"]["options"].pop("engine") == "local"
        assert str(told) == str(expected)
        assert parts.by_unit().equals(whole.by_unit())
    return parts


def test_two_rewards_contexts_and_clips(week, tmp_path):
    log, runs = week
    log.drop("exposure").write_parquet(tmp_path / "log.parquet")
    for arm, run in runs.items():
        run.write_csv(tmp_path / f"{arm}.csv")  # whose ids are text
    found = same(
        tmp_path / "log.parquet", [tmp_path / f"{arm}.csv" for arm in runs],
        reward=["click", "dwell"], position_bias="power(eta=1)", context="context",
        estimator=["IPS", "DR"], sweep="clip",
    )  # fmt: skip
    assert [c.experiment for c in found.tables["cases"][:6]] == ["0", "0", "1", "1", "2", "2"]


def test_no_users_days_as_dates_and_a_context_called_like_a_column_of_a_run(week):
    log, runs = week
    days = pl.lit(date(2024, 1, 9)) + pl.duration(days=pl.col("day"))
    log = log.drop("user", "exposure").with_columns(day=days, score=pl.lit("s"))
    runs = {"near": runs["near"].with_columns(score=-pl.col("rank").cast(pl.Float64)).drop("rank"),
            "ideal": runs["ideal"]}  # fmt: skip
    found = same(log, runs, reward="click", context="score", position_bias="log2", estimator=["DR"])
    assert [c.experiment for c in found.tables["cases"][::2]] == [
        "2024-01-09", "2024-01-10", "2024-01-11",
    ]  # fmt: skip


@pytest.mark.parametrize("role", ["exposure", "propensity"])
def test_chances_by_a_column(week, role):
    log, runs = week
    chance = (0.3 + 0.1 * (pl.col("item") % 5)).alias(role)
    log = log.drop("exposure").with_columns(chance)
    given = chance if role == "exposure" else pl.lit(1.0).alias(role)
    same(log, {a: r.with_columns(given) for a, r in runs.items()}, reward="click",
         estimator=["IPS", "SNIPS"])  # fmt: skip


def test_a_table_of_systems_is_one_run_for_each(week):
    log, runs = week
    log = log.drop("exposure")
    both = pl.concat(runs[a].with_columns(system=pl.lit(a)) for a in sorted(runs))
    options = {"reward": "click", "position_bias": "log2", "estimator": ["IPS"]}
    found = same(log, both, **options)
    apart = cr.assess_online(log, {a: runs[a] for a in sorted(runs)}, **options)
    assert str(found.tables["cases"]) == str(apart.tables["cases"])


def test_what_is_refused_in_memory_is_refused_here(week, tmp_path):
    log, runs = week
    log = log.drop("exposure")
    gone = log.filter((pl.col("arm") != "near") | (pl.col("day") != 1))
    asked = {"reward": "click", "position_bias": "log2"}
    for given, own, options in (
        (gone, runs, {}),
        (log.drop("day"), runs, {}),
        (log, {"other": runs["near"]}, {}),
        (log, runs, {"control": "near"}),
        (log.with_columns(propensity=1.0), runs, {}),
    ):
        said = []
        for engine in (Local(), Local(partitions=3)):
            with pytest.raises((InputError, UsageError)) as error:
                cr.assess_online(given, own, **asked, **options, engine=engine)
            said.append((type(error.value), str(error.value)))
        assert said[0] == said[1]
    with pytest.raises(UsageError, match="can be taken up again"):
        cr.assess_online(log, runs, **asked, engine=Local(partitions=3), resume=tmp_path)
