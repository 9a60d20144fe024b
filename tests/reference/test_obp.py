"""The Open Bandit Pipeline's estimates from the same inputs; its code made the values in `obp/`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.ope.estimators import estimator
from counterrank.ope.estimators.clipped_weight import Rows

HERE = Path(__file__).parent / "obp"
SLATE = ("SIPS", "IIPS", "RIPS", "SNSIPS", "SNIIPS", "SNRIPS")


def stored(name):
    return json.loads((HERE / f"{name}.json").read_text())


def values(result, system):
    return {row.estimator: row.value for row in result.estimates if row.system == system}


@pytest.mark.parametrize("campaign", ["all", "men", "women"])
@pytest.mark.parametrize(("logger", "target"), [("random", "bts"), ("bts", "random")])
def test_ips_and_snips_of_the_open_bandit_sample(data, campaign, logger, target):
    known = stored("bandit")
    bts = np.array(known["bts"][campaign])
    chance = bts if target == "bts" else np.full(bts.shape, 1 / len(bts))
    path = data / "open-bandit-sample" / f"{logger}_{campaign}.parquet"
    log = (
        pl.read_parquet(path, columns=["item", "position", "click", "propensity"])
        .rename({"position": "rank"})
        .with_row_index("session")
    )
    item, rank = (x.ravel() + i for i, x in enumerate(np.indices(chance.shape)))
    policy = pl.DataFrame({"item": item, "rank": rank, "propensity": chance.ravel()}).cast(
        {"item": log.schema["item"], "rank": log.schema["rank"]}
    )
    run = log.select("session", "rank").join(policy, on="rank")
    # an impression is a session of its own, and may stand at rank 2 or 3: only viewed rows
    result = cr.estimate(
        log, {target: run}, estimator=["IPS", "SNIPS"], logged="propensity", views="rows",
        disjoint="zero", test="none",
    )  # fmt: skip
    expected = known["estimates"][f"{campaign} {target}"]
    assert values(result, target) == pytest.approx(expected, abs=1e-9, rel=1e-9)


def slate_log(known):
    item = np.array(known["item"])
    session, rank = np.indices(item.shape)
    columns = {"session": session, "item": item, "rank": rank + 1}
    columns |= {name: np.array(known[name]) for name in ("reward", "propensity")}
    return pl.DataFrame({name: column.ravel() for name, column in columns.items()})


def slate_target(known, ranks):
    chance = np.repeat(np.array(known["target"])[:, None], ranks, axis=1)
    session, rank, item = np.indices(chance.shape)
    columns = {"session": session, "item": item, "rank": rank + 1, "propensity": chance}
    return pl.DataFrame({name: column.ravel() for name, column in columns.items()})


def test_slate_estimators():
    known = stored("slate")
    log, run = slate_log(known), slate_target(known, 3)
    result = cr.estimate(log, {"new": run}, estimator=SLATE, logged="propensity", test="none")
    expected = {name: known["estimates"][name] for name in SLATE}
    assert values(result, "new") == pytest.approx(expected, abs=1e-9, rel=1e-9)


def test_cascade_dr_with_the_same_q():
    known = stored("slate")
    item, c, e0 = (np.array(known[name]) for name in ("item", "reward", "propensity"))
    target, q = np.array(known["target"]), np.array(known["q"])
    n, ranks = item.shape
    session, rank = np.indices(item.shape)
    none = np.empty(0)
    rows = Rows(
        start=np.arange(n) * ranks,
        reward=c.ravel().astype(float),
        e=target[session, item].ravel(),
        e0=e0.ravel(),
        seen=none, q=none, cell=none, cell_rank=none, place=none, views=none, direct=none,
        future=q[session, rank, item].ravel(),
        ahead=(q * target[:, None]).sum(axis=2).ravel(),
    )  # fmt: skip
    found = estimator("CascadeDR").columns(rows)[0].mean()
    assert found == pytest.approx(known["estimates"]["CascadeDR"], abs=1e-9, rel=1e-9)
