"""The work of ``evaluate`` on one bucket of users: a pure function of its tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import polars as pl

from counterrank.core.merge import by_key, union
from counterrank.data.runs import RunTables
from counterrank.engine import Bucket
from counterrank.judged.measured import Asked, Truth, measured
from counterrank.judged.part import Measured
from counterrank.judged.ties import bracketed
from counterrank.moments import Draws
from counterrank.pool import greatest, pooled

JUDGMENTS = "judgments"


@dataclass(frozen=True)
class Facts:
    """What must be known of all buckets before any value.

    ``top`` is the greatest rating, ``users`` the number of judged users, ``systems`` the names in
    the columns ``system`` of those runs that have one.
    """

    top: Annotated[float, max]
    users: int
    systems: Annotated[dict[str, pl.Series], by_key(union)]


def facts(runs: RunTables, bucket: Bucket) -> Facts:
    """The facts of one bucket."""
    judged = bucket.tables[JUDGMENTS]
    users = judged.frame["user"].n_unique()
    return Facts(greatest(judged), users, runs.systems_in(bucket.tables))


def part(
    asked: Asked,
    top: float,
    runs: RunTables,
    keep: str | Draws,
    bucket: Bucket,
) -> Measured:
    """Every measure of every system; ``top`` is the greatest rating of all buckets.

    ``keep`` is values, hits as well, or what is drawn beside sums where only these are kept.
    """
    pool = pooled(bucket.tables[JUDGMENTS])
    truth = Truth(replace(pool, top=max(top, pool.top)), asked)
    found = [measured(run, truth) for run in runs.lists(bucket.tables)]
    if keep != "hits":
        found = [bracketed(system, truth) for system in found]
    done = Measured.of(found, truth, keep=keep if isinstance(keep, str) else "values")
    return done if isinstance(keep, str) else done.summed(asked, keep)
