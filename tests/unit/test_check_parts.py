"""``check`` reports the same of tables in partitions as of tables in memory, faults included."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.diagnostics.table_reports import look_at, report_table
from counterrank.engine import Local
from counterrank.results.result import Result
from counterrank.stats.gini import gini_index
from making import shown, world

COUNTS = (1, 3, 20)
JUDGED, RUNS = world(users=30)
LOG = shown(seen=1 / np.arange(1, 6), sessions=400, seed=1, per_user=3)
TARGET = LOG.select("session", "item", score=pl.col("item").hash(3) % 1000)
RNG = np.random.default_rng(0)
CLICK = (RNG.random(RUNS["a"].height) < 0.3).astype(int)
FUNNEL = RUNS["a"].select("user", "item", click=pl.Series(CLICK))
FUNNEL = FUNNEL.with_columns(conversion=pl.col("click") * (pl.col("item") > "i2").cast(pl.Int64))
TABLES = {
    "judgments": JUDGED,
    "run": RUNS["a"],
    "runs as one": pl.concat(
        t.with_columns(pl.lit(name).alias("system")) for name, t in RUNS.items()
    ),
    "log": LOG,
    "log without users": LOG.drop("user"),
    "target": TARGET,
    "funnel": FUNNEL,
    "predictions": FUNNEL.select("user", "item", ctr=pl.lit(0.3)),
}
FAULTY = {
    "judged twice": pl.concat([JUDGED, JUDGED.head(7)]),
    "listed twice": pl.concat([RUNS["a"], RUNS["a"].filter(pl.col("rank") == 3)]),
    "rank twice": RUNS["a"].with_columns(rank=pl.col("rank").clip(1, 5)),
    "no rank": JUDGED.drop("rating"),
    "no rows": RUNS["a"].head(0),
    "not viewed": LOG.with_columns(viewed=0),
}


def said(result: Result) -> list[object]:
    """The report; which row a fault names first may depend on partitions."""
    return [{**t, "fault": t["fault"].split("(first:")[0]} for t in result.rows("tables")]


@pytest.mark.parametrize("name", [*TABLES, *FAULTY])
def test_a_table_in_partitions_is_reported_alike(name):
    table = (TABLES | FAULTY)[name]
    look = look_at(name, table, rewards=(), columns={})
    whole = report_table(look, duplicates="error", engine=Local())
    assert bool(whole.fault) == (name in FAULTY)
    for count in COUNTS:
        found = report_table(look, duplicates="error", engine=Local(partitions=count))
        assert found.fault.split("(first:")[0] == whole.fault.split("(first:")[0]
        assert (found.kind, found.rows, found.users, found.items, found.sessions) == (
            whole.kind, whole.rows, whole.users, whole.items, whole.sessions,
        )  # fmt: skip


@pytest.mark.parametrize(
    "tables",
    [
        {"judgments": JUDGED, **RUNS},
        {"judgments": JUDGED, **RUNS, "bad": FAULTY["listed twice"]},
        {"funnel": FUNNEL, "run": RUNS["b"]},
        {"log": LOG, "target": TARGET},
    ],
    ids=["judged", "one refused", "funnel", "log"],
)
def test_diagnostics_do_not_depend_on_partitions(tables):
    asked = {"position_bias": "power"} if "log" in tables else {}
    whole = cr.check(tables, **asked)
    found = cr.check(tables, engine=Local(partitions=3), **asked)
    assert said(found) == said(whole)
    assert found.tables["to_log"] == whole.tables["to_log"]
    assert [(d.name, d.subject, d.state) for d in found.diagnostics] == [
        (d.name, d.subject, d.state) for d in whole.diagnostics
    ]
    for one, other in zip(found.diagnostics, whole.diagnostics, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-12, nan_ok=True)


def test_a_log_on_disk_is_audited_without_being_read_at_once(monkeypatch):
    given, options = {"log": LOG, "new": TARGET}, {"position_bias": "log2"}
    whole = cr.check(given, **options)
    told = [(d.name, d.meaning) for d in whole.diagnostics]
    monkeypatch.setattr("counterrank.data.schema.Schema.whole", None)
    for count in COUNTS:
        found = cr.check(given, **options, engine=Local(partitions=count))
        assert found.tables == whole.tables
        assert [(d.name, d.meaning) for d in found.diagnostics] == told
        assert found.tables["to_log"] == whole.tables["to_log"]


def test_chances_that_are_all_1_are_refused_everywhere():
    log = LOG.with_columns(propensity=pl.lit(1.0))
    whole = cr.check([log]).tables["tables"]
    assert "is 1 in every row" in whole[0].fault
    for count in COUNTS:
        assert cr.check([log], engine=Local(partitions=count)).tables["tables"] == whole
        with pytest.raises(cr.InputError, match="All 2,000 rows"):
            cr.exposure(log, engine=Local(partitions=count))


def test_judgments_tell_density_and_gini_as_table_2_does():
    """Valcarce et al. 2020, Table 2, by its formula; one user has three ratings, one has one."""
    judged = pl.DataFrame({"user": [1, 1, 1, 2], "item": [1, 2, 3, 1], "rating": 1})
    for count in (None, *COUNTS):
        report = cr.check({"j": judged}, engine=Local(partitions=count)).tables["tables"][0]
        assert report.density == 4 / 6
        assert report.user_gini == pytest.approx(2 * (1 * 1 + 2 * 3) / (2 * 4) - 3 / 2)
        assert report.item_gini == pytest.approx(2 * (1 * 1 + 2 * 1 + 3 * 2) / (3 * 4) - 4 / 3)
    line = "judgments, 4 ratings, 2 users, 3 items, density 66.667%, Gini index 0.250 over users"
    assert line in report.line()
    assert cr.check({"run": RUNS["a"]}).tables["tables"][0].density is None


def test_gini_is_the_mean_difference_of_counts():
    x = RNG.integers(1, 40, 200)
    count, times = np.unique(x, return_counts=True)
    apart = np.abs(x[:, None] - x[None, :]).mean() / (2 * x.mean())
    assert gini_index(count, times) == pytest.approx(apart)
