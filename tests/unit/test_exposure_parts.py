"""A position model is the same from one partition and from many, whatever it is learned by."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.engine import Local
from counterrank.engine.disk import OnDisk
from counterrank.engine.wire import pack, unpack
from making import scrolled, shown

SEEN = 1 / np.arange(1, 6)


def table(**change) -> pl.DataFrame:
    """A log with texts as ids, contexts of two kinds, a reward that is no click, and coins."""
    given = {"seen": SEEN, "sessions": 900, "seed": 1, "per_user": 3, "queries": 3} | change
    log = shown(**given)
    rng = np.random.default_rng(3)
    coin = rng.integers(1, 8, log["session"].n_unique())
    return log.with_columns(
        pl.col("session", "item").cast(pl.String) + "x",
        day=pl.col("session").hash(7) % 2,
        device=(pl.col("session").hash(5) % 3).cast(pl.String),
        dwell=pl.col("click") * pl.Series(rng.exponential(3.0, log.height)),
        coin=pl.Series(coin)[log["session"].rank("dense").cast(pl.Int64) - 1],
    )


def viewed_only() -> pl.DataFrame:
    log = scrolled(length=8, sessions=500, seed=4, a=3.0, b=1.0)
    click = np.random.default_rng(1).random(log.height) < 0.2
    return log.with_columns(pl.Series("click", click.astype(float)))


MIXED, SHUFFLED, SCROLLED = table(), table(jitter=1e6, seed=2), viewed_only()
ASKED = {"context": ["query"], "reward": "click"}
CASES = {
    "auto, views": (MIXED, {}),
    "auto, depth": (SCROLLED, {}),
    "auto, harvest": (MIXED.drop("viewed"), ASKED),
    "auto, ranks": (MIXED, {"ranks": 3}),
    "views": (MIXED, {"method": "views", "reward": "click"}),
    "views by": (MIXED, {"method": "views", "by": "device"}),
    "views, a curve": (MIXED, {"method": "views", "model": "power"}),
    "depth, all rows": (MIXED, {"method": "depth"}),
    "depth": (SCROLLED, {"method": "depth", "length": 8, "reward": "click"}),
    "depth by": (MIXED, {"method": "depth", "by": "device", "ranks": 4}),
    "depth, first ranks": (SCROLLED, {"method": "depth", "ranks": 4, "model": "geometric"}),
    "harvest": (MIXED, {"method": "harvest"} | ASKED),
    "harvest, two contexts": (MIXED, {"method": "harvest", "context": ["query", "day"]}),
    "harvest by": (MIXED, {"method": "harvest", "by": "device"} | ASKED),
    "harvest, no users": (MIXED.drop("user"), {"method": "harvest", "by": "query"}),
    "harvest, dwell": (MIXED, {"method": "harvest", "context": ["query"], "reward": "dwell"}),
    "harvest, a curve": (MIXED, {"method": "harvest", "model": "power"} | ASKED),
    "em": (MIXED, {"method": "em"} | ASKED),
    "em, dwell": (MIXED, {"method": "em", "context": ["query"], "reward": "dwell"}),
    "em by": (MIXED.drop("user"), {"method": "em", "by": "device", "ranks": 4} | ASKED),
    "swap": (SHUFFLED, {"method": "swap"} | ASKED),
    "swap, dwell": (SHUFFLED, {"method": "swap", "reward": "dwell"}),
    "swap by": (SHUFFLED, {"method": "swap", "by": "device"} | ASKED),
    "coins": (MIXED, {"method": "swap", "swapped": "coin", "reward": "click"}),
    "coins by": (table(sessions=3000), {"method": "swap", "swapped": "coin", "by": "device"}),
}


def everything(result) -> dict[str, object]:
    """All that a result holds; the label has the numbers of the model once more, as text."""
    out = result.to_dict() | {"curves": []}
    out["tables"] |= {"label": ""}
    out["provenance"]["options"].pop("engine", None)
    out["protocol"] = {n: x for n, x in out["protocol"].items() if n != "partitions"}
    for _, one in result.learned.curves():
        out["curves"].append(
            [one.curve.covariance, one.curve.clusters, vars(one.misfit or object), one.balance,
             one.gaps, one.going_on]
        )  # fmt: skip
    return out


def same(one, other) -> None:
    """Equal, numbers to 1e-12."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            same(one[name], other[name])
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    elif isinstance(one, (float, np.ndarray)):
        scale = np.abs(one).max() if isinstance(one, np.ndarray) else 1e-3
        assert other == pytest.approx(one, rel=1e-12, abs=1e-12 * scale, nan_ok=True)
    else:
        assert one == other


@pytest.mark.parametrize("name", CASES)
def test_partitions_change_nothing(name):
    log, options = CASES[name]
    whole = everything(cr.exposure(log, **options))
    for count in (1, 3, 20):
        mixed = log.sample(fraction=1.0, shuffle=True, seed=count)
        found = cr.exposure(mixed, engine=Local(partitions=count), **options)
        same(whole, everything(found))


FEW = MIXED.filter(pl.col("session").hash(1) % 40 == 0)
REFUSED = {
    "no views": (MIXED.drop("viewed"), {"method": "views"}),
    "all viewed": (MIXED.with_columns(viewed=1), {"method": "views"}),
    "none viewed": (MIXED.with_columns(viewed=0, click=0, dwell=0), {"method": "depth"}),
    "too long": (SCROLLED, {"method": "depth", "length": 3}),
    "nobody stops": (MIXED.drop("viewed"), {"method": "depth"}),
    "no rank 2": (MIXED.filter(pl.col("rank") != 2), {"method": "harvest"}),
    "no rank 1": (MIXED.filter(pl.col("rank") > 1), {"ranks": 1}),
    "too deep": (MIXED.with_columns(rank=pl.col("rank") * 1_000_000), {}),
    "no rewards": (MIXED.with_columns(click=0), {"method": "em", "reward": "click"}),
    "losses": (MIXED.with_columns(dwell=-pl.col("dwell")), {"method": "em", "reward": "dwell"}),
    "fixed": (MIXED.with_columns(item=pl.col("rank")), {"method": "harvest"}),
    "apart": (
        MIXED.with_columns(item=(pl.col("rank") > 2).cast(pl.Int64)),
        {"method": "harvest", "reward": "click"},
    ),
    "few": (FEW, {"method": "swap", "reward": "click"}),
    "few of each": (MIXED, {"method": "swap", "by": "session", "reward": "click"}),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_partitions_refuse_as_the_whole_does(name):
    log, options = REFUSED[name]
    with pytest.raises(cr.InputError) as whole:
        cr.exposure(log, **options)
    with pytest.raises(cr.InputError) as cut:
        cr.exposure(log, engine=Local(partitions=7), **options)
    assert str(cut.value) == str(whole.value)


def test_a_session_is_one_of_its_user():
    """Sessions numbered from 1 for each user are told apart, in one partition as in many."""
    counted = MIXED.with_columns(session=pl.col("session").rank("dense").over("user"))
    whole = cr.exposure(counted, method="depth")
    assert whole.learned.whole.basis.sessions == MIXED["session"].n_unique()
    found = cr.exposure(counted, method="depth", engine=Local(partitions=5))
    same(everything(whole), everything(found))


@pytest.mark.parametrize("name", ["auto, views", "depth", "harvest by", "swap", "em", "coins"])
def test_the_work_of_a_partition_and_its_results_can_be_sent(name, monkeypatch):
    pickled = pytest.importorskip("pyspark.cloudpickle")
    import pickle

    plain = OnDisk._results

    def sent(self, work, label):
        there = pickle.loads(pickled.dumps(work))
        return (unpack(pack(result)) for result in plain(self, there, label))

    monkeypatch.setattr(OnDisk, "_results", sent)
    log, options = CASES[name]
    found = cr.exposure(log, engine=Local(partitions=2), **options)
    same(everything(cr.exposure(log, **options)), everything(found))
