"""The audits of a log, by all of its rows or by those of a fixed sample of its users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from counterrank.assumptions.audit import Extent, audit_assumptions, audit_extent
from counterrank.assumptions.audit_rows import AuditRows, number_keys
from counterrank.core.arrays import Ints
from counterrank.data.ids import as_categories, hash_ids
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.engine.partitions import Partition, Partitions
from counterrank.ope.basis import Basis
from counterrank.ope.log import LOG, LogTotals, Sessions, log_table

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
