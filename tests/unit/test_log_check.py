"""What check says of a log and its lists: silent on clean tables, loud on broken ones."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from making import shown

NEW = ("unread rewards", "unread propensity", "session times", "sessions not logged",
       "items not logged", "list depth")  # fmt: skip
LOG = shown(seen=1 / np.arange(1, 6), sessions=400, seed=1, per_user=3)
LOG = LOG.with_columns(timestamp=pl.col("session"))
RUN = LOG.select("session", "item", rank=6 - pl.col("rank"))


def states(log=LOG, run=RUN, **options):
    options = {"position_bias": "log2", **options}
    found = cr.check({"log": log, "new": run}, **options)
    assert not any(t.fault for t in found.tables["tables"])
    return {d.name: d for d in found.diagnostics if d.name in NEW}


def test_clean_tables_pass():
    found = states()
    assert {name: d.state for name, d in found.items()} == dict.fromkeys(NEW[2:], "pass")


def test_a_column_that_may_be_a_reward():
    log = LOG.with_columns(n_purchases=pl.lit(0), order_value=pl.lit(1.0), border=pl.lit(2))
    found = states(log)["unread rewards"]
    assert found.state == "caution"
    assert "n_purchases and order_value may be what came back, and are not read" in found.meaning
    assert "--reward n_purchases" in found.meaning
    assert "unread rewards" not in states(log, reward="click")  # they were chosen
    assert "unread rewards" not in states(log.select(LOG.columns))
    named = states(log.drop("order_value"), context="n_purchases")
    assert "unread rewards" not in named


def test_a_propensity_that_nothing_reads():
    log = LOG.with_columns(propensity=pl.lit(0.2))
    found = states(log)["unread propensity"]
    assert found.state == "untested"
    assert "--logged propensity" in found.meaning
    text = str(cr.check({"log": log, "new": RUN}, position_bias="log2"))
    assert "untested unread propensity, log:" in text
    run = RUN.with_columns(propensity=(pl.col("rank") == 1).cast(float))
    assert "unread propensity" not in states(log, run, position_bias=None)
    log = log.with_columns(exposure=1 / pl.col("rank"))
    assert "unread propensity" not in states(log)


def test_logged_exposures_are_audited_as_estimates_read_them():
    chance = np.random.default_rng(0).uniform(0.2, 0.8, LOG.height)
    log, known = LOG.with_columns(exposure=chance), {"position_bias": "log2"}
    read = [cr.check({"log": log}, **known), cr.estimate(log, {"new": RUN}, **known)]
    states = [[d.state for d in r.diagnostics if d.name == "logged chances"] for r in read]
    assert states == [["untested"], ["untested"]]


@pytest.mark.parametrize("column", ["timestamp", "day"])
def test_several_times_within_a_session(column):
    log = LOG.rename({"timestamp": column})
    assert states(log)["session times"].state == "pass"
    late = log.with_columns(
        pl.when((pl.col("session") == 7) & (pl.col("rank") == 3)).then(0).otherwise(pl.col(column))
        .alias(column)
    )  # fmt: skip
    found = states(late)["session times"]
    assert found.state == "caution"
    assert found.value == pytest.approx(1 / 400)
    assert f"1 of 400 sessions have rows of more than one {column}" in found.meaning
    assert "session times" not in states(LOG.drop("timestamp"))


def test_sessions_that_were_not_logged():
    more = RUN.head(50).with_columns(pl.col("session") + 10_000)
    found = states(run=pl.concat([RUN, more]))["sessions not logged"]
    assert found.state == "caution"
    assert found.value == pytest.approx(10 / 410)
    assert "10 of the 410 sessions" in found.meaning


def test_sessions_that_the_run_lacks_are_refused_with_their_number():
    found = cr.check({"log": LOG, "new": RUN.filter(pl.col("session") > 4)}, position_bias="log2")
    fault = found.tables["tables"][1].fault
    assert '"new" has no list for 5 of 400 logged sessions' in fault


def test_candidates_that_the_log_does_not_know():
    strange = pl.when(pl.col("session") % 10 == 0).then(pl.lit(99_999)).otherwise(pl.col("item"))
    run = RUN.with_columns(item=pl.when(pl.col("rank") == 5).then(strange).otherwise("item"))
    found = states(run=run)["items not logged"]
    assert found.state == "caution"
    assert found.value == pytest.approx(0.1 / 5, rel=0.05)
    assert "nowhere in the log" in found.meaning


def test_lists_that_are_longer_than_the_page():
    tail = RUN.with_columns(pl.col("rank") + 5, item=pl.col("item") + 500)
    longer = pl.concat([RUN, tail])
    for run in (longer, longer.select("session", "item", score=-pl.col("rank"))):
        found = states(run=run)["list depth"]
        assert found.state == "caution"
        assert "down to rank 10, the pages of the log to rank 5" in found.meaning
    drawn = longer.with_columns(draw=(pl.col("rank") - 1) // 5, rank=(pl.col("rank") - 1) % 5 + 1)
    assert "list depth" not in states(run=drawn)


def test_partitions_change_nothing():
    run = pl.concat([RUN, RUN.head(50).with_columns(pl.col("session") + 10_000)])
    log = LOG.with_columns(timestamp=pl.col("session") + (pl.col("rank") == 2))
    whole = states(log, run)
    for count in (1, 4):
        assert states(log, run, engine=cr.Local(partitions=count)) == whole
