r"""Assumption 1: what a user was shown before does not change what this session earns.

The audit asks whether a good previous list goes with more or less reward now. Users differ, so only
sessions of the same user are compared; and how good a list is, is predicted from the other half of
the users, so that no reward stands on both sides.
"""

from __future__ import annotations

import math

import numpy as np

from counterrank.assumptions.assumption import Assumption, Belief, Shift, Told
from counterrank.assumptions.evidence import Placement
from counterrank.assumptions.score_test import (
    AuditRows,
    Effect,
    effect,
    positive_ratio,
    remove_means,
)
from counterrank.core.arrays import Bools, Floats, Ints, sum_by
from counterrank.diagnostics.diagnostic import Diagnostic

CAUTION, FAIL = 0.02, 0.1
FEWEST = 30  # users with a session after another one
ROUGH = 0.1  # standard error of the effect from which the log does not tell
EVEN = 0.05  # of what is usual: lists that differ less in worth are no unit to measure by


def carry_over_effect(
    reward: Floats, expected: Floats, before: Floats, now: Floats, user: Ints
) -> tuple[Effect, Floats]:
    r"""Share of the reward that one standard deviation of the previous list's quality moves.

    With :math:`Y_s` earned and :math:`M_s` expected in session :math:`s` of user :math:`u`,

    .. math:: E[Y_s] = f_u M_s \exp(\beta P_{s-1} + \gamma P_s)

    where :math:`P_{s-1}, P_s` (``before``, ``now``) say how good the user's lists were. The user's
    factor :math:`f_u` is fitted; the value is :math:`\beta` times the spread of :math:`P_{s-1}`.
    What each user adds to it stands beside it.
    """
    users = int(user.max()) + 1
    fit = (
        expected * positive_ratio(sum_by(user, reward, users), sum_by(user, expected, users))[user]
    )
    z = np.stack([remove_means(p, fit, user) for p in (before, now)], axis=1)
    change = effect(reward - fit, fit, z, user, (1.0, 0.0))
    spread = float(np.std(before))
    inverse = np.linalg.pinv((z * fit[:, None]).T @ z, rcond=1e-10)
    by_user = sum_by(user, (reward - fit) * (z @ inverse[0]), users)
    return Effect(change.size * spread, change.se * spread), by_user * spread


def came_again(rows: AuditRows) -> int:
    """How many users have several sessions."""
    return int(np.sum(np.bincount(rows.cluster) > 1))


def last_list_effect(rows: AuditRows) -> tuple[Effect, Floats] | None:
    """`carry_over_effect` of a log; None where hardly any session is known to follow another."""
    turn = np.zeros(rows.n, np.int64) if rows.turn is None else rows.turn
    last, again = _previous(rows.cluster, turn)
    if len(np.unique(rows.cluster[again])) < FEWEST:
        return None
    worth = _list_worth(rows)
    return carry_over_effect(
        rows.earned[again], rows.expected[again], worth[last[again]], worth[again],
        rows.cluster[again],
    )  # fmt: skip


def carry_over(rows: AuditRows) -> Diagnostic | str:
    """The diagnostic, or what is missing for it."""
    if not rows.users:
        return "carry over between sessions needs a column user"
    if (came := came_again(rows)) < FEWEST:
        text = f"Only {came:,} users came twice, so hardly anything can carry over."
        return Diagnostic("carry over", "log", 0.0, CAUTION, "pass", text)
    found = last_list_effect(rows)
    if found is None:
        text = (
            f"Which of a user's sessions came first was not logged, for {came:,} users who came"
            " twice (session ids are no time): nothing tells whether lists change what later"
            " sessions earn. Log a timestamp, or the day."
        )
        return Diagnostic("carry over", "log", math.nan, CAUTION, "untested", text)
    change, _ = found
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


# as an assumption


class CarryOver(Assumption):
    r"""What a user was shown before does not change what this session earns.

    The parameter :math:`\kappa` is the share of the reward that one standard deviation of the last
    list's worth moves. A ranker that serves every session changes the last lists as well: with the
    worth :math:`P` of its lists and of the logged ones, in standard deviations (at least 5 % of
    what is usual), its value :math:`V` is :math:`V (e^{\kappa (P - P_0)} - 1)` further, in sessions
    that have a last one.
    """

    name = "carry over"
    corner = "carry over"
    default = 0.1
    source = "a choice: 10% for each standard deviation of the last list's worth"
    needs = "timestamp: when each session began, and user"

    def learn(self, belief: Belief) -> Told:
        rows = belief.log.rows
        if not rows.users:
            lacks = {"log": "user: whose each session is"}
            return Told(says="Without a user id nothing tells who came again.", more=lacks)
        if (came := came_again(rows)) < FEWEST:
            says = f"Only {came:,} users came twice, so hardly anything can carry over."
            return Told(0.0, 0.0, True, False, says, {"share": 0.0})
        share = 1 - belief.log.clusters / rows.n
        found = last_list_effect(rows)
        if found is None:
            says = "Which of a user's sessions came first was not logged."
            return Told(says=says, more={"share": share})
        change, by_user = found
        if not change.known:
            return Told(says="Lists hardly differ in worth.", more={"share": share, "log": ""})
        psi = np.pad(by_user, (0, rows.clusters - len(by_user)))
        way = "less" if change.size < 0 else "more"
        says = (
            f"After a list that is better by one standard deviation the same user's next session"
            f" earns {abs(change.size):.1%} {way} (standard error {change.se:.1%})."
        )
        return Told(
            change.size, change.se, change.se < ROUGH, abs(change.z) > 3, says,
            {"psi": rows.n * psi, "share": share, "log": ""},
        )  # fmt: skip

    def shifts(self, belief: Belief, learned: Told, place: Placement) -> list[Shift]:
        log, fit = belief.log, belief.plain
        share = float(learned.more.get("share", 1.0))
        value = belief.value(place, fit, belief.b)
        cells = belief.at(place, fit).exposure * np.abs(fit.q)[place.group]
        rows = belief.b[log.row_curve, log.rank] * np.abs(fit.q)[log.group]
        new, old = sum_by(place.session, cells, log.n), sum_by(log.rows.session, rows, log.n)
        usual = log.rows.usual(old)
        apart = float(np.mean(positive_ratio(new, usual) - positive_ratio(old, usual)))
        far = share * apart / max(float(np.std(positive_ratio(old, usual))), EVEN)
        if not learned.told:
            sizes = [way * self.range(belief) for way in (1, -1)]
            return [value * float(np.expm1(size * far)) for size in sizes]
        if "psi" not in learned.more:
            return []
        grown = float(np.exp(learned.size * far))
        psi = (grown - 1) * value.psi + value.value * grown * far * learned.more["psi"]
        return [Shift(value.value * (grown - 1), psi)]


def _list_worth(rows: AuditRows) -> Floats:
    """How good each session's list is, as a share of what is usual in its context."""
    list_quality = rows.by_session(rows.patience * rows.quality)
    return positive_ratio(list_quality, rows.usual(list_quality))
