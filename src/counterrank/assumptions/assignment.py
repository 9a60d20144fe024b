r"""Loggers serve at random: whom a session belongs to does not decide who serves it.

The balance heuristic weighs a row by what all loggers together expose, :math:`\sum_j \alpha_j e_j`,
as if each served the same share :math:`\alpha_j` everywhere; and a mixture is what it is for all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterrank.assumptions.interaction import pair_effect_variance
from counterrank.assumptions.score_test import PART, SURE, AuditRows, Effect
from counterrank.core.arrays import Floats, Ints, sum_by
from counterrank.diagnostics.diagnostic import Diagnostic, gravest

CAUTION, FAIL = 0.02, 0.1


class Balance(NamedTuple):
    """How one logger's sessions differ: by ``history`` of their users, by ``context``."""

    history: Effect
    context: Effect


def history_difference(left: Floats, expected: Floats, mine: Floats, user: Ints) -> Effect:
    r"""How much more users of one logger's sessions earn in their *other* sessions.

    With what is left of the reward, :math:`R_s`, and what was expected, :math:`M_s`, and
    :math:`a_s = 1` where the logger served, :math:`h_s = \sum_{t \ne s \in u} R_t` and
    :math:`m_s = \sum_{t \ne s \in u} M_t`:

    .. math:: \frac{\sum_s (a_s - \alpha_s) h_s}{\sum_s a_s m_s}

    :math:`\alpha_s` is the logger's share of the sessions of users who come as often, so that
    busy users, who have more of both, do not count. What a list earns beyond its items is the
    user's: a logger with better lists makes no difference.
    """
    users = int(user.max()) + 1
    often = np.minimum(np.bincount(user)[user], 20)
    share = (np.bincount(often, mine) / np.maximum(np.bincount(often), 1))[often]
    before, due = (sum_by(user, x, users)[user] - x for x in (left, expected))
    return Effect.of_sum((mine - share) * before, user, float(mine @ due))


def covariate_balance(rows: AuditRows, mine: Floats) -> Balance:
    r"""Both differences of one logger; that by context is the spread of its share over contexts.

    The spread is the root of `pair_effect_variance` of :math:`a_s - \alpha`, which repeats in both
    halves of the users.
    """
    due = rows.expected * (rows.earned.sum() / rows.expected.sum())
    share, same = np.full(rows.n, mine.mean()), np.zeros(rows.n, np.int64)
    spread, se, _ = pair_effect_variance(
        mine - share, share, rows.context, rows.half, same, rows.cluster
    )
    history = history_difference(rows.earned - due, due, mine, rows.cluster)
    return Balance(history, Effect(spread, se))


def assignment(rows: AuditRows, served: Ints, names: list[str]) -> Diagnostic:
    """The diagnostic; ``served`` is the number of each session's logger among ``names``."""
    each = [covariate_balance(rows, (served == j).astype(float)) for j in range(len(names))]
    # of two loggers both are as sure, so the larger difference is told
    people, who = max(
        ((b.history, name) for b, name in zip(each, names, strict=True)),
        key=lambda pair: (round(abs(pair[0].z), 9), abs(pair[0].size)),
    )
    places = max((b.context for b in each), key=lambda e: e.z)
    room = PART * rows.harmless
    spread = math.sqrt(max(places.size, 0.0))
    by_user = people.equivalence(room, FAIL)
    most = math.sqrt(max(places.size + 1.645 * places.se, 0.0))
    by_place = "untested"
    if places.known and (most <= room or places.z > SURE):
        by_place = "pass" if most <= room else "fail" if spread >= FAIL else "caution"
    worst, where = gravest([by_user, by_place]), ("assignment", "log")
    bad = (
        ": loggers were not assigned at random, so weights that take them for one are off. Assign"
        " by a hash of the user id, or estimate each logger's sessions by themselves."
    )
    if by_place == worst and worst in ("caution", "fail"):
        text = f"A logger's share of the sessions differs by {spread:.0%} between contexts"
        return Diagnostic(*where, spread, CAUTION, worst, text + bad)
    if worst in ("caution", "fail"):
        text = f'Users whom "{who}" serves earn {abs(people.size):.1%}'
        text += f" {'more' if people.size > 0 else 'less'} in their other sessions than others do"
        return Diagnostic(*where, abs(people.size), CAUTION, worst, text + bad)
    lacking = [] if people.known else ["users who come again (log a user id)"]
    lacking += [] if places.known else ["contexts (--context)"]
    text = (
        "Users of different loggers earn the same in their other sessions but for"
        f" {abs(people.size) + 1.96 * people.se:.1%} at most, and a logger's share is the same in"
        f" all contexts but for {most:.0%}"
    )
    text += ", which does not matter here." if worst == "pass" else ": log more to know."
    if lacking:
        text = f"Whether loggers were assigned at random needs {' and '.join(lacking)}."
    return Diagnostic(*where, abs(people.size), CAUTION, worst, text)
