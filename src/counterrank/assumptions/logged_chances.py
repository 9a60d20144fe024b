r"""Logged chances are right: what they promise happens as often.

Weights divide by the logged exposure of an item, or by the propensity of an item at its rank. If
these are too low for some items and too high for others, weights may still average 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterrank.assumptions.score_test import (
    PART,
    SURE,
    AuditRows,
    noise,
    number_keys,
    positive_ratio,
)
from counterrank.core.arrays import Floats, Ints, sum_by
from counterrank.diagnostics.diagnostic import Diagnostic

CAUTION, FAIL = 0.03, 0.1
LOOSE = 1.5  # times as much is promised as happens: not everything can be shown in every session


class ChanceFit(NamedTuple):
    """Variance of relative misfits, its standard error; ``covered`` share, ``promised`` ratio."""

    variance: float
    se: float
    covered: float
    promised: float


def chance_misfit(
    happened: Floats, chance: Floats, cell: Ints, session: Ints, context: Ints, half: Ints,
    user: Ints,
) -> ChanceFit:  # fmt: skip
    r"""How far what happens in each cell (an item in a context) strays from its logged chance.

    In half :math:`h` of the users, with :math:`n_{xh}` sessions of context :math:`x`, it happened
    :math:`H_{ph}` times in cell :math:`p` of chance :math:`\pi_p`:

    .. math:: \tau^2 = \frac{\sum_p R_{p0} R_{p1} / E_p}{\sum_p E_{p0} E_{p1} / E_p}, \quad
              R_{ph} = H_{ph} - E_{ph}, \quad E_{ph} = n_{xh} \pi_p, \quad E_p = E_{p0} + E_{p1}

    is the mean square of relative misfits; chance alone does not repeat in the other half. Cells
    whose chance changes from session to session depend on more than the context and are left out;
    ``covered`` is the share of rows in the others. ``promised`` is their :math:`\sum E / \sum H`:
    far above 1 where an item could not be shown in every session of its context.
    """
    cells = int(cell.max()) + 1
    low, high = np.full(cells, np.inf), np.zeros(cells)
    np.minimum.at(low, cell, chance)
    np.maximum.at(high, cell, chance)
    fixed = (high > 0) & (high - low <= 1e-6 * high)
    at = np.zeros(cells, np.int64)
    at[cell] = context[session]
    sessions = np.bincount(context * 2 + half, minlength=2 * (int(context.max()) + 1))
    pi: Floats = np.where(fixed, high, 0.0)
    due: Floats = pi[:, None] * sessions.reshape(-1, 2)[at]
    side = half[session]
    left: Floats = sum_by(cell * 2 + side, happened, 2 * cells).reshape(cells, 2)
    left = left * fixed[:, None] - due
    total = np.repeat(due.sum(axis=1)[:, None], 2, axis=1)
    top = float(positive_ratio(left[:, 0] * left[:, 1], total[:, 0]).sum())
    bottom = float(positive_ratio(due[:, 0] * due[:, 1], total[:, 0]).sum())
    other = positive_ratio(left[:, ::-1], total)
    missed = np.stack([sum_by(at, pi * o, len(sessions) // 2) for o in other.T], axis=1)
    score = sum_by(session, happened * other[cell, side], len(context)) - missed[context, half]
    covered = float(fixed[cell].mean())
    if bottom <= 0:
        return ChanceFit(0.0, 0.0, covered, math.nan)
    promised = float(due.sum() / max((happened * fixed[cell]).sum(), 1e-300))
    return ChanceFit(top / bottom, noise(score, user) / math.sqrt(2) / bottom, covered, promised)


def logged_chances(rows: AuditRows, chance: Floats, kind: str) -> Diagnostic:
    """The diagnostic of the column ``kind``: exposures beside views, propensities beside lists."""
    by_rank = kind != "exposure"
    key = rows.context_of_row * (int(rows.item.max()) + 1) + rows.item
    if by_rank:
        key = key * (int(rows.rank.max()) + 1) + rows.rank
    happened = np.ones(len(rows.rank)) if by_rank else rows.seen
    fit = chance_misfit(
        happened, chance, number_keys(key)[0], rows.session, rows.context, rows.half, rows.cluster
    )
    off, name = math.sqrt(max(fit.variance, 0.0)), "logged chances"
    what = "shown at their ranks" if by_rank else "seen"
    if fit.covered < 0.5 or not fit.se > 0 or not fit.promised < LOOSE:
        text = (
            f"An item's {kind} changes within its context, or it could not be shown in all of its"
            " sessions: nothing tells whether it is right. Name all that the logger looked at"
            " (--context)."
        )
        return Diagnostic(name, "log", math.nan, CAUTION, "untested", text)
    most = math.sqrt(max(fit.variance + 1.645 * fit.se, 0.0))
    if most <= PART * rows.harmless:
        text = (
            f"Items are {what} as often as the logged {kind} says, but for {most:.1%} at most,"
            " typically, which does not matter here."
        )
        return Diagnostic(name, "log", off, CAUTION, "pass", text)
    if fit.variance > SURE * fit.se and off >= CAUTION:
        text = (
            f"How often items are {what} strays {off:.0%}, typically, from the logged {kind}:"
            " weights are off by as much, and values of rankers that favour items whose chance is"
            f" too low are too high. Write the {kind} at decision time, from the lists drawn."
        )
        state = "fail" if off >= FAIL else "caution"
        return Diagnostic(name, "log", off, CAUTION, state, text)
    text = f"How often items are {what} may stray up to {most:.0%} from the logged {kind}: log more"
    return Diagnostic(name, "log", off, CAUTION, "untested", text + " to know.")
