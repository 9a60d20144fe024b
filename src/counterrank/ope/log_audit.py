"""The audits of a log, by all of its rows or by those of a fixed sample of its users."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from counterrank.assumptions.audit import Extent, audit_assumptions, audit_extent
from counterrank.assumptions.audit_rows import AuditRows, number_keys
from counterrank.core.arrays import Ints
from counterrank.core.errors import CounterrankError
from counterrank.data import logs
from counterrank.data.ids import as_categories, hash_ids
from counterrank.data.logs import Log
from counterrank.data.sources import open_source
from counterrank.diagnostics.advice import to_log
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.diagnostics.table_reports import Findings
from counterrank.engine import Engine, Partition, Partitions, Tables
from counterrank.ope.exposure_basis import Basis
from counterrank.ope.log import LOG, LogTotals, Sessions, log_table, sessions_of
from counterrank.position import ByContext, Exposure

MOST = 400_000  # rows; more would not change a verdict
Read = Callable[[Partition], Sessions | None]


def sampled_share(totals: LogTotals) -> float:
    """The share of users whose rows are audited."""
    return MOST / totals.rows


def audit_log(
    log: Partitions,
    totals: LogTotals,
    basis: Basis,
    reward: str,
    *,
    users: int | None,
    read: Read,
    sample: pl.DataFrame | None = None,
) -> list[Diagnosis]:
    """What the audits say of a log.

    ``users`` is their number in the whole log; ``read`` gives the sessions of a partition, and
    ``sample`` the rows of some users, where they were taken already.
    """
    share, label = sampled_share(totals), "auditing the log"
    if sample is None:
        sample = log.reduce(partial(_sample, read, share, "user"), label)
    if sample.height == 0:  # a few users have all the rows
        sample = log.reduce(partial(_sample, read, share, "session"), label)
    table = replace(log_table(log.heads[LOG]), frame=as_categories(sample))
    sessions = totals.number_sessions(Sessions.of(table, gaps="allow"))
    extent = Extent(totals.sessions, totals.events[reward], users)
    return audit_sessions(sessions, basis, reward, extent)


def audit_sessions(
    sessions: Sessions, basis: Basis, reward: str, extent: Extent
) -> list[Diagnosis]:
    """The audits by these sessions, of a log of that ``extent``; few where it has few events."""
    about_log = audit_extent(extent, reward, basis.views)
    if about_log[0].verdict == "fail":
        return about_log
    return [*audit_assumptions(audit_rows(sessions, basis, reward), extent), *about_log]


def audit_rows(sessions: Sessions, basis: Basis, reward: str) -> AuditRows:
    """The rows of sessions as arrays."""
    n = sessions.n
    cluster = np.arange(n) if sessions.cluster is None else sessions.cluster
    ids = sessions.units if sessions.user is None else sessions.user
    session = np.repeat(np.arange(n), sessions.blocks.length)
    item = sessions.items.lookup(sessions.item)
    rank = sessions.column("rank", 0, n).astype(np.int64)
    context, curves = sessions.context, None
    seen = np.ones(len(rank))
    if basis.views == "observed":
        seen = sessions.column("viewed", 0, n)
    if basis.model is not None:
        curves = basis.curves
        if basis.views == "latent":
            seen = basis.at(rank, context[session])
        if len(curves) == 1:
            curves = np.broadcast_to(curves, (int(context.max()) + 1, curves.shape[1]))
    named, users = bool(sessions.log.contexts), sessions.cluster is not None
    key = context if named else cluster if users else None
    alike = None
    if key is not None:
        alike = number_keys(key[session] * (int(item.max()) + 1) + item)[0]
    return AuditRows(
        cluster=number_keys(cluster)[0],
        context=context,
        half=(hash_ids(ids) & np.uint64(1)).astype(np.int64),
        turn=_turn(sessions),
        session=session,
        item=item,
        rank=rank,
        reward=sessions.column(reward, 0, n),
        seen=seen,
        alike=alike,
        views=basis.views,
        users=users,
        named=named,
        curves=curves,
    )


def _turn(sessions: Sessions) -> Ints | None:
    """Places in time: by ``timestamp``, else by ``day`` and numbered session, else unknown."""
    frame, order = sessions.blocks.frame, np.arange(sessions.n)
    for column in ("timestamp", "day"):
        if column in frame.columns:
            start = frame[column].gather(sessions.blocks.start)
            when = start.rank("dense").to_numpy().astype(np.int64)
            return np.argsort(np.lexsort((order, when)))
    names = sessions.units
    whole = names.dtype.is_integer() or names.cast(pl.Int64, strict=False).null_count() == 0
    return order if whole else None


def _sample(read: Read, share: float, by: str, part: Partition) -> pl.DataFrame | None:
    sessions = read(part)
    return None if sessions is None else sessions.sample(share, by=by)


def check_log(
    table: object,
    targets: Mapping[int, tuple[str, object]],
    weigh: Callable[..., Any],
    *,
    rewards: Sequence[str],
    model: Exposure | ByContext | None,
    contexts: Sequence[str],
    views: str,
    columns: Mapping[str, str] | None,
    users: int,
    engine: Engine,
) -> Findings:
    """Audit a log of so many ``users``, and weigh the rankers at their places in ``targets``.

    ``weigh`` estimates what rankers would have earned by this log.
    """
    there = open_source(table, trec=(), name="").columns()
    known = list(contexts) or [name for name in ("context",) if name in there]
    by = [] if model is None or model.column is None else [model.column]
    try:
        door = logs.log_schema(table, rewards=rewards, contexts=[*known, *by], columns=columns)
        with engine.open(Tables({LOG: door}, "session", ("session", "item"))) as read:
            log, basis, diagnoses = _audits(read, model, views, users)
    except CounterrankError as error:
        return Findings(fault=str(error))
    faults: dict[int, str] = {}
    if model is None and not log.has("propensity"):
        diagnoses.append(_untold())
        targets = {}
    for place, target in targets.items():
        try:
            result = weigh(
                [target], rewards=log.rewards, position_bias=model, views=views, contexts=known
            )
            diagnoses += [d for d in result.diagnoses if d.subject != "log"]
        except CounterrankError as error:
            faults[place] = str(error)
    return Findings(diagnoses, to_log(log, basis.views, diagnoses), "", faults)


def _audits(
    log: Partitions, model: Exposure | ByContext | None, views: str, users: int | None
) -> tuple[Log, Basis, list[Diagnosis]]:
    """The log's head, what its rows say of views, and the audits by its first reward."""
    gaps, head = "allow" if views == "rows" else "error", log_table(log.heads[LOG])
    totals = LogTotals.read(log, gaps)
    basis = Basis("rank", views, model).with_totals(totals)
    count = users if head.has("user") else None
    read = partial(_numbered, totals, gaps)
    return (
        head,
        basis,
        audit_log(log, totals, basis, head.rewards[0], users=count, read=read),
    )


def _numbered(totals: LogTotals, gaps: str, part: Partition) -> Sessions | None:
    sessions = sessions_of(part, gaps)
    return None if sessions is None else totals.number_sessions(sessions)


def _untold() -> Diagnosis:
    text = (
        "No position model was given and no propensity logged, so no ranker can be weighed. Give"
        " one, as in --position-bias log2, or learn it: counterrank exposure LOG --out pbm.json."
    )
    return Diagnosis("position model", "log", 0.0, 1.0, "caution", text)
