"""A log of past experiments: the control's own rows (R_0), and calls against the clip."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.report.figures import figures
from counterrank.simulate import World, platform


@pytest.fixture(scope="module")
def past():
    world = World(days=6, arms={"near": 0.4}, examination="geometric(p=0.7)", traffic=0.9, seed=2)
    sample = platform(world, sessions=3000, runs=["near"])
    asked = {"reward": "click", "position_bias": "geometric(p=0.7)@10", "sweep": "clip"}
    result = cr.assess_online(sample.log, sample.runs, estimator=["IPS", "nDCG"], **asked)
    return sample, result


def test_the_control_has_rows_of_its_own(past):
    sample, result = past
    rows = {(r.system, r.measure): r for r in result.tables["systems"]}
    assert {system for system, _ in rows} == {"control", "near"}
    days, offline, online = [], [], []
    own = sample.log.filter(pl.col("arm") == "control")
    for (day,), rows_of_day in sorted(own.partition_by("day", as_dict=True).items()):
        shown = rows_of_day.select("session", "item", "rank")
        found = cr.estimate(
            rows_of_day.drop("arm"), {"same": shown}, reward="click", estimator="nDCG",
            position_bias="geometric(p=0.7)@10", test="none",
        )  # fmt: skip
        days.append(day)
        offline.append(found.estimate("same", "nDCG", "click").value)
        online.append(rows_of_day["click"].sum() / rows_of_day["session"].n_unique())
    row = rows["control", "nDCG"]
    assert row.cases == len(days) == 6
    assert row.value == pytest.approx(np.corrcoef(offline, online)[0, 1])
    assert rows["control", "IPS"].value == pytest.approx(1)  # weight 1: it is what was earned


def test_calls_are_drawn_against_the_clip(past):
    made = {f.name: f for f in figures(past[1].to_dict())}
    rows = made["clip-sensitivity"].rows
    assert [r["clip"] for r in rows if r["name"].startswith("IPS")][-1] == "none"
    assert len({r["clip"] for r in rows}) == 14
    assert "clip-mean-p" in made
