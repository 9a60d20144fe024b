r"""Every reward has arrived: the newest sessions earn as much of what is expected as older ones.

Purchases come days after the click. A log that is written too early holds zeros in their place, so
values are too low, that of the logged ranker as well; lifts hardly move. Falling demand leaves the
same trace.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from counterrank.assumptions.score_test import AuditRows, positive_ratio
from counterrank.core.arrays import Floats, Ints, divide, sum_by
from counterrank.diagnostics.diagnostic import Diagnostic, advise

BINS = 12  # of time, with as many sessions each
OLDER = 4  # of them at least are what the newest are held against
LATE = 3.0  # standard errors


@dataclass(frozen=True)
class Arrival:
    """What came of the expected reward in each bin of time, ``share``, over that of older bins.

    What the newest ``late`` bins together have more lies ``z`` standard errors from nothing;
    ``missing`` is what they lack, as a part of the whole log's reward, ``se`` the error of that
    part, and ``noise`` the relative standard error of the whole log's reward.
    """

    share: Floats
    late: int
    z: float
    missing: float
    se: float
    noise: float


def arrival(reward: Floats, expected: Floats, age_bin: Ints, user: Ints) -> Arrival | None:
    r"""How much of the reward of the newest sessions is not there yet.

    With what users :math:`u` earned and what was expected, :math:`Y_{ub}` and :math:`M_{ub}`, in
    bin :math:`b = 1, \dots, B` of time, :math:`R_b = \sum_u Y_{ub} / \sum_u M_{ub}`. The newest
    :math:`m = 1, 2, 4` bins (:math:`N`) are held against all older ones (:math:`O`):

    .. math:: z_m = \frac{R_N - R_O}{s_m}, \qquad
              s_m^2 = \sum_u \left(\frac{Y_{uN} - R_N M_{uN}}{M_N}
                    - \frac{Y_{uO} - R_O M_{uO}}{M_O}\right)^2 + \tau^2 \left(\frac1m
                    + \frac1{B - m}\right)

    :math:`\tau^2` is what neighbouring older bins differ by beyond the noise of users,
    :math:`\overline{(R_{b+1} - R_b)^2} / 2` less the mean variance of :math:`R_b`: days differ. The
    value is that of the :math:`m` with the least :math:`z_m`. Nothing depends on the unit of
    rewards; a power of 2 is taken, in which squares are floats. None where nothing is expected, of
    all sessions or of the newest.
    """
    if not expected.sum() > 0:
        return None
    unit = np.exp2(np.frexp(float(np.abs(expected).max()))[1])
    reward, expected = reward / unit, expected / unit
    bins, users = int(age_bin.max()) + 1, int(user.max()) + 1
    cell, size = user * bins + age_bin, users * bins
    y, m = (sum_by(cell, x, size).reshape(users, bins) for x in (reward, expected))
    ratio = positive_ratio(y.sum(axis=0), m.sum(axis=0))
    whole = float(reward.sum() / expected.sum())
    total = float(expected.sum()) * whole
    noise = float(divide(np.sqrt(np.sum((y - whole * m).sum(axis=1) ** 2)), total, 0.0))
    found = []
    for late in (1, 2, 4):
        old = bins - late
        if old < OLDER:
            break
        if not min(m[:, old:].sum(), m[:, :old].sum()) > 0:
            continue
        one = divide(np.sum((y - ratio * m) ** 2, axis=0), m.sum(axis=0) ** 2, 0.0)
        step = float(np.mean(np.diff(ratio[:old]) ** 2)) / 2
        between = max(step - float(one[:old].mean()), 0.0)
        psi, means = np.zeros(users), []
        for sign, (paid, due) in ((1, (y[:, old:], m[:, old:])), (-1, (y[:, :old], m[:, :old]))):
            means.append(float(paid.sum() / due.sum()))
            psi += sign * (paid - means[-1] * due).sum(axis=1) / float(due.sum())
        se = math.sqrt(float(psi @ psi) + between * (1 / late + 1 / old))
        new, before = means
        part = float(divide(m[:, old:].sum(), total, 0.0))
        z = (new - before) / se if se > 0 else 0.0
        share = ratio / before if before > 0 else np.ones(bins)
        found.append(Arrival(share, late, z, max(before - new, 0.0) * part, se * part, noise))
    if not found:
        return None
    least = min(a.se for a in found)  # what is missing in the newest bin alone shows soonest
    return replace(min(found, key=lambda a: a.z), se=least)


def bins_of_time(turn: Ints) -> Ints:
    """The bin of each session, the newest last; sessions of one time stay together."""
    count = np.bincount(turn)
    middle = np.cumsum(count) - count / 2
    where: Ints = np.unique((middle * BINS / len(turn)).astype(np.int64), return_inverse=True)[1]
    return where[turn]


def late_rewards(rows: AuditRows) -> Diagnostic:
    """The diagnostic; untested where sessions have no time, or too few times."""
    name, about = "late rewards", "sessions"
    if rows.turn is None:
        text = (
            "No time of sessions was logged: nothing tells whether the newest still wait for"
            " rewards. Log a timestamp, or the day."
        )
        return Diagnostic(name, about, math.nan, 0.0, "untested", text)
    age = bins_of_time(rows.turn - int(rows.turn.min()))
    if int(age.max()) < OLDER:
        text = (
            f"The log has {int(age.max()) + 1} different times: whether the newest sessions still"
            " wait for rewards shows in five or more. Log a timestamp."
        )
        return Diagnostic(name, about, math.nan, 0.0, "untested", text)
    found = arrival(rows.earned, rows.expected, age, rows.cluster)
    if found is None:
        text = (
            "Nothing is expected of the newest sessions, so nothing tells whether they still wait"
            " for rewards. Log more users, and items that several of them see."
        )
        return Diagnostic(name, about, math.nan, 0.0, "untested", text)
    bins = len(found.share)
    if found.z < -LATE:
        shares = ", ".join(f"{s:.0%}" for s in found.share[: -found.late - 1 : -1])
        text = (
            "The newest sessions have only a part of the reward of older ones like them (by 1/"
            f"{bins} of the log, the newest first: {shares}): rewards still to come count 0,"
            f" {found.missing:.1%} of all, or demand or tastes are changing. Leave out sessions"
            " younger than rewards take to arrive; where none come late, look for what changed."
        )
        return Diagnostic(name, about, found.missing, 0.0, "caution", text)
    visible = (LATE + 0.84) * found.se
    state = "pass" if visible <= 2 * found.noise else "untested"
    text = (
        "The newest sessions earn as much of what is expected as older ones; rewards missing there"
        f" that make {visible:.1%} of all would have shown."
    )
    todo = " Times differ too much by themselves to tell less: log longer."
    return advise(name, about, found.missing, 0.0, state, text, todo)
