r"""Every view was logged: rows that were seen are marked as seen.

View events get lost more easily than clicks. Then a view seems to earn more than it does, and
estimators that count views (SNIPS, DM, DR) are too high by as much; IPS is not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterrank.assumptions.score_test import (
    DEEPEST,
    SURE,
    AuditRows,
    Effect,
    noise,
    positive_ratio,
)
from counterrank.core.arrays import Floats, Ints, sum_by
from counterrank.diagnostics.diagnostic import Diagnostic

CAUTION, FAIL = 0.02, 0.1


class Gaps(NamedTuple):
    """Rows not seen right above one that was: their share, and what skipping at will would give."""

    share: Effect
    by_rank: Floats
    at_will: float


def gaps_above(seen: Floats, session: Ints, rank: Ints, user: Ints) -> Gaps:
    r"""How often the row right above a seen row was not seen.

    .. math:: g = \frac{\sum_i v_i (1 - v_{i-1})}{\sum_i v_i}

    over rows below another one. Readers who go down from the top leave no gaps, so :math:`g` is the
    share of lost views; readers who skip at will leave :math:`\sum_i v_i (1 - b_{r-1}) / \sum v_i`
    with the share :math:`b` of views at each rank.
    """
    below = np.append(False, (session[1:] == session[:-1]) & (rank[1:] == rank[:-1] + 1))
    v, above = seen[below], seen[np.flatnonzero(below) - 1]
    r, ranks = np.minimum(rank[below], DEEPEST), DEEPEST + 1
    gap = v * (1 - above)
    views = max(float(v.sum()), 1e-300)
    share = float(gap.sum()) / views
    usual = positive_ratio(sum_by(r, above, ranks), np.bincount(r, minlength=ranks).astype(float))
    at_will = float(v @ (1 - usual[r])) / views
    by_rank = positive_ratio(sum_by(r, gap, ranks), sum_by(r, v, ranks))
    se = noise(gap - share * v, user[below]) / views
    return Gaps(Effect(share, se), by_rank[2 : int(r.max(initial=1)) + 1], at_will)


def view_shortfall(seen: Floats, chance: Floats, user: Ints) -> Effect:
    r"""How many of the views that the position model promises are missing.

    .. math:: 1 - \sum_i v_i / \sum_i c(r_i)
    """
    due = float(chance.sum())
    ratio = float(seen.sum()) / due
    return Effect(1 - ratio, noise(seen - ratio * chance, user) / due)


def lost_views(rows: AuditRows, *, learned: bool) -> Diagnostic | None:
    """The diagnostic where views are marked; ``learned``: the position model is from such a log."""
    if rows.views != "observed":
        return None
    gaps = gaps_above(rows.seen, rows.session, rows.rank, rows.of_row)
    down = gaps.share.size < 0.5 * gaps.at_will  # readers go down, and hardly skip
    lost = gaps.share if down else Effect(0.0, 0.0)
    text = f"{lost.size:.1%} of the rows right above a seen one are marked as not seen (by rank,"
    text += f" from the first: {', '.join(f'{g:.0%}' for g in gaps.by_rank[:5])}), and readers"
    text += " hardly skip rows: views were lost. "
    if rows.curves is not None and not learned:
        rank = np.minimum(rows.rank, rows.curves.shape[1]) - 1
        chance = rows.curves[rows.context_of_row, rank]
        model = view_shortfall(rows.seen, chance, rows.of_row) if chance.any() else lost
        if not down or (abs(model.z) > SURE and abs(model.size) > lost.size):
            lost = model
            text = f"The log has {abs(lost.size):.1%} {'fewer' if lost.size > 0 else 'more'} views"
            text += " than the position model says: "
            text += "views were lost, or the model" if lost.size > 0 else "the model"
            text += " is on another scale. "
    name, state = "lost views", lost.equivalence(rows.harmless, FAIL)
    if not lost.known and not down:
        text = (
            "Readers skip rows, so lost views leave no trace of their own: that none were lost is"
            " assumed. With a curve of the same views, losses alike at every rank move no lift, and"
            " others are part of trust, since a view then seems to earn more where they were lost."
        )
        return Diagnostic(name, "log", math.nan, CAUTION, "assumed", text)
    if not lost.known:  # not a single gap
        state = "pass"
    if state in ("pass", "untested"):
        most = abs(lost.size) + 1.96 * lost.se
        text = f"At most {most:.1%} of the views were lost (or the position model is off by that)"
        text += ", which does not matter here." if state == "pass" else ": log more to know."
    else:
        text += "Estimators that count views (SNIPS, DM, DR) are then too"
        text += f" {'high' if lost.size > 0 else 'low'}: mend the view events or the model, or ask"
        text += " for IPS."
    return Diagnostic(name, "log", abs(lost.size), CAUTION, state, text)
