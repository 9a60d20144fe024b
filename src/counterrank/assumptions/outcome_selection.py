r"""No session is missing because of what it earned: those without any reward are in the log, too.

Logs made of click events, or joined with them, hold no session without a click. All values are then
too high, and that of the logged ranker as well.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterrank.assumptions.score_test import AuditRows, Effect, noise, positive_ratio
from counterrank.core.arrays import Floats, Ints, sum_by
from counterrank.diagnostics.diagnostic import Diagnostic

SELECTED = 4.0  # standard errors
ROUNDING = 1e-9  # errors of a share that is 0 whatever was left out
FEWEST = 30.0  # sessions without a reward that must be due


def empty_sessions(
    paid: Floats, chance: Floats, session: Ints, rank: Ints, user: Ints
) -> tuple[Effect, Floats]:
    r"""Sessions without any reward, less those that are due, as a share of these; and :math:`e_s`.

    Row :math:`i` of session :math:`s` is rewarded with chance :math:`\mu_i`, scaled so that rows of
    each rank add up to what was paid (``paid`` is 0 or 1). With :math:`o_s = 1` where nothing was,

    .. math:: D = \sum_s (o_s - e_s), \quad e_s = \prod_{i \in s} (1 - \mu_i), \quad
              \operatorname{var} D = \sum_u \Big(\sum_{s \in u} o_s - e_s
              + \sum_{i \in s} g_{r(i)} (c_i - \mu_i)\Big)^2, \quad
              g_r = \frac{\sum_{i: r(i) = r} e_s \mu_i / (1 - \mu_i)}{\sum_{i: r(i) = r} \mu_i}

    where :math:`g` is the noise of the scale. Users who differ, and readers who see much or little,
    only make more such sessions (a product of chances is convex in what they have in common):
    fewer are due to selection.
    """
    n, ranks = int(session.max()) + 1, int(rank.max()) + 1
    scale = positive_ratio(sum_by(rank, paid, ranks), sum_by(rank, chance, ranks))
    mu = np.minimum(chance * scale[rank], 0.999)
    due = np.exp(sum_by(session, np.log1p(-mu), n))
    g = positive_ratio(sum_by(rank, due[session] * mu / (1 - mu), ranks), sum_by(rank, mu, ranks))
    more = (sum_by(session, paid, n) == 0) - due
    spread = noise(more + sum_by(session, g[rank] * (paid - mu), n), user)
    total = float(due.sum())
    return Effect(float(more.sum()) / total, spread / total), due


def visible_selection(more: Effect, due: Floats) -> float:
    r"""The least share of sessions without reward whose absence would have shown, 4 times in 5.

    Without a share :math:`s` of them the log is :math:`k(s) = 1 - s O / n` as long, and what is
    left of it is rewarded :math:`1 / k` as often: :math:`(1 - s) O` are there and about
    :math:`k \sum_s e_s^{1/k}` due.
    """
    n, total = len(due), float(due.sum())
    empty = total * (1 + more.size)
    for s in np.arange(0.01, 1.0, 0.01):
        k = 1 - s * empty / n
        left = k * float(np.sum(due ** (1 / k)))
        if (1 - s) * empty - left < -(SELECTED + 0.84) * more.se * total:
            return float(s)
    return 1.0


def selection(rows: AuditRows) -> Diagnostic:
    """The diagnostic: fail where sessions are missing beyond doubt, and otherwise assumed."""
    paid = replace(rows, reward=(rows.reward != 0).astype(float))
    more, chances = empty_sessions(
        paid.reward, paid.seen * paid.quality, rows.session, rows.depth, rows.cluster
    )
    due = float(chances.sum())
    where = "selection", "sessions", max(-more.size, 0.0), 0.0
    if due >= FEWEST and more.se <= ROUNDING:
        text = (
            "Lists of one item cannot tell whether sessions without a reward were left out: as many"
            " are there as are due, whatever is missing. That all were logged is assumed."
        )
        return Diagnostic(*where, "assumed", text)
    if due < FEWEST:
        text = (
            f"Only {due:,.0f} sessions without any reward are due: nothing tells whether some were"
            " left out. Log every session that was shown, rewarded or not."
        )
        return Diagnostic(*where, "untested", text)
    if more.z < -SELECTED:
        text = (
            f"{-more.size:.0%} of the sessions without any reward that are due are not in the log:"
            " sessions were left out for what they earned, so every value is too high, or one"
            " reward keeps others of its list away."
        )
        state = "fail"
        if rows.views == "latent":
            text += " (Views would tell which.)"
            state = "caution" if more.size > -0.9 else "fail"
        return Diagnostic(*where, state, text + " Log every session that was shown.")
    text = (
        "Sessions without any reward are not rarer than they should be: if some"
        f" {visible_selection(more, chances):.0%} of them had been left out, it would have shown. A"
        " smaller part leaves no trace: that all sessions were logged is assumed."
    )
    return Diagnostic(*where, "assumed", text)
