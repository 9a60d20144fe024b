"""The passes over a log in buckets: facts, models, values, and a sample for the audits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl

from counterrank.arrays import Ints
from counterrank.assumptions.audit import Extent, log_audits
from counterrank.assumptions.audit_rows import MOST
from counterrank.compare import Plan
from counterrank.data.ids import as_categories
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.engine import Bucket, Buckets, Engine
from counterrank.estimates import Uncertain
from counterrank.logged import (
    LOGGED,
    Asked,
    Basis,
    Earned,
    Estimator,
    Key,
    Known,
    OnPolicy,
    Regressor,
    Sessions,
    Shared,
    Work,
    estimated,
    fitted,
    settled_items,
    together,
)
from counterrank.logged.merging import Added, Merging, brought_together, planned
from counterrank.logged.merging import Plan as Layout
from counterrank.logs import Log, certainty
from counterrank.moments import Draws, Kept


def looked_at(held: Buckets, asked: Asked, log: Log) -> Shared:
    """What all buckets must agree on."""
    shared = settled_items(held.folded(asked.facts, "reading the log"))
    if log.has("propensity") and shared.certain == shared.rows:
        raise certainty(log.name, shared.rows)
    return shared


def refuse_certain(held: Buckets, name: str) -> None:
    """Refuse chances that are 1 in every row of the log ``name``: the door sees a part of them."""
    head = held.heads[name]
    if held.whole or "propensity" not in head.frame.columns:
        return
    if sum(held.mapped(partial(_uncertain, name), "looking at the chances")) == 0:
        raise certainty(head.name, held.inputs[name].rows)


def _uncertain(name: str, bucket: Bucket) -> int:
    return int((bucket.tables[name].frame["propensity"] != 1).sum())


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


@dataclass(frozen=True)
class Weighed:
    """Every estimate, and what it rests on.

    ``kept`` are the sessions of each ranker and ``pairs`` what is compared over sessions that two
    rankers share, where sessions are not kept; ``users`` is their number.
    """

    earned: Earned
    found: Mapping[Key, Uncertain]
    kept: dict[str, Ints]
    pairs: dict[Key, tuple[Uncertain, Uncertain]]
    users: int | None


def weighed(held: Buckets, known: Known, works: dict[str, Work], plan: Plan, keep: Kept) -> Weighed:
    """Every target in every session: session by session in their order, or as sums."""
    share, work = MOST / known.shared.rows, next(iter(works.values()))
    if keep.units:
        parts = held.mapped(partial(known.values, works, share), "joining log and rankers")
        earned = together([part for part in parts if part is not None])
        found, places = estimated(earned, work)
        users = None if earned.cluster is None else int(earned.cluster.max()) + 1
        return Weighed(earned, found, places, {}, users)
    base = plan.baseline or LOGGED
    layout = planned(work, list(works), base, known.shared.ranks, plan.drawn())
    total = brought_together(held, Merging(known, works, share, layout))
    return _of_sums(total, layout, work, base, held)


def columns_of(work: Work, targets: Sequence[str], ranks: int) -> int:
    """Columns of a session, of all estimates together."""
    return sum(planned(work, targets, LOGGED, ranks, Draws()).widths.values())


def _of_sums(total: Added, layout: Layout, work: Work, base: str, held: Buckets) -> Weighed:
    """The estimates of every group of sessions; the first group that has one tells its value."""
    functions = {key: _function(key, work) for key in layout.widths}
    groups = layout.estimates(total.sums, functions, work.per)
    found: dict[Key, Uncertain] = {}
    pairs: dict[Key, tuple[Uncertain, Uncertain]] = {}
    for own in groups:
        found = {**own, **found}
        for key, e in own.items():
            other = (LOGGED, "OnPolicy", key[2]) if base == LOGGED else (base, *key[1:])
            if other in own and key[0] not in (base, LOGGED):
                pairs[key] = (e, own[other])
    users = total.sums[0].moments.clusters if "user" in held.heads["log"].frame.columns else None
    found = {key: found[key] for key in layout.widths}
    return Weighed(together(total.parts), found, {}, pairs, users)


def _function(key: Key, work: Work) -> Estimator:
    return next((e for e in work.estimators if str(e) == key[1]), OnPolicy())


def audits_of(
    held: Buckets,
    known: Known,
    basis: Basis,
    reward: str,
    *,
    users: int | None,
    rows: pl.DataFrame | None = None,
) -> list[Diagnosis]:
    """The audits of the log, by all rows or by those of a fixed sample of users.

    ``users`` is their number in the whole log, ``rows`` the sample where it was taken already.
    """
    word = "auditing the log"
    if held.whole:
        told = held.mapped(known.told, word)[0]
        assert told is not None
        return log_audits(told[0], basis, reward)
    share = MOST / known.shared.rows
    if rows is None:
        rows = _sampled(held, partial(known.sample, share, "user"), word)
    if rows.height == 0:  # a few users have all the rows
        rows = _sampled(held, partial(known.sample, share, "session"), word)
    extent = Extent(known.shared.sessions, known.shared.events[reward], users)
    head = known.asked.given.log(held.heads)
    log = replace(head, frame=as_categories(rows))
    sessions = known.shared.told(Sessions.of(log, gaps="allow"))
    return log_audits(sessions, basis, reward, extent=extent)


def _sampled(
    held: Buckets, sample: Callable[[Bucket], pl.DataFrame | None], word: str
) -> pl.DataFrame:
    parts = held.mapped(sample, word)
    return pl.concat([part for part in parts if part is not None])


def where(chosen: Engine, held: Buckets) -> dict[str, Any]:
    """Where it ran."""
    return {"engine": chosen.name, "partitions": held.count}


def ran_by(chosen: Engine, held: Buckets, keep: Kept) -> dict[str, Any]:
    """Where it ran, and what was kept."""
    return {**where(chosen, held), "inference": keep.protocol()}
