"""The work of ``evaluate`` on one bucket of users: a pure function of its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from counterrank.engine import Bucket
from counterrank.judged.measured import Asked, Truth, measured
from counterrank.judged.part import Measured
from counterrank.judged.ties import bracketed
from counterrank.pool import greatest, pooled
from counterrank.schema import Table

JUDGMENTS = "judgments"


@dataclass(frozen=True)
class Facts:
    """What must be known of all buckets before any value.

    ``top`` is the greatest rating, ``users`` the number of judged users, ``systems`` the names in
    each run's column ``system`` (none: it has no such column).
    """

    top: float
    users: int
    systems: tuple[tuple[str, ...], ...]

    @classmethod
    def merged(cls, parts: Sequence[Facts]) -> Facts:
        """Those of all buckets; systems by name, as no order of rows is known."""
        each = zip(*(p.systems for p in parts), strict=True)
        return cls(
            top=max(p.top for p in parts),
            users=sum(p.users for p in parts),
            systems=tuple(tuple(sorted({name for own in x for name in own})) for x in each),
        )


def facts(runs: tuple[str, ...], bucket: Bucket) -> Facts:
    """The facts of one bucket; ``runs`` are the names of its tables of lists."""
    judged = bucket.tables[JUDGMENTS]
    frames = [bucket.tables[run].frame for run in runs]
    return Facts(
        top=greatest(judged),
        users=judged.frame["user"].n_unique(),
        systems=tuple(
            tuple(frame["system"].unique()) if "system" in frame.columns else () for frame in frames
        ),
    )


def part(
    asked: Asked, known: Facts, runs: tuple[tuple[str, str], ...], keep: str, bucket: Bucket
) -> Measured:
    """Every measure of every system; ``runs`` are names of tables and of their systems."""
    pool = pooled(bucket.tables[JUDGMENTS])
    truth = Truth(replace(pool, top=max(known.top, pool.top)), asked)
    found = [
        measured(run, truth)
        for (table, name), own in zip(runs, known.systems, strict=True)
        for run in runs_of(bucket.tables[table], name, own)
    ]
    if keep == "values":
        found = [bracketed(system, truth) for system in found]
    return Measured.of(found, truth, keep=keep)


def runs_of(run: Table, name: str, systems: Sequence[str]) -> Iterator[Table]:
    """The run of each system; a system may have no row here."""
    if "system" not in run.frame.columns:
        yield replace(run, system=name)
        return
    own = run.frame.partition_by("system", maintain_order=True, as_dict=True)
    for system in systems:
        frame = own.get((system,), run.frame.clear())
        yield replace(run, frame=frame, system=f"{name}/{system}" if name else system)
