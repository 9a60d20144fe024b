"""The open loop: the same systems held against feedback on items shown at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from counterrank import schema
from counterrank.arrays import Bools, Floats, workers
from counterrank.blocks import places
from counterrank.errors import UsageError
from counterrank.hits import Pool
from counterrank.policies import Policies
from counterrank.pool import pooled
from counterrank.progress import Progress
from counterrank.ranking import Measure, deepest, values
from counterrank.schema import Input, Table
from counterrank.strata_result import OPEN, OpenLoop
from counterrank.stratified import counted
from counterrank.stratified.faces import face
from counterrank.stratified.propensities import one_kind
from counterrank.systems import Runs, in_one_pass, listed


@dataclass(frozen=True, eq=False)
class Opened:
    """One system on open-loop judgments: values (measures x users), whom it has lists for."""

    name: str
    values: Floats
    present: Bools


def open_pool(table: object, columns: Mapping[str, str] | None) -> tuple[Input, Pool]:
    """The open-loop judgments."""
    read = schema.judgments(table, columns=columns)
    return read.input(), pooled(read)


def opened_run(
    run: Table, pool: Pool, measures: Sequence[Measure], policies: Policies, threads: int
) -> Opened:
    """One run against them."""
    hits, _ = listed(run, pool, deepest(measures), policies, threads)
    return Opened(
        run.system, values(measures, hits, pool, threads=threads or workers()), hits.present
    )


def from_runs(
    runs: Runs,
    pool: Pool,
    measures: Sequence[Measure],
    policies: Policies,
    columns: Mapping[str, str] | None,
    progress: Progress,
) -> tuple[list[Input], list[Opened]]:
    """Runs of their own for the open loop, as of systems trained once more on all feedback."""
    _, inputs, found = in_one_pass(
        lambda: pool,
        runs,
        lambda run, known, threads: opened_run(run, known, measures, policies, threads),
        columns,
        progress,
    )
    return inputs, found


def open_loop(
    pool: Pool,
    found: Sequence[Opened],
    systems: Sequence[str],
    closed: Pool,
    measures: Sequence[Measure],
    policies: Policies,
) -> OpenLoop:
    """All systems on open-loop feedback, in the order of ``systems``."""
    by_name = {one.name: one for one in found}
    absent = [name for name in systems if name not in by_name]
    if absent:
        raise UsageError(
            f'There is no open-loop run for "{absent[0]}".',
            found=f"There are: {', '.join(sorted(by_name))}.",
            todo="Give one of the same name for every system: --open-run name=path.",
        )
    own = [by_name[name] for name in systems]
    there = np.ones(pool.n, bool)
    if policies.missing == "skip":
        there = np.all([one.present for one in own], axis=0)
    ways = {
        str(m): face(
            OPEN,
            m,
            np.stack([one.values[row] for one in own]),
            counted(m, pool, there, policies.no_relevant),
        )
        for row, m in enumerate(measures)
    }
    return OpenLoop(pool.units, ways, places(*one_kind(pool.units, closed.units)))
