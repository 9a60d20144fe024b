"""Facts of how a log and its targets were made that every number takes for granted, audited."""

from __future__ import annotations

import polars as pl

from counterrank.assumptions.assignment import assignment
from counterrank.assumptions.late_rewards import late_rewards
from counterrank.assumptions.leak import leak
from counterrank.assumptions.logged_chances import logged_chances
from counterrank.assumptions.logger_knowledge import logger_knowledge
from counterrank.assumptions.lost_views import lost_views
from counterrank.assumptions.outcome_selection import selection
from counterrank.assumptions.score_test import AuditRows
from counterrank.diagnostics.diagnostic import Diagnostic
from counterrank.ope.log import WEIGHT, Sessions
from counterrank.ope.loggers import SERVED
from counterrank.ope.setting import Basis


def audit_facts(rows: AuditRows, sessions: Sessions, basis: Basis) -> list[Diagnostic]:
    """Rewards, sessions, loggers, chances and views; and each target whose weights are known."""
    frame, n = sessions.blocks.frame, sessions.n
    out = [late_rewards(rows), selection(rows)]
    for column in (SERVED, "policy", "arm"):
        if column in frame.columns:
            who = frame[column].gather(sessions.blocks.start).cast(pl.String)
            names = who.unique().sort().to_list()
            if len(names) > 1:
                served = who.rank("dense").to_numpy().astype(int) - 1
                out.append(assignment(rows, served, names))
            break
    known = basis.by_rank or basis.views != "latent" or basis.model is not None
    if basis.logged in ("exposure", "propensity") and known and SERVED not in frame.columns:
        out.append(logged_chances(rows, sessions.column(basis.logged, 0, n), basis.logged))
    error = None if basis.model is None else basis.model.error
    if not basis.by_rank:
        harvested = error is not None and error.learned.get("method") in ("harvest", "em")
        about_views = (
            lost_views(rows, learned=error is not None), logger_knowledge(rows, harvested=harvested)
        )  # fmt: skip
        out += [d for d in about_views if d is not None]
    weighed = [name for name in frame.columns if name.startswith(WEIGHT)]
    return out + [leak(rows, x.removeprefix(WEIGHT), sessions.column(x, 0, n)) for x in weighed]
