r"""Assumption 4: once seen, an item earns the same at every rank (examination hypothesis).

The parameters are :math:`\log t_r`, how much more or less a view earns at rank :math:`r` than the
same item earns at the first (`two_way`). The shift is :math:`F(b, \hat t, \hat q) - F(b, 1, q_1)`.
Without views :math:`t` also holds what the position model has wrong.
"""

from __future__ import annotations

import numpy as np

from counterrank.assumptions.assumption import Assumption, Belief, Shift, Told
from counterrank.assumptions.evidence import Placement
from counterrank.assumptions.score_test import AuditRows, Effect, effect, fit_product, remove_means
from counterrank.assumptions.two_way import TwoWay, depth
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
    what, why = "seen item", "the rank itself sells"
    if rows.views == "latent":
        what = "item, its chance of being seen taken out,"
        why = "the position model is wrong, or the rank sells"
    text = (
        f"The same {what} earns the same at every rank; a change of {change.visible:.1%} per"
        " doubling of the rank would have shown."
    )
    if verdict != "pass":
        way = "less" if change.size < 0 else "more"
        text = (
            f"The same {what} earns {abs(change.size):.0%} {way} each time its rank doubles: {why}"
            " (or the ranker knows more than the contexts named here). Values of rankers that move"
            " items up or down are off; swap ranks at random in a few sessions to measure it."
        )
        if top > 1:
            text += " Neighbours matter in this log (interaction), which may be all there is to it."
    return Diagnostic("trust", "log", abs(change.size), CAUTION, verdict, text)


ROUGH = 0.15  # standard error of the change per doubling from which the log does not tell


class Trust(Assumption):
    """Once seen, an item earns the same at every rank."""

    name = "trust"
    corner = "ranks"
    of_ranks = True
    default = 0.2
    source = "a choice: 20% per doubling of the rank"
    needs = "swaps: a small share of sessions with two neighbouring ranks swapped at random"

    def learn(self, belief: Belief) -> Told:
        fit = belief.tilted
        slope, se, whole = _slope(fit)
        size = float(np.expm1(slope))
        if not whole or not se < ROUGH:
            says = "Hardly any item came at several ranks, so nothing tells what its rank does."
            return Told(size, se, False, False, says)
        what = "seen item" if belief.log.rows.views != "latent" else "item, its views taken out,"
        z = np.abs(np.log(fit.t[1:])) / np.maximum(fit.error[1:], 1e-300)
        found = abs(slope) > 3 * se or bool(np.max(z, initial=0) > 3.5)
        way = "less" if size < 0 else "more"
        says = (
            f"The same {what} earns {abs(size):.1%} {way} each time its rank doubles (standard"
            f" error {se:.1%})."
        )
        return Told(size, se, belief.log.rows.named, found, says)

    def shifts(self, belief: Belief, learned: Told, place: Placement) -> list[Shift]:
        b, base = belief.b, belief.value(place, belief.plain, belief.b) * -1.0
        found = []
        if np.isfinite(learned.se) and learned.se < ROUGH:
            found.append(belief.value(place, belief.tilted, b) + base)
        if not learned.told or self.name in belief.allow:
            for way in (1, -1):
                t = (1 + way * self.range(belief)) ** depth(belief.log)
                found.append(belief.value(place, belief.tilted.at(t), b) + base)
        return found


def _slope(fit: TwoWay) -> tuple[float, float, bool]:
    """The change of log t per doubling of the rank, weighted by what the fit knows; its error.

    And whether all ranks were compared with each other, however little.
    """
    log, at, H = fit.log, fit.step_depth, fit.expected
    if len(fit.t) < 2:
        return 0.0, float("inf"), False
    S = np.linalg.pinv(fit.inverse, rcond=1e-9, hermitian=True)
    known = np.linalg.matrix_rank(S, tol=1e-6 * max(float(H.sum()), 1e-300), hermitian=True)
    information = float(at @ S @ at)
    if information <= 0:
        return 0.0, float("inf"), False
    slope = S @ at / information
    error = float(np.sqrt(np.sum(fit.factors(slope) ** 2)) / log.n)
    return float(slope @ np.log(fit.t)), error, known == len(fit.t) - 1
