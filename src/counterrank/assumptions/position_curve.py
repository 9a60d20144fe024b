r"""Assumption 2, first half: ranks are seen as often as the position model says.

The parameter of each rank is :math:`\log(b_r / c(r))` with the share of views :math:`b_r`. Views
settle it, so that the model's curve is no corner where they contradict it.
"""

from __future__ import annotations

import numpy as np

from counterrank.assumptions.assumption import Assumption, Belief, Shift, Told
from counterrank.assumptions.evidence import Placement
from counterrank.assumptions.score_test import DEEPEST, SURE, AuditRows, positive_ratio
from counterrank.core.arrays import Floats, sum_by
from counterrank.diagnostics.diagnostic import Diagnostic


def position_fit(rows: AuditRows, model: Floats) -> Diagnostic:
    r"""Whether ranks are seen as often as the position model says, up to one common factor.

    ``model`` is :math:`c(r)`, sessions' contexts x ranks. The value is the largest relative misfit
    :math:`|V_r / (k C_r) - 1|` among ranks where it is certain, with views :math:`V_r`, expected
    ones :math:`C_r = \sum c(r)` over rows (sessions, if only viewed rows were logged) and
    :math:`k = \sum V / \sum C`.
    """
    ranks = min(int(rows.rank.max()), DEEPEST)
    rank = np.minimum(rows.rank, DEEPEST) - 1
    shape = rows.clusters, ranks
    cell, cells = rows.of_row * ranks + rank, rows.clusters * ranks
    views = sum_by(cell, rows.seen, cells).reshape(shape)
    if rows.views == "observed":
        due = sum_by(cell, model[rows.context_of_row, rank], cells).reshape(shape)
    else:
        each = model[rows.context, :ranks].T
        due = np.stack([sum_by(rows.cluster, x, rows.clusters) for x in each], axis=1)
    factor = views.sum() / due.sum()
    off = views - factor * due
    total, wanted = off.sum(axis=0), factor * due.sum(axis=0)
    sure = np.abs(total) > (SURE + 0.5) * np.sqrt(np.sum(off**2, axis=0))
    miss = np.where(sure, np.abs(positive_ratio(total, wanted)), 0.0)
    worst = int(np.argmax(miss))
    verdict = "pass" if miss[worst] < 0.05 else "caution" if miss[worst] < 0.25 else "fail"
    text = "Ranks are seen as often as the position model says."
    if verdict != "pass":
        way = "less" if total[worst] < 0 else "more"
        text = (
            f"Rank {worst + 1} is seen {miss[worst]:.0%} {way} often than the position model says,"
            " so weights are off by as much. Learn the model from this log:"
            " counterrank exposure LOG --out pbm.json."
        )
    return Diagnostic("position model", "log", float(miss[worst]), 0.05, verdict, text)


# as an assumption


class PositionCurve(Assumption):
    """Views at every rank are those of the position model."""

    name = "position curve"
    corner = "curve"
    needs = "viewed: a view event for each row, 0 or 1"
    fact = True
    of_ranks = True

    def learn(self, belief: Belief) -> Told:
        log, shares = belief.log, belief.log.session_curve
        if log.rows.views == "latent":
            says = "Which rows were seen was not logged, so the position model stands unchecked."
            return Told(says=says)
        off = np.where(shares.due > 0, positive_ratio(shares.share, log.given) - 1, 0.0)
        se = _errors(belief)
        z = np.where(se > 0, positive_ratio(np.abs(off), se), 0.0)
        worst = np.unravel_index(np.argmax(np.where(z > SURE, np.abs(off), 0.0)), off.shape)
        found = bool(z.max(initial=0) > SURE + 0.5)
        says = "Ranks are seen as often as the position model says."
        if found:
            how = f"{abs(off[worst]):.0%} {'less' if off[worst] < 0 else 'more'} often"
            says = f"Rank {worst[1] + 1} is seen {how} than the position model says"
            apart = len(log.given) > len(np.unique(log.given, axis=0))
            says += ", in one of the contexts: learn it for each (exposure --by)." if apart else "."
        return Told(float(off[worst]), float(se[worst]), True, found, says)

    def state(self, learned: Told, reach: float, harmless: float) -> str:
        return super().state(learned, reach, harmless) if learned.told else "untested"

    def shifts(self, belief: Belief, learned: Told, place: Placement) -> list[Shift]:
        if not learned.told:
            return []
        log, fit = belief.log, belief.plain
        after, before = belief.value(place, fit, belief.b), belief.value(place, fit, log.given)
        return [after + before * -1.0]


def _errors(belief: Belief) -> Floats:
    """The standard error of each share of views, between clusters, relative to the model's."""
    log, (share, due) = belief.log, belief.log.session_curve
    place, size = log.row_curve * share.shape[1] + log.rank, share.size
    rest = log.rows.seen - share.ravel()[place]
    if log.rows.views == "rows":  # sessions that did not get there count as well
        rest = np.ones(len(rest))
    cell = sum_by(log.rows.of_row * size + place, rest, log.clusters * size)
    squares = np.sum(cell.reshape(log.clusters, size) ** 2, axis=0).reshape(share.shape)
    return positive_ratio(np.sqrt(squares), due * log.given)
