"""The same small questions for every engine: each verb with all of its measures or estimators."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import counterrank as cr
from making import shown, weighed, world

Make = Callable[[pl.DataFrame], object]  # a frame as whatever holds tables

MEASURES = (
    "CG@5 DCG@5 DCG(gain=exp)@5 DCG(discount=power(eta=0.5)) nDCG@5 nDCG(gain=exp) pnDCG@5 AP@10"
    " AP(mean=geometric)@5 RR ERR@5 ERR(top=user)@3 Bpref InfAP InfAP(variant=trec)@4 P@5"
    " P(rel=3,over=listed)@3 Recall@5 F1@5 Rprec Success@1 RBP ARP@10 Judged@5"
).split()
ESTIMATORS = "IPS IPS(clip=3) SNIPS DM DR DR(clip=3) SNDR DCG nDCG pnDCG".split()
SLATES = "IPS SNIPS DM DR IIPS SNIIPS SIPS SNSIPS RIPS SNRIPS PI CascadeDR".split()
SALES = "Naive IPS IPS(clip=5) SNIPS DM DR SNDR".split()
MOVES = ("engine", "partitions", "inference", "provenance")  # what an engine may say of itself


@dataclass(frozen=True)
class Case:
    """A verb, its tables by argument, and its options."""

    verb: str
    tables: dict[str, Any]
    options: dict[str, Any]

    def told(self, make: Make, **more: Any) -> dict[str, Any]:
        """The document of the result, as JSON holds it."""
        given = {
            name: {n: make(t) for n, t in table.items()} if isinstance(table, dict) else make(table)
            for name, table in self.tables.items()
        }
        first, *rest = given.values()
        result = getattr(cr, self.verb)(first, *rest, **self.options, **more)
        return json.loads(json.dumps(result.to_dict(), default=float))


@cache
def cases() -> dict[str, Case]:
    """Every verb that runs on every engine."""
    judged, runs = world(users=30)
    tied = {n: r.select("user", "item", score=-(pl.col("rank") // 3)) for n, r in runs.items()}
    cut, listed = weighed()
    log, targets = _log()
    slates, chances = _slates()
    funnel, lists = _funnel()
    seen = shown(seen=[1, 0.7, 0.5, 0.4], sessions=600, seed=1, per_user=2)
    bare = {"position_bias": "log2", "reward": ["click", "spend"]}
    return {
        "evaluate": Case("evaluate", {"judgments": judged, "runs": runs}, {"measure": MEASURES}),
        "evaluate, ties": Case(
            "evaluate", {"judgments": judged, "runs": tied}, {"measure": MEASURES, "test": "t"}
        ),
        "estimate": Case(
            "estimate", {"log": log, "runs": targets},
            {**bare, "estimator": ESTIMATORS, "context": "context"},
        ),
        "estimate, curve of its views": Case(
            "estimate", {"log": log, "runs": targets},
            {
                "position_bias": "views", "reward": ["click", "spend"], "estimator": ESTIMATORS,
                "per": "impression",
            },
        ),
        "estimate, curve of its clicks": Case(
            "estimate", {"log": seen.drop("viewed"), "runs": {"new": _upside_down(seen)}},
            {"position_bias": "harvest", "context": ["query"]},
        ),
        "estimate, curve of another log": Case(
            "estimate", {"log": log, "runs": targets},
            {
                "position_bias": cr.exposure(seen, method="views", model="power").model,
                "reward": "click", "interval": "bootstrap", "resamples": 200,
            },
        ),
        "estimate, slates": Case(
            "estimate", {"log": slates, "runs": {"new": chances}},
            {"reward": "click", "estimator": SLATES, "logged": "propensity"},
        ),
        "funnel": Case(
            "funnel", {"funnel": funnel, "runs": lists},
            {"estimator": SALES, "measure": ["DCG@5", "CG@5", "P@5", "RBP"]},
        ),
        "funnel, whole rankings": Case(
            "funnel", {"funnel": funnel, "runs": _ranked(funnel)},
            {"estimator": SALES, "measure": ["RankSum", "DCG"]},
        ),
        "funnel, sales": Case(
            "funnel", {"funnel": _seen(funnel), "runs": lists},
            {"estimator": SALES, "position_bias": "power(eta=0.5)"},
        ),
        "funnel, events": Case(
            "funnel", {"funnel": _events(funnel), "runs": lists},
            {"estimator": ["Naive", "IPS"], "exposure": "rates", "position_bias": "log2"},
        ),
        "funnel, models": Case(
            "funnel", {"funnel": funnel.drop("ctr", "cvr"), "runs": lists},
            {
                "estimator": SALES, "ctr": "rates", "cvr": "rates", "measure": ["DCG@5", "P@5"],
            },
        ),
        "strata": Case(
            "strata", {"judgments": cut, "runs": listed},
            {"measure": ["nDCG@5", "P@5", "AP@10"], "cut": "quantile"},
        ),
        "exposure, views": Case("exposure", {"log": seen}, {"method": "views"}),
        "exposure, em": Case(
            "exposure", {"log": seen.drop("viewed")}, {"method": "em", "context": ["query"]}
        ),
        "exposure, harvest": Case(
            "exposure", {"log": seen.drop("viewed")},
            {"method": "harvest", "context": ["query"]},
        ),
        "assess online": Case(
            "assess_online", {"table": _dated(log), "runs": targets},
            {**bare, "estimator": ["IPS", "DR"], "context": "context"},
        ),
        "check": Case(
            "check", {"tables": {"log": log, "new": targets["new"]}}, {"position_bias": "log2"}
        ),
    }  # fmt: skip


def _upside_down(log: pl.DataFrame) -> pl.DataFrame:
    """The ranker that turns every list of a log around."""
    return log.select("session", "item", rank=pl.max("rank").over("session") + 1 - pl.col("rank"))


def _log() -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """A log by position, and two rankers: one with ranks, one with scores that tie."""
    rng = np.random.default_rng(5)
    sessions, depth = 240, 5
    item = np.argsort(rng.random((sessions, 12)), axis=1)[:, :depth]
    rank = np.tile(np.arange(1, depth + 1), (sessions, 1))
    session = np.repeat(np.arange(sessions), depth)
    seen = rng.random(item.shape) < 1 / np.log2(rank + 1)
    click = seen & (rng.random(item.shape) < 0.2 + 0.04 * item)
    log = pl.DataFrame(
        {
            "session": [f"s{s}" for s in session],
            "user": [f"u{s // 3}" for s in session],
            "context": [("home", "shop")[s % 2] for s in session],
            "item": [f"i{i}" for i in item.ravel()],
            "rank": rank.ravel(),
            "viewed": seen.ravel().astype(int),
            "click": click.ravel().astype(int),
            "spend": np.where(click, rng.gamma(2.0, 3.0, item.shape), 0).ravel(),
        }
    )
    moved = np.argsort(rng.random(item.shape), axis=1).ravel() + 1
    new = log.select("session", "item", rank=pl.Series(moved))
    old = log.select("session", "item", score=pl.Series(-(moved // 2)).cast(pl.Float64))
    return log, {"new": new, "old": old}


def _dated(log: pl.DataFrame) -> pl.DataFrame:
    """The log as one of three days with three arms."""
    number = pl.col("session").str.slice(1).cast(pl.Int64)
    arm = pl.lit(pl.Series(["control", "new", "old"])).gather(number // 3 % 3)
    return log.with_columns(day=number // 80, arm=arm)


def _slates() -> tuple[pl.DataFrame, pl.DataFrame]:
    """A log of slates with propensities, and a target's whole distribution."""
    rng = np.random.default_rng(6)
    sessions, ranks, items = 150, 3, 4
    chance = [rng.dirichlet(np.full(items, 3.0), (sessions, ranks)) for _ in "ab"]
    logger, target = (0.7 * p + 0.3 / items for p in chance)
    item = (rng.random((sessions, ranks, 1)) > logger.cumsum(axis=2)[:, :, :-1]).sum(axis=2)
    session, rank = np.indices(item.shape)
    columns = {
        "session": session, "item": item, "rank": rank + 1,
        "click": (rng.random(item.shape) < 0.3).astype(float),
        "propensity": logger[session, rank, item],
    }  # fmt: skip
    log = pl.DataFrame({k: v.ravel() for k, v in columns.items()})
    session, rank, item = np.indices(target.shape)
    columns = {"session": session, "item": item, "rank": rank + 1, "propensity": target}
    return log, pl.DataFrame({k: v.ravel() for k, v in columns.items()})


def _funnel() -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Clicks, conversions and their predictions, with lists of two recommenders."""
    rng = np.random.default_rng(7)
    users, items = 80, 25
    ctr = rng.uniform(0.1, 0.6, (users, items))
    cvr = rng.uniform(0.05, 0.5, (users, items))
    click = rng.random(ctr.shape) < ctr
    user, item = (x.ravel() for x in np.indices(ctr.shape))
    table = pl.DataFrame(
        {
            "user": user, "item": item, "click": click.ravel().astype(int),
            "conversion": (click & (rng.random(cvr.shape) < cvr)).ravel().astype(int),
            "ctr": ctr.ravel(), "cvr": cvr.ravel(),
        }
    )  # fmt: skip
    lists = {}
    for name, noise in (("a", 0.1), ("b", 0.6)):
        score = (cvr + noise * rng.random(cvr.shape)).ravel()
        best = pl.DataFrame({"user": user, "item": item, "score": score})
        lists[name] = best.filter(pl.col("score").rank(descending=True).over("user") <= 8)
    return table, lists


def _seen(funnel: pl.DataFrame) -> pl.DataFrame:
    """The same with what was shown, all that was clicked and some more, and how likely that was."""
    some = pl.Series(np.random.default_rng(8).random((2, funnel.height))[0] < 0.7)
    shown = (some | (funnel["click"] == 1)).cast(pl.Int64)
    chance = 0.6 + 0.3 * np.random.default_rng(9).random(funnel.height)
    return funnel.with_columns(shown=shown, exposure=pl.Series(chance))


def _events(funnel: pl.DataFrame) -> pl.DataFrame:
    """The same as events."""
    steps = (("shown", "view", 1), ("click", "click", 2), ("conversion", "purchase", 3))
    table = _seen(funnel)
    return pl.concat(
        table.filter(pl.col(column) == 1)
        .select("user", "item")
        .with_columns(event=pl.lit(event), time=pl.lit(time))
        for column, event, time in steps
    )


def _ranked(funnel: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Rankings of all items by each of two scores."""
    scores = {"a": pl.col("cvr"), "b": pl.col("cvr") * pl.col("ctr")}
    return {name: funnel.select("user", "item", score=score) for name, score in scores.items()}


def differences(mine: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two documents differ: words at all, numbers by more than 1e-12 of their size."""
    if isinstance(mine, dict):
        assert mine.keys() == other.keys(), path
        for key in mine:
            if key not in MOVES:
                yield from differences(mine[key], other[key], f"{path}/{key}")
    elif isinstance(mine, list):
        assert len(mine) == len(other), path
        for place, (a, b) in enumerate(zip(mine, other, strict=True)):
            yield from differences(a, b, f"{path}[{place}]")
    elif isinstance(mine, float) and isinstance(other, float):
        loose = 1e-9 if "/p" in path[-14:] else 1e-12  # a tail probability magnifies
        if not (math.isclose(mine, other, rel_tol=loose, abs_tol=loose) or mine != mine != other):
            yield f"{path}: {mine!r}, {other!r}"
    elif mine != other:
        yield f"{path}: {mine!r}, {other!r}"
