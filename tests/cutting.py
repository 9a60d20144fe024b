"""Judged tables that are hard to cut, and the same evaluation by partitions of them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.core.parallel import quiet
from counterrank.data.runs import Policies
from counterrank.engine import Engine
from counterrank.engine.partitions import cut_in_memory
from counterrank.judged.pipeline import evaluate, measure_systems
from counterrank.judged.request import EvaluateRequest, JudgedTables, parse_measures
from counterrank.metrics import measure
from counterrank.stats.plan import Plan
from making import world
from split import Parts

LABELS = (
    "CG CG(gain=exp)@3 CG(gain=binary,rel=2)@3 DCG DCG@3 DCG(gain=exp)@3"
    " DCG(discount=power(eta=0.5))@3 DCG(discount=geometric(p=0.9)) DCG(discount=jarvelin)"
    " DCG(discount=table(1,0.5,0.1)) IDCG IDCG(gain=exp)@3 nDCG nDCG@3 nDCG(ideal=all)@3"
    " nDCG(gain=exp)@3 nDCG(ideal=list)@3 nDCG(gain=binary,rel=3) P P@3 P(rel=3,over=listed)@3"
    " Recall Recall(rel=2)@3 F1@3"
    " F1(rel=2,over=listed)@3 AP AP(rel=2)@3 AP(over=min)@3 RR RR(rel=3)@2 ERR ERR(top=6)@3"
    " ERR(top=user)@3 Bpref Bpref(rel=2)@3 InfAP InfAP(rel=2)@3 InfAP(variant=trec)@4 Rprec"
    " Rprec(rel=2)@2 Success@2 Success(rel=3) RBP RBP(rel=2,p=0.5)@3 ARP@3 ARP(rel=2)@5 Judged"
    " Judged@3 pnDCG@3 pnDCG(gain=exp) AP(mean=geometric)@5 DCG(mean=geometric)"
).split()
LINEAR = [label for label in LABELS if measure(label).linear]
COUNTS, MANY = (1, 3, 8), 20  # of 60 users; the latter once in each file, for it takes long


@dataclass(frozen=True)
class Split(Engine):
    """Tables in ``count`` partitions in memory; results go over the wire, last partition first."""

    name = "local"
    count: int
    inference: str = "units"
    memory_budget: int | None = None

    @contextmanager
    def cut(self, tables, progress=quiet):
        with cut_in_memory(self, replace(tables, lazy=False), progress) as whole:
            yield Parts(whole, tables.unit, self.count)


def cut(truth, runs, count, labels, plan, policies, inference="units", budget=None, **more):
    """The same as ``evaluate``, by partitions."""
    request = EvaluateRequest(parse_measures(labels), plan, policies, **more)
    engine = Split(count, inference, budget)
    return evaluate(request, JudgedTables.of(truth, runs), engine)


def matches(truth, runs, labels, engine, **policies):
    """Judgments and hits."""
    request = EvaluateRequest(parse_measures(labels), Plan(), Policies(**policies), hits=True)
    return measure_systems(request, JudgedTables.of(truth, runs), engine).measured.matches


def uneven(seed=0, *, text=True):
    """Users missing on either side or with nothing to find, and one list of a thousand."""
    truth, runs = world(users=60, items=20, seed=seed)
    rng = np.random.default_rng(seed)
    truth = truth.filter(~pl.col("user").is_in(["u3", "u7"]))
    truth = truth.with_columns(
        rating=pl.when(pl.col("user").is_in(["u1", "u5", "u40"])).then(0).otherwise("rating")
    )
    found = {}
    for name, table in runs.items():
        gone = [f"u{u}" for u in rng.choice(60, 5, replace=False)]
        found[name] = table.filter(~pl.col("user").is_in(gone))
    long = pl.DataFrame(
        {"user": "u9", "item": [f"x{i}" for i in range(1000)], "rank": range(13, 1013)}
    )
    found["c"] = pl.concat([found["c"], long.with_columns(pl.col("rank").cast(pl.Int64))])
    if not text:
        change = [
            pl.col(c).str.slice(1).str.replace("^$", "0").cast(pl.Int64) for c in ("user", "item")
        ]
        found["c"] = found["c"].filter(~pl.col("item").str.starts_with("x"))
        truth, found = (
            truth.with_columns(change),
            {n: t.with_columns(change) for n, t in found.items()},
        )
    return truth, found


def tied(runs, levels=4):
    """Scores in few levels instead of ranks, rows shuffled."""
    return {
        name: table.with_columns(score=-(pl.col("rank") % levels).cast(pl.Float64))
        .drop("rank")
        .sample(fraction=1, shuffle=True, seed=3)
        for name, table in runs.items()
    }
