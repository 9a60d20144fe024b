"""One run of ``strata``: read, scored under every method, and its hits let go.

What policies call an error and what diagnoses say is told from all buckets, later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from counterrank.arrays import Bools, Floats, Ints, workers
from counterrank.core.merge import merge
from counterrank.diagnostics.judged_lists import ListStatistics
from counterrank.hits import Hits, Pool
from counterrank.judged.brackets import tie_shifts
from counterrank.judged.matches import spread
from counterrank.policies import Policies
from counterrank.ranking import Judged, Measure, deepest, unscaled
from counterrank.schema import Table
from counterrank.verbs.strata_open import Apart, Opened, found_of, nobody, opened_run, together
from counterrank.verbs.strata_truth import Truth


@dataclass(frozen=True, eq=False)
class Scored:
    """One system: its values (ways x measures x users), whom it has lists for, facts of these.

    ``judged`` is the share of each user's list that is judged; ``opened`` are the same lists on
    open-loop judgments, if they are held against these.
    """

    name: str
    table: str
    order: str
    scores: Floats
    present: Bools
    judged: Floats
    lists: ListStatistics
    apart: Apart
    opened: Opened | None

    def only(self, kept: Ints) -> Scored:
        """The same for some of the users."""
        scores, judged = self.scores[..., kept], self.judged[kept]
        return replace(self, scores=scores, judged=judged, present=self.present[kept])

    @classmethod
    def merged(cls, parts: Sequence[Scored], place: Sequence[Ints]) -> Scored:
        """That of all buckets, whose users are at their ``place``."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            parts[0].name,
            parts[0].table,
            parts[0].order,
            spread([part.scores for part in parts], place),
            spread([part.present for part in parts], place),
            spread([part.judged for part in parts], place),
            merge([part.lists for part in parts]),
            together([part.apart for part in parts]),
            None,
        )


def scored(
    run: Table,
    known: Truth,
    measures: Sequence[Measure],
    policies: Policies,
    threads: int = 0,
    *,
    open_too: bool,
) -> Scored:
    """One run: aligned once, masked for each stratum, and its hits let go.

    ``open_too``: the same lists are held against the open-loop judgments as well.
    """
    layout, cut = known.layout, deepest(measures)
    hits, seen = found_of(run, layout.pool, measures, policies, threads)
    scores = layout.scores(measures, hits, threads=threads or workers())
    judged = unscaled([Judged(k=cut)], hits, layout.pool)[0]
    ties = _ties(hits, layout.pool, measures, scores[0], policies)
    users = run.frame["user"]
    lists = ListStatistics.of(run.name, run.order, users, layout.pool, hits, seen, cut, ties)
    again = None
    if open_too and known.open is not None:
        again = opened_run(run, known.open, measures, policies, threads)
    apart = nobody(run, layout.pool, seen)
    return Scored(
        run.system, run.name, run.order, scores, hits.present, judged, lists, apart, again
    )


def _ties(
    hits: Hits, pool: Pool, measures: Sequence[Measure], x: Floats, policies: Policies
) -> Floats:
    """Sums of the holdout columns, ties broken for the worst and the best, and who counts."""
    skip = policies.no_relevant == "skip"
    counted = [m.defined(pool) if skip else np.ones(pool.n, bool) for m in measures]
    shifts = tie_shifts(measures, hits, pool, x, counted)
    sums = np.zeros((len(measures), 2, 3))
    sums[:, :, :2] += 0 if shifts is None else shifts
    for row, (m, who) in enumerate(zip(measures, counted, strict=True)):
        columns = m.columns(x[row], m.base(pool))
        sums[row, :, : len(columns)] += [column[who].sum() for column in columns]
        sums[row, :, 2] = np.count_nonzero(who)
    return sums
