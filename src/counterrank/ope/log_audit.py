"""The audits of a log, by all of its rows or by those of a fixed sample of its users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from counterrank.data.ids import as_categories
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.engine.partitions import Partition, Partitions
from counterrank.ope.basis import Basis
from counterrank.ope.log import LOG, LogTotals, Sessions, log_table

MOST = 400_000  # rows; more would not change a verdict
Read = Callable[[Partition], Sessions | None]


@dataclass(frozen=True)
class Extent:
    """How much a log holds: sessions, rows with a reward, users if they were logged."""

    sessions: int
    events: int
    users: int | None


Audit = Callable[[Sessions, Basis, str, Extent], list[Diagnosis]]


def sampled_share(totals: LogTotals) -> float:
    """The share of users whose rows are audited."""
    return MOST / totals.rows


def audit_log(
    log: Partitions,
    totals: LogTotals,
    basis: Basis,
    reward: str,
    audit: Audit,
    *,
    users: int | None,
    read: Read,
    sample: pl.DataFrame | None = None,
) -> list[Diagnosis]:
    """What ``audit`` says of a log.

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
    return audit(sessions, basis, reward, extent)


def _sample(read: Read, share: float, by: str, part: Partition) -> pl.DataFrame | None:
    sessions = read(part)
    return None if sessions is None else sessions.sample(share, by=by)
