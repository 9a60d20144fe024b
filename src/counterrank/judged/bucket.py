"""The work of ``evaluate`` on one bucket of users: a pure function of its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from counterrank.engine import Bucket
from counterrank.judged.measured import Asked, Truth, measured
from counterrank.judged.part import Measured
from counterrank.judged.ties import bracketed
from counterrank.moments import Draws
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
    asked: Asked,
    known: Facts,
    runs: tuple[tuple[str, str], ...],
    keep: str | Draws,
    bucket: Bucket,
) -> Measured:
    """Every measure of every system; ``runs`` are names of tables and of their systems.

    ``keep`` is values, hits as well, or what is drawn beside sums where only these are kept.
    """
    pool = pooled(bucket.tables[JUDGMENTS])
    truth = Truth(replace(pool, top=max(known.top, pool.top)), asked)
    found = [
        measured(run, truth)
        for (table, name), own in zip(runs, known.systems, strict=True)
        for run in runs_of(bucket.tables[table], name, own)
    ]
    if keep != "hits":
        found = [bracketed(system, truth) for system in found]
    done = Measured.of(found, truth, keep=keep if isinstance(keep, str) else "values")
    return done if isinstance(keep, str) else done.summed(asked, keep)


def named(name: str, systems: Sequence[str]) -> list[str]:
    """The names of a run's systems; ``systems`` are those in its column, where it has one."""
    return [f"{name}/{s}" if name else s for s in systems] if systems else [name]


def runs_of(run: Table, name: str, systems: Sequence[str]) -> Iterator[Table]:
    """The run of each system; a system may have no row here."""
    if not systems:
        yield replace(run, system=name)
        return
    own = run.frame.partition_by("system", maintain_order=True, as_dict=True)
    for system, full in zip(systems, named(name, systems), strict=True):
        yield replace(run, frame=own.get((system,), run.frame.clear()), system=full)
