r"""Assumption 1: what a user was shown before does not change what this session earns.

The audit asks whether a good previous list goes with more or less reward now. Users differ, so only
sessions of the same user are compared; and how good a list is, is predicted from the other half of
the users, so that no reward stands on both sides.
"""

from __future__ import annotations

import math

import numpy as np

from counterrank.assumptions.score_test import (
    AuditRows,
    Effect,
    effect,
    number_keys,
    positive_ratio,
    remove_means,
)
from counterrank.core.arrays import Bools, Floats, Ints, sum_by
from counterrank.diagnostics.diagnostic import Diagnostic

CAUTION, FAIL = 0.02, 0.1


def carry_over_effect(
    reward: Floats, expected: Floats, before: Floats, now: Floats, user: Ints
) -> Effect:
    r"""Share of the reward that one standard deviation of the previous list's quality moves.

    With :math:`Y_s` earned and :math:`M_s` expected in session :math:`s` of user :math:`u`,

    .. math:: E[Y_s] = f_u M_s \exp(\beta P_{s-1} + \gamma P_s)

    where :math:`P_{s-1}, P_s` (``before``, ``now``) say how good the user's lists were. The user's
    factor :math:`f_u` is fitted; the value is :math:`\beta` times the spread of :math:`P_{s-1}`.
    """
    users = int(user.max()) + 1
    fit = (
        expected * positive_ratio(sum_by(user, reward, users), sum_by(user, expected, users))[user]
    )
    z = np.stack([remove_means(p, fit, user) for p in (before, now)], axis=1)
    change = effect(reward - fit, fit, z, user, (1.0, 0.0))
    spread = float(np.std(before))
    return Effect(change.size * spread, change.se * spread)


def carry_over(rows: AuditRows) -> Diagnostic | str:
    """The diagnostic, or what is missing for it."""
    if not rows.users:
        return "carry over between sessions needs a column user"
    came = int(np.sum(np.bincount(rows.cluster) > 1))
    if came < 30:
        text = f"Only {came:,} users came twice, so hardly anything can carry over."
        return Diagnostic("carry over", "log", 0.0, CAUTION, "pass", text)
    turn = np.zeros(rows.n, np.int64) if rows.turn is None else rows.turn
    last, again = _previous(rows.cluster, turn)
    if len(np.unique(rows.cluster[again])) < 30:
        text = (
            f"Which of a user's sessions came first was not logged, for {came:,} users who came"
            " twice (session ids are no time): nothing tells whether lists change what later"
            " sessions earn. Log a timestamp, or the day."
        )
        return Diagnostic("carry over", "log", math.nan, CAUTION, "untested", text)
    list_quality = sum_by(rows.session, rows.patience * rows.quality, rows.n)
    contexts = int(rows.context.max()) + 1
    usual = positive_ratio(
        sum_by(rows.context, list_quality, contexts),
        sum_by(rows.context, np.ones(rows.n), contexts),
    )
    good = positive_ratio(list_quality, usual[rows.context])
    change = carry_over_effect(
        sum_by(rows.session, rows.reward, rows.n)[again],
        sum_by(rows.session, rows.seen * rows.quality, rows.n)[again],
        good[last[again]],
        good[again],
        number_keys(rows.cluster[again])[0],
    )
    if not change.known:
        return "carry over between sessions needs lists that differ in worth"
    verdict = change.verdict(CAUTION, FAIL)
    way = "less" if change.size < 0 else "more"
    if verdict == "pass":
        text = (
            f"How good a user's last list was does not change what the next one earns; an effect of"
            f" {change.visible:.1%} would have shown."
        )
    else:
        text = (
            f"After a better list (by one standard deviation) the same user's next session earns"
            f" {abs(change.size):.1%} {way}: sessions are not independent, so a ranker that serves"
            " every session will earn another amount than estimated. Settle it by an A/B test by"
            " user over several weeks."
        )
    return Diagnostic("carry over", "log", abs(change.size), CAUTION, verdict, text)


def _previous(user: Ints, turn: Ints) -> tuple[Ints, Bools]:
    """The same user's session before each one, and whether there is one at an earlier time."""
    order = np.lexsort((turn, user))
    same = np.append(False, user[order][1:] == user[order][:-1])
    same[1:] &= turn[order][1:] > turn[order][:-1]
    last, again = np.zeros(len(user), np.int64), np.zeros(len(user), bool)
    last[order[1:]] = order[:-1]
    again[order] = same
    return last, again
