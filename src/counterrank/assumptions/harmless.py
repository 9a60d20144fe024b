r"""How large a violation may be and not matter: in standard errors of what the log earned.

A test that does not reject shows nothing by itself. An audit passes where the whole interval of its
effect is too small to matter (two one-sided tests, Schuirmann 1987), is loud where the effect is
beyond chance, and leaves the assumption untested in between.
"""

from __future__ import annotations

import math

from counterrank.assumptions.score_test import SURE, AuditRows, Effect, noise

MATTERS = 1.3  # standard errors of the mean reward: about two of a lift, which pairs sessions
PART = 2.5  # a target moves 1 / 2.5 of its exposure, or less, between items or loggers that differ


def harmless(rows: AuditRows) -> float:
    r"""Two standard errors of a lift, about, by those of the mean reward.

    .. math:: 1.3 \sqrt{\textstyle\sum_u (Y_u - n_u \bar y)^2} \Big/ \textstyle\sum_u Y_u

    with the reward :math:`Y_u` of a user's :math:`n_u` sessions and the mean :math:`\bar y`.
    """
    total = float(rows.reward.sum())
    left = rows.earned - total / rows.n
    return MATTERS * noise(left, rows.cluster) / total if total > 0 else math.inf


def equivalence(change: Effect, room: float, fail: float) -> str:
    """The state of an effect that does not matter within ``room`` of 0."""
    if not change.known:
        return "untested"
    if abs(change.size) + 1.96 * change.se <= room:
        return "pass"
    if abs(change.z) < SURE:
        return "untested"
    return "fail" if abs(change.size) >= fail else "caution"
