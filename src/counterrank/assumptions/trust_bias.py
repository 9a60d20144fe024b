r"""Assumption 4: once seen, an item earns the same at every rank (examination hypothesis)."""

from __future__ import annotations

import numpy as np

from counterrank.assumptions.score_test import AuditRows, Effect, effect, fit_product, remove_means
from counterrank.core.arrays import Floats, Ints
from counterrank.diagnostics.diagnostic import Diagnostic

CAUTION, FAIL = 0.05, 0.15
STEPS = 3


def by_doubling(y: Floats, w: Floats, rank: Ints, group: Ints, user: Ints) -> Effect:
    r"""Relative change of the reward of a view each time the rank doubles.

    .. math:: E[y_i] = w_i\, q_{g(i)} \exp(\beta \log_2 r_i)

    within groups of comparable rows, by Newton steps from :math:`\beta = 0`; the value is
    :math:`e^\beta - 1`, with :math:`|\beta| \le 2`. The noise is that of :math:`\beta = 0`.
    """
    depth = np.log2(rank)

    def step(slope: float) -> Effect:
        fit = fit_product(y, w * np.exp(slope * depth), group)
        return effect(fit.left, fit.expected, remove_means(depth, fit.expected, group), user)

    start = step(0.0)
    slope = start.size
    for _ in range(STEPS - 1):
        slope += step(float(np.clip(slope, -2, 2))).size
    return Effect(float(np.expm1(np.clip(slope, -2, 2))), start.se)


def trust(rows: AuditRows, *, top: int = 1) -> Diagnostic | str:
    """The diagnostic, or what is missing for it. Ranks above ``top`` are left out."""
    if rows.alike is None:
        return "whether the rank itself sells needs contexts or users"
    if rows.views == "latent" and rows.curves is None:
        return "whether the rank itself sells needs views or a position model"
    use = rows.rank >= top
    if not use.any():
        return "whether the rank itself sells needs longer lists"
    change = by_doubling(
        rows.reward[use], rows.seen[use], rows.rank[use], rows.alike[use], rows.of_row[use]
    )
    if not change.known:
        return "whether the rank itself sells needs items at several ranks"
    verdict = change.verdict(CAUTION, FAIL)
    known = rows.views != "latent"
    what = "seen item" if known else "item, its chance of being seen taken out,"
    way = "less" if change.size < 0 else "more"
    if verdict == "pass":
        text = (
            f"The same {what} earns the same at every rank; a change of {change.visible:.1%} per"
            " doubling of the rank would have shown."
        )
    else:
        text = f"The same {what} earns {abs(change.size):.0%} {way} each time its rank doubles:"
        text += (
            " the rank itself sells" if known else " the position model is wrong, or the rank sells"
        )
        text += (
            " (or the ranker knows more than the contexts named here). Values of rankers that move"
            " items up or down are off; swap ranks at random in a few sessions to measure it."
        )
        if top > 1:
            text += " Neighbours matter in this log (interaction), which may be all there is to it."
    return Diagnostic("trust", "log", abs(change.size), CAUTION, verdict, text)
