r"""Assumption 2: whether a rank is seen depends on the rank alone, not on clicks above it.

Readers who click more may also read on more, whatever they clicked. So the effect of a reward right
above (the reader may leave because of it) is compared with that of rewards further up (which the
reader has survived).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterrank.assumptions.assumption import Assumption, Belief, Shift, Told
from counterrank.assumptions.evidence import Placement
from counterrank.assumptions.score_test import (
    DEEPEST,
    AuditRows,
    Effect,
    effect,
    positive_ratio,
    remove_means,
)
from counterrank.core.arrays import Bools, Floats, Ints, divide, products_before, sum_by
from counterrank.diagnostics.diagnostic import Diagnostic

CAUTION, FAIL = 0.05, 0.2


def left_after(goes_on: Floats, here: Floats, above: Floats, stratum: Ints, user: Ints) -> Effect:
    r"""Share of readers whom a reward at the last seen row keeps from reading on.

    Rows are those that were seen and have a row below; ``goes_on`` says whether that was seen too.

    .. math:: P(V_{r+1} = 1 \mid V_r = 1) = \alpha_{\text{stratum}} + \beta_1 C_r
              + \beta_2 \sum_{j < r} C_j

    The value is :math:`(\beta_1 - \beta_2)` over the mean of :math:`V_{r+1}`.
    """
    one = np.ones(len(goes_on))
    z = np.stack([remove_means(x, one, stratum) for x in (here, above)], axis=1)
    change = effect(remove_means(goes_on, one, stratum), one, z, user, (1.0, -1.0))
    mean = float(goes_on.mean())
    return Effect(change.size / mean, change.se / mean)


def avoidance_effect(first: Floats, rest: Floats, one: Floats, more: Floats, user: Ints) -> Effect:
    r"""How much rarer a reward below is in sessions with one at the top, views being unknown.

    Per session: what is left of the reward at the first rank, :math:`a_s`, and below it,
    :math:`b_s`, and what was expected, :math:`\hat a_s` and :math:`\hat b_s`.

    .. math:: \frac{\sum_s a_s b_s}{\sum_s \hat a_s \hat b_s} -
              \frac{\sum_u \sum_{s \ne t \in u} a_s b_t}
                   {\sum_u \sum_{s \ne t \in u} \hat a_s \hat b_t}

    Users who react readily do so in all their sessions, which the second term takes off; it is 0
    where no user came twice. Readers who see a row have often seen more of them, which pushes the
    value up: only a value below 0 speaks of leaving.
    """
    users = int(user.max()) + 1
    same, due = sum_by(user, first * rest, users), sum_by(user, one * more, users)
    cross = sum_by(user, first, users) * sum_by(user, rest, users) - same
    cross_due = sum_by(user, one, users) * sum_by(user, more, users) - due
    value, influence = 0.0, np.zeros(users)
    for sign, top, bottom in ((1, same, due), (-1, cross, cross_due)):
        total = float(bottom.sum())
        if total > 1e-9 * float(due.sum()):
            share = float(top.sum()) / total
            value += sign * share
            influence += sign * (top - share * bottom) / total
    return Effect(value, float(np.sqrt(influence @ influence)))


def examination(rows: AuditRows) -> Diagnostic | str:
    """The diagnostic, or what is missing for it."""
    change = _by_rewards(rows) if rows.views == "latent" else _by_views(rows)
    if isinstance(change, str):
        return change
    if not change.known:
        return "whether rewards change how many read on needs rewards above other rows"
    verdict = change.verdict(CAUTION, FAIL)
    if rows.views == "latent" and change.size > 0:
        verdict = "pass"  # see ``avoidance_effect``
    if verdict == "pass":
        text = (
            "Rewards above do not change how many read on; an effect of"
            f" {change.visible:.1%} would have shown."
        )
    elif change.size < 0:
        text = (
            f"A reward keeps {-change.size:.0%} of the readers from going on: whether a row is seen"
            " depends on the rows above, so values of rankers that put other items on top are off."
            " Use a cascade measure such as ERR beside it, or test online."
        )
    else:
        text = (
            f"After a reward {change.size:.0%} more readers go on: what is seen depends on the rows"
            " above, so values of rankers that put other items on top are off."
        )
    return Diagnostic("examination", "log", abs(change.size), CAUTION, verdict, text)


def reading_on(rows: AuditRows) -> tuple[Floats, Bools]:
    """Whether the row below each row was seen; rows that were seen and have one below."""
    last = np.append(rows.session[1:] != rows.session[:-1], True)
    following = np.append(rows.rank[1:], 0) == rows.rank + 1
    goes_on = np.append(rows.seen[1:], 0.0) * (following & ~last)
    if rows.views == "observed":
        return goes_on, (rows.seen > 0) & ~last
    # only viewed rows were logged: the end of the list is where nobody ever went on
    return goes_on, rows.rank < min(int(rows.rank.max()), DEEPEST)


def _by_views(rows: AuditRows) -> Effect | str:
    goes_on, use = reading_on(rows)
    here = (rows.reward != 0).astype(float)
    before = np.cumsum(here) - here
    above = before - before[np.searchsorted(rows.session, np.arange(rows.n))][rows.session]
    if use.sum() < 100 or not goes_on[use].any():
        return "whether readers leave after a click needs lists of two rows or more"
    return left_after(goes_on[use], here[use], above[use], rows.depth[use], rows.of_row[use])


def _by_rewards(rows: AuditRows) -> Effect:
    y = (rows.reward != 0).astype(float)
    due = rows.seen * rows.quality
    ranks = int(rows.depth.max()) + 1
    due *= positive_ratio(sum_by(rows.depth, y, ranks), sum_by(rows.depth, due, ranks))[rows.depth]
    top = rows.rank == 1
    first, rest = (rows.by_session((y - due) * there) for there in (top, ~top))
    one, more = (rows.by_session(due * there) for there in (top, ~top))
    return avoidance_effect(first, rest, one, more, rows.cluster)


# as an assumption


class Examination(Assumption):
    r"""Rewards above do not change how many read on.

    The parameter :math:`\gamma` is the share of readers whom a reward keeps from going on: 1 less
    the ratio of Mantel and Haenszel over ranks and contexts of P(next row seen) after a reward and
    without one. With the chance :math:`p` of a reward, a row's view is as likely as

    .. math:: b_r\, g / \bar g_r, \qquad g = \prod_{j < r} (1 - \gamma\, p_j)

    with the mean :math:`\bar g_r` over logged lists; both sides of every weight change.
    """

    name = "examination"
    corner = "examination"
    default = 0.3
    source = "a choice: a reward keeps up to 30% of the readers from going on"
    needs = "viewed: a view event for each row, and the time of each view and click"

    def learn(self, belief: Belief) -> Told:
        log = belief.log
        rows = log.rows
        if rows.views == "latent":
            return Told(says="Without views nothing tells whether readers leave after a reward.")
        goes_on, use = reading_on(rows)
        found = leaving_share(
            goes_on[use], (rows.reward != 0)[use].astype(float), rows.depth[use], rows.of_row[use],
            log.clusters,
        )  # fmt: skip
        if found is None:
            return Told(says="No reward stands above another row.")
        gamma, psi = found
        se = float(np.sqrt(psi @ psi))
        way = "keeps" if gamma >= 0 else "draws"
        where = "from going on" if gamma >= 0 else "on to further rows"
        says = f"A reward {way} {abs(gamma):.1%} of the readers {where} (standard error {se:.1%})."
        return Told(gamma, se, se < 0.1, abs(gamma) > 3 * se, says, {"psi": log.n * psi})

    def shifts(self, belief: Belief, learned: Told, place: Placement) -> list[Shift]:
        log, base = belief.log, belief.at(place, belief.plain).each
        gamma = float(np.clip(learned.size, -0.9, 0.9)) if learned.told else self.range(belief)
        each = _values(belief, place, gamma) - base
        shift = Shift.mean(log, each)
        if learned.told:
            slope = float(np.mean(_values(belief, place, gamma + STEP) - base - each)) / STEP
            shift = replace(shift, psi=shift.psi + slope * learned.more["psi"])
        return [shift]


STEP = 1e-4  # of gamma, for the slope of the value


def leaving_share(
    goes_on: Floats, paid: Floats, stratum: Ints, user: Ints, users: int
) -> tuple[float, Floats] | None:
    r"""Mantel and Haenszel: how much rarer it is to go on after a reward; influence by user.

    .. math:: 1 - \frac{\sum_k A_k N_{0k} / N_k}{\sum_k B_k N_{1k} / N_k}

    with rows :math:`N_{1k}` with and :math:`N_{0k}` without a reward in stratum :math:`k`, of which
    :math:`A_k` and :math:`B_k` go on.
    """
    strata = int(stratum.max(initial=0)) + 1
    n1, n0 = (sum_by(stratum, x, strata) for x in (paid, 1 - paid))
    a, b = (sum_by(stratum, x * goes_on, strata) for x in (paid, 1 - paid))
    n = n1 + n0
    top, bottom = (float(positive_ratio(x * y, n).sum()) for x, y in ((a, n0), (b, n1)))
    if top <= 0 or bottom <= 0:
        return None
    # derivatives of log(top / bottom) by the four sums of each stratum
    p1, p0 = positive_ratio(a, n1), positive_ratio(b, n0)
    w1, w0 = positive_ratio(n0, n), positive_ratio(n1, n)
    row = np.where(
        paid > 0,
        w1[stratum] * (goes_on - p1[stratum]) / top,
        -w0[stratum] * (goes_on - p0[stratum]) / bottom,
    )
    ratio = top / bottom
    return 1 - ratio, -ratio * sum_by(user, row, users)


def _values(belief: Belief, place: Placement, gamma: float) -> Floats:
    """F of each session, if a reward makes a share ``gamma`` of readers leave."""
    log, fit = belief.log, belief.plain
    hit = sum_by(log.group, (log.rows.reward != 0).astype(float), log.groups + 1)
    chance = np.clip(positive_ratio(hit, np.append(fit.due, 0.0)), 0, 1)
    lists = np.bincount(log.rows.session, minlength=log.n)
    own = products_before(lists, 1 - gamma * chance[log.group])
    new = products_before(place.lengths, 1 - gamma * chance[place.group])
    ranks = log.given.shape[1]
    usual = divide(sum_by(log.rank, own, ranks), np.bincount(log.rank, minlength=ranks), 1.0)
    more, most = new / usual[place.rank], own / usual[log.rank]
    changed = replace(
        place, memo={}, factor=place.factor * more,
        weight=place.weight * np.append(more, 0.0)[place.cell] / np.maximum(most, 1e-3),
    )  # fmt: skip
    return changed.at(belief.b, fit.by_rank, fit.q).each
