"""One run of ``strata``: read, scored under every method, and its hits let go.

What policies call an error and what diagnoses say is told from all buckets, later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from counterrank.arrays import Bools, Floats, Ints, workers
from counterrank.hits import Hits, Pool
from counterrank.judged.facts import Lists
from counterrank.judged.measured import Asked, System
from counterrank.judged.measured import Truth as Judgments
from counterrank.judged.ties import bracketed
from counterrank.judged.values import spread
from counterrank.policies import Policies
from counterrank.ranking import Judged, Measure, deepest, unscaled
from counterrank.schema import Table
from counterrank.verbs.strata_open import Apart, Opened, found_of, nobody, opened_run, together
from counterrank.verbs.strata_truth import Truth

TIED = 0.01  # share of tied hits above which it is worth knowing what ties decide


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
    lists: Lists
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
            Lists.merged([part.lists for part in parts]),
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
    alone: bool,
) -> Scored:
    """One run: aligned once, masked for each stratum, and its hits let go.

    ``open_too``: the same lists are held against the open-loop judgments as well. ``alone``: there
    is no other bucket, so that few ties here are few ties.
    """
    layout, cut = known.layout, deepest(measures)
    hits, seen = found_of(run, layout.pool, measures, policies, threads)
    scores = layout.scores(measures, hits, threads=threads or workers())
    judged = unscaled([Judged(k=cut)], hits, layout.pool)[0]
    lists = Lists.of(hits, seen, cut)
    if not alone or lists.tied_share > TIED:
        lists = _bracketed(run, lists, hits, layout.pool, measures, scores[0], policies)
    again = None
    if open_too and known.open is not None:
        again = opened_run(run, known.open, measures, policies, threads)
    apart = nobody(run, layout.pool, seen)
    return Scored(
        run.system, run.name, run.order, scores, hits.present, judged, lists, apart, again
    )


def _bracketed(
    run: Table,
    lists: Lists,
    hits: Hits,
    pool: Pool,
    measures: Sequence[Measure],
    x: Floats,
    policies: Policies,
) -> Lists:
    """The same with what ties can decide of the holdout values, over users who count."""
    counted = x.copy()
    if policies.no_relevant == "skip":
        for row, m in enumerate(measures):
            counted[row, ~m.defined(pool)] = np.nan
    system = System(run.system, run.name, run.order, counted, counted[:0], lists, hits, None)
    return bracketed(system, Judgments(pool, Asked(tuple(measures), (), policies))).lists
