"""The passes over a log in buckets: facts, models, values, and a sample for the audits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from counterrank.engine import Buckets, Engine, Spark
from counterrank.logged import (
    Asked,
    Basis,
    Earned,
    Known,
    Regressor,
    Sessions,
    Shared,
    Work,
    fitted,
    merged,
    together,
)
from counterrank.logs import Log, certainty
from counterrank.trust.audit_rows import MOST
from counterrank.trust.audits import Extent, log_audits
from counterrank.trust.diagnosis import Diagnosis


def looked_at(held: Buckets, asked: Asked, log: Log) -> Shared:
    """What all buckets must agree on."""
    parts = [part for part in held.mapped(asked.facts, "reading the log") if part is not None]
    shared = merged(parts)
    if log.has("propensity") and shared.certain == shared.rows:
        raise certainty(log.name, shared.rows)
    return shared


def reward_models(held: Buckets, known: Known, work: Work, kind: str | Regressor) -> dict[str, Any]:
    """A cross-fitted reward model for each reward."""
    total = held.folded(partial(known.rewards, work.rewards), "learning what items earn")
    assert total is not None
    return {reward: fitted(own, total.shape, kind) for reward, own in total.sums.items()}


def with_future(held: Buckets, known: Known, name: str, work: Work, kind: str | Regressor) -> Work:
    """The work on one target, with models of what it earns from a rank on."""
    total = held.folded(partial(known.futures, name, work), f"learning what {name} earns")
    assert total is not None
    models = {reward: fitted(own, total.shape, kind) for reward, own in total.sums.items()}
    return replace(work, futures=models)


def weighed(held: Buckets, known: Known, works: dict[str, Work]) -> Earned:
    """Every target in every session, in the order of sessions."""
    share = MOST / known.shared.rows
    parts = held.mapped(partial(known.values, works, share), "joining log and rankers")
    return together([part for part in parts if part is not None])


def audits_of(
    held: Buckets, known: Known, earned: Earned, basis: Basis, reward: str
) -> list[Diagnosis]:
    """The audits of the log, by all rows or by those of a fixed sample of users."""
    if held.whole:
        sides = held.mapped(known.sides, "auditing the log")[0]
        assert sides is not None
        return log_audits(sides[0], basis, reward)
    rows, share = earned.sample, MOST / known.shared.rows
    if rows.height == 0:  # a few users have all the rows
        parts = held.mapped(partial(known.sample, share, "session"), "auditing the log")
        rows = pl.concat([part for part in parts if part is not None])
    users = None if earned.cluster is None else int(earned.cluster.max()) + 1
    extent = Extent(known.shared.sessions, known.shared.events[reward], users)
    head = known.asked.given.tables(held.heads).log
    if rows.schema["item"] == pl.String:
        rows = rows.with_columns(pl.col("item").cast(pl.Categorical))
    sessions = known.shared.told(Sessions.of(replace(head, frame=rows), gaps="allow"))
    return log_audits(sessions, basis, reward, extent=extent)


def ran_by(chosen: Engine, held: Buckets) -> dict[str, Any]:
    """Where it ran."""
    return {"engine": "spark" if isinstance(chosen, Spark) else "local", "partitions": held.count}
