r"""Lists were made without the rewards that they are judged by.

A ranker trained on the very clicks of the log puts what was clicked on top, and so "earns" it. Two
things tell it from a ranker that is good. Nobody knows beforehand which rows of a list will be
seen: lists that favour, at the same logged rank, rows that *were* seen have looked. And an item
that one user was shown several times in one context is worth the same each time: lists that favour
it just where it was rewarded have looked, or know more than the contexts named. Of a small leak no
log tells, so that there is none is at best assumed.
"""

from __future__ import annotations

import math

import numpy as np

from counterrank.assumptions.score_test import (
    SURE,
    AuditRows,
    Effect,
    fit_product,
    number_keys,
    remove_means,
)
from counterrank.core.arrays import Floats, Ints
from counterrank.diagnostics.diagnostic import Diagnostic

CAUTION, FAIL = 0.05, 0.2
BLIND = 0.5  # of a value that would have to leak to show: nothing is tested


def foreseen_views(w: Floats, seen: Floats, paid: Floats, rank: Ints, user: Ints) -> Effect:
    r"""The share of a target's value that rests on views which its lists foresaw.

    With the share :math:`b_r` of rows at rank :math:`r` that were seen, weights :math:`w`, rewards
    :math:`c` and their mean size :math:`\bar c` where there is one,

    .. math:: \frac{\bar c \sum_i w_i (v_i - b_{r(i)})}{(1 - \bar b) \sum_i w_i c_i}, \qquad
              \bar b = \frac{\sum_i w_i c_i b_{r(i)}}{\sum_i w_i c_i}

    A list that raises the weight of :math:`k` rewarded rows foresees about :math:`k (1 - \bar b)`
    views. It is 0 for lists made before anyone looked, whatever they know of users.
    """
    count = np.maximum(np.bincount(rank), 1)
    b = (np.bincount(rank, seen) / count)[rank]
    mean = (np.bincount(rank, w) / count)[rank]  # its noise is that of the views at this rank
    value = float(w @ paid)
    often = float((w * paid) @ b) / value if value > 0 else 1.0
    events = int(np.count_nonzero(paid))
    bottom = value * (1 - often) * events / max(float(paid.sum()), 1e-300)
    return Effect.of_sum((w - mean) * (seen - b), user, bottom)


def same_session(
    w: Floats, paid: Floats, seen: Floats, alike: Ints, rank: Ints, again: Ints, user: Ints
) -> Effect:
    r"""The share of a target's value that rests on rewards of this session, not of others like it.

    Rows with the same number in ``again`` show one item to one user in one context:

    .. math:: \frac{\sum_i (w_i - \bar w_{g(i)}) (c_i - \hat c_i)}{\sum_i w_i c_i}, \qquad
              \hat c_i = v_i\, q_{a(i)}\, \kappa_{r(i)}

    over rows that came again, with :math:`\bar w` the mean by :math:`\hat c` over their group
    :math:`g` and over ranks. A ranker that knows users, items and contexts has 0: to it, these rows
    differ by what else is in the list.
    """
    several = np.bincount(again)[again] > 1
    value = float(w[several] @ paid[several])
    if not value > 0:
        return Effect(0.0, 0.0)
    fit = fit_product(paid, seen, alike, rank)
    own, group = fit.expected[several], number_keys(again[several])[0]
    z = remove_means(w[several], own, group, rank[several])
    return Effect.of_sum(z * fit.left[several], user[several], value)


def leak(rows: AuditRows, system: str, w: Floats) -> Diagnostic:
    """The diagnostic of one target, whose weight of each row is ``w``."""
    views = again = Effect(0.0, 0.0)
    if rows.views == "observed":
        views = foreseen_views(w, rows.seen, rows.reward, rows.depth, rows.of_row)
    if rows.again is not None and rows.alike is not None:
        again = same_session(
            w, rows.reward, rows.seen, rows.alike, rows.depth, rows.again, rows.of_row
        )
    todo = " Make them from older sessions, or from other users."
    if views.z > SURE and views.size >= CAUTION:
        text = (
            "Its lists favour rows that were then seen, which nobody can foresee: they were trained"
            f" on these very rewards, and about {min(views.size, 1):.0%} of its value comes of it,"
            " or some items draw the eye wherever they stand."
        )
        state = "fail" if views.size >= FAIL else "caution"
        return Diagnostic("leak", system, views.size, CAUTION, state, text + todo)
    if again.z > SURE:
        text = (
            "Its lists favour items just in those sessions of a user in which they were rewarded:"
            " they were trained on these very rewards, or know more of a session than the contexts"
            f" named. {again.size:.1%} of its value or more comes of it."
        )
        return Diagnostic("leak", system, again.size, CAUTION, "caution", text + todo)
    if not views.known or views.visible > BLIND:
        text = (
            "Too little is known of views to tell whether the lists were trained on the rewards"
            " they are judged by."
        )
        return Diagnostic("leak", system, math.nan, CAUTION, "untested", text + todo)
    text = (
        "Its lists do not foresee which rows were seen: if they had been trained on these rewards,"
        f" and {views.visible:.0%} of its value came of it, it would have shown. That less than"
        " this comes of it is assumed."
    )
    return Diagnostic("leak", system, max(views.size, 0.0), CAUTION, "assumed", text)
