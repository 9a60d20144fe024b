"""One run of ``strata``: read, scored under every method, diagnosed, and its hits let go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank import trust
from counterrank.arrays import Bools, Floats, workers
from counterrank.hits import Hits, Pool
from counterrank.judged import Lists, tie_bracket
from counterrank.policies import Policies
from counterrank.ranking import Judged, Measure, deepest, values
from counterrank.schema import Table
from counterrank.systems import listed
from counterrank.trust import Diagnosis
from counterrank.verbs.strata_open import Opened, opened_run
from counterrank.verbs.strata_truth import Truth


@dataclass(frozen=True, eq=False)
class Scored:
    """One system: its values (ways x measures x users), whom it has lists for, its diagnoses."""

    name: str
    order: str
    scores: Floats
    present: Bools
    diagnoses: list[Diagnosis]
    opened: Opened | None


def scored(
    run: Table,
    known: Truth,
    measures: list[Measure],
    policies: Policies,
    threads: int,
    *,
    open_too: bool,
) -> Scored:
    """One run: aligned once, masked for each stratum, diagnosed, and its hits let go.

    ``open_too``: the same lists are held against the open-loop judgments as well.
    """
    layout, cut = known.layout, deepest(measures)
    hits, seen = listed(run, layout.pool, cut, policies, threads)
    scores = layout.scores(measures, hits, threads=threads or workers())
    lists = Lists.of(hits, seen, cut)
    judged = values([Judged(k=cut)], hits, layout.pool)[0]
    found = [
        trust.coverage(run.system, seen, policies.missing),
        trust.unjudged_users(run.system, seen),
        trust.duplicates(run.system, seen),
        trust.short_lists(run.system, lists, cut),
        trust.judged_share(run.system, float(judged[hits.present].mean()), cut),
        _ties(run.system, lists, hits, layout.pool, measures, scores[0], policies),
    ]
    again = None
    if open_too and known.open is not None:
        again = opened_run(run, known.open, measures, policies, threads)
    loud = [d for d in found if d is not None]
    return Scored(run.system, run.order, scores, hits.present, loud, again)


def _ties(
    system: str,
    lists: Lists,
    hits: Hits,
    pool: Pool,
    measures: list[Measure],
    x: Floats,
    policies: Policies,
) -> Diagnosis:
    """Ties against the normal interval of the holdout value."""
    counted = x.copy()
    for row, m in enumerate(measures):
        if policies.no_relevant == "skip":
            counted[row, ~m.defined(pool)] = np.nan
    users = np.sum(~np.isnan(counted), axis=1)
    widths = 2 * 1.96 * np.nanstd(counted, axis=1) / np.sqrt(users)

    def bracket(m: int) -> tuple[float, float]:
        return tie_bracket(hits, pool, measures[m], ~np.isnan(counted[m]))

    return trust.ties(system, lists, measures, bracket, widths.tolist())
