"""The open loop: the same systems held against feedback on items shown at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.arrays import Bools, Floats, Ints, workers
from counterrank.coverage import Coverage
from counterrank.engine import aligned
from counterrank.errors import UsageError
from counterrank.hits import Hits, Pool
from counterrank.judged.matches import spread
from counterrank.policies import Policies
from counterrank.ranking import Measure, deepest, unscaled
from counterrank.schema import Table
from counterrank.strata_result import OPEN
from counterrank.stratified import Face, Users, face

Apart = tuple[pl.Series, pl.Series] | None


@dataclass(frozen=True, eq=False)
class Opened:
    """One system on open-loop judgments: values (measures x users), whom it has lists for.

    ``table`` is what messages call its run; ``apart`` are some listed and some judged users, where
    nobody is both.
    """

    name: str
    table: str
    values: Floats
    present: Bools
    coverage: Coverage
    apart: Apart

    def only(self, kept: Ints) -> Opened:
        """The same for some of the users."""
        return replace(self, values=self.values[..., kept], present=self.present[kept])

    @classmethod
    def merged(cls, parts: Sequence[Opened], place: Sequence[Ints]) -> Opened:
        """That of all buckets, whose users are at their ``place``."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            parts[0].name,
            parts[0].table,
            spread([part.values for part in parts], place),
            spread([part.present for part in parts], place),
            Coverage.merged(part.coverage for part in parts),
            together([part.apart for part in parts]),
        )


def opened_run(
    run: Table, pool: Pool, measures: Sequence[Measure], policies: Policies, threads: int = 0
) -> Opened:
    """One run against them."""
    hits, seen = found_of(run, pool, measures, policies, threads)
    x = unscaled(measures, hits, pool, threads=threads or workers())
    return Opened(run.system, run.name, x, hits.present, seen, nobody(run, pool, seen))


def found_of(
    run: Table, pool: Pool, measures: Sequence[Measure], policies: Policies, threads: int
) -> tuple[Hits, Coverage]:
    """The hits of one run as deep as any measure looks."""
    return aligned(
        run,
        pool,
        ties=policies.ties,
        duplicates=policies.duplicates,
        limit=deepest(measures),
        threads=threads,
    )


def nobody(run: Table, pool: Pool, seen: Coverage) -> Apart:
    """Some listed and some judged users to show, where nobody is both."""
    return None if seen.covered_users else (_few(run.frame["user"]), _few(pool.units))


def together(parts: Sequence[Apart]) -> Apart:
    """Those of all buckets: None as soon as somebody in some bucket is both."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    listed, judged = (_few(pl.concat(ids)) for ids in zip(*known, strict=True))
    return listed, judged


def _few(ids: pl.Series) -> pl.Series:
    return ids.unique().sort().head(3)


def in_order(found: Sequence[Opened], systems: Sequence[str]) -> list[Opened]:
    """Those of the ``systems``, in their order."""
    by_name = {one.name: one for one in found}
    return [by_name[name] for name in systems if name in by_name]


def refuse_absent(found: Sequence[Opened], systems: Sequence[str]) -> None:
    """Refuse a system without a run for the open loop."""
    names = [one.name for one in found]
    absent = [name for name in systems if name not in names]
    if absent:
        raise UsageError(
            f'There is no open-loop run for "{absent[0]}".',
            found=f"There are: {', '.join(sorted(names))}.",
            todo="Give one of the same name for every system: --open-run name=path.",
        )


def open_faces(
    known: Users, own: Sequence[Opened], measures: Sequence[Measure], policies: Policies
) -> list[Face]:
    """All systems on open-loop feedback, measure by measure."""
    there = np.ones(len(known.units), bool)
    if policies.missing == "skip":
        there = np.all([one.present for one in own], axis=0)
    return [
        face(
            OPEN,
            m,
            np.stack([one.values[row] for one in own]),
            known.counted(row, 0, there, policies.no_relevant),
        )
        for row, m in enumerate(measures)
    ]
