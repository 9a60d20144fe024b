r"""Assumption 1: what a user was shown before does not change what this session earns.

The audit asks whether a good previous list goes with more or less reward now. Users differ, so only
sessions of the same user are compared; and how good a list is, is predicted from the other half of
the users, so that no reward stands on both sides.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from counterrank.assumptions.assumption import Assumption, Belief, Shift, Told
from counterrank.assumptions.evidence import Placement
from counterrank.assumptions.score_test import (
    PRIOR,
    AuditRows,
    Effect,
    positive_ratio,
    remove_means,
)
from counterrank.core.arrays import Bools, Floats, Ints, sum_by
from counterrank.diagnostics.diagnostic import Diagnostic

CAUTION, FAIL = 0.02, 0.1
FEWEST = 30  # users with a session after another one
ROUGH = 0.1  # standard error of the effect from which the log does not tell
FELT = 1.96  # standard errors from which likeness to a target counts: always would cost a fifth
EVEN = 0.05  # of what is usual: lists that differ less in worth are no unit to measure by
RAW = 1e-9  # views of an average item that a mean is not to be shrunken by


class ListSlopes(NamedTuple):
    """Changes of the reward by the parts of the last list's worth, and what users add to each.

    ``unit`` is a standard deviation of the last list's worth.
    """

    slope: Floats
    by_user: Floats
    unit: float

    @property
    def effects(self) -> list[Effect]:
        """Each part, for one unit of it."""
        se = np.sqrt(np.sum(self.by_user**2, axis=1))
        return [
            Effect(float(b) * self.unit, float(e) * self.unit)
            for b, e in zip(self.slope, se, strict=True)
        ]


def list_worth(session: Ints, weight: Floats, quality: Floats, n: int) -> Floats:
    r"""What the order of each session's list is worth, and what its items are in any order.

    .. math:: O_s = \sum_i (w_i - \bar w_s)\, q_i, \qquad I_s = \bar w_s \sum_i q_i

    with the chance :math:`w_i` that an item is seen and its reward :math:`q_i` of a view.
    """
    length = np.bincount(session, minlength=n).astype(float)
    items = positive_ratio(sum_by(session, weight, n), length) * sum_by(session, quality, n)
    return np.stack([sum_by(session, weight * quality, n) - items, items])


def carry_over_slopes(
    reward: Floats, expected: Floats, proxy: Floats, worth: Floats, user: Ints
) -> tuple[Floats, Floats]:
    r"""By how much the reward changes with the parts of the last list's worth.

    With :math:`Y_s` earned and :math:`M_s` expected in session :math:`s` of user :math:`u`,

    .. math:: E[Y_s] = f_u M_s \exp(\beta^\top X_s), \qquad
              \hat\beta = H^{-1} \sum_{s,h} \tilde Z_{hs} (Y_s - \hat Y_s), \qquad
              H = \sum_{s,h} \hat Y_s \tilde Z_{hs} \tilde X_{hs}^\top

    where :math:`X_h` (``worth[h]``) says how good the user's lists were: the parts of the last one
    in the upper rows, those of this one in the lower. :math:`Z_h` (``proxy[h]``) says the same,
    with errors that are independent of those of :math:`X_h` and of this user's rewards. :math:`\hat
    Y = \hat f_u M`, and a tilde is less the user's mean by :math:`\hat Y`. Beside the last list's
    slopes stands :math:`H^{-1} \sum_{s \in u, h} \tilde Z_{hs} (Y_s - \hat Y_s (1 + \hat\beta^\top
    \tilde X_{hs}))`, what each user adds to their errors.
    """
    users = int(user.max()) + 1
    fit = (
        expected * positive_ratio(sum_by(user, reward, users), sum_by(user, expected, users))[user]
    )
    z, x = (
        np.stack([[remove_means(part, fit, user) for part in half] for half in each])
        for each in (proxy, worth)
    )
    inverse = np.linalg.pinv(np.einsum("hps,s,hqs->pq", z, fit, x), rcond=1e-10)
    slope = inverse @ (z.sum(axis=0) @ (reward - fit))
    left = z * (reward - fit * (1 + slope @ x))[:, None]
    by_user: Floats = inverse @ np.stack([sum_by(user, part, users) for part in left.sum(axis=0)])
    parts = len(inverse) // 2
    return slope[:parts], by_user[:parts]


class LastLists:
    """The sessions of a log that follow another one of their user."""

    def __init__(self, rows: AuditRows):
        self.rows = rows
        turn = np.zeros(rows.n, np.int64) if rows.turn is None else rows.turn
        self.last, self.again = _previous(rows.cluster, turn)
        self.few = len(np.unique(rows.cluster[self.again])) < FEWEST

    @cached_property
    def measures(self) -> tuple[Floats, Floats]:
        """Proxies of worths, and worths: halves x (list before, own list) x parts x sessions.

        What either half of the users says is a proxy of what the other one does.
        """
        proxy = [self._worth(PRIOR, own=own) for own in (False, True)]
        worth = [self._worth(RAW, own=own) for own in (True, False)]
        return np.stack(proxy), np.stack(worth)

    def slopes(self, *, parts: bool) -> ListSlopes:
        """`carry_over_slopes` by order and items of lists, or by their whole worth."""
        proxy, worth = (
            (x if parts else x.sum(axis=2)).reshape(2, -1, x.shape[-1]) for x in self.measures
        )
        return self._fit(proxy, worth, float(np.std(self.measures[0][:, 0].sum(axis=1))))

    def slope_along(self, part: Floats) -> ListSlopes:
        """The same by one part of each session's list, which is known without an error."""
        both = np.stack([part[self.last[self.again]], part[self.again]])[None]
        return self._fit(both, both, float(np.std(both[0, 0])))

    def _fit(self, proxy: Floats, worth: Floats, unit: float) -> ListSlopes:
        rows, now = self.rows, self.again
        slope, own = carry_over_slopes(
            rows.earned[now], rows.expected[now], proxy, worth, rows.cluster[now]
        )
        by_user = np.pad(own, [(0, 0), (0, rows.clusters - own.shape[1])])
        return ListSlopes(slope, by_user, unit)

    def _worth(self, prior: float, *, own: bool) -> Floats:
        """The list before each session and its own, as shares of what is usual in a context."""
        rows = self.rows
        quality = rows.half_quality(own=own, prior=prior)
        worth = list_worth(rows.session, rows.patience, quality, rows.n)
        usual = rows.usual(worth.sum(axis=0))
        shares = np.stack([positive_ratio(part, usual) for part in worth])
        return np.stack([shares[:, self.last[self.again]], shares[:, self.again]])


def came_again(rows: AuditRows) -> int:
    """How many users have several sessions."""
    return int(np.sum(np.bincount(rows.cluster) > 1))


def carry_over(rows: AuditRows) -> Diagnostic | str:
    """The diagnostic, or what is missing for it."""
    if not rows.users:
        return "carry over between sessions needs a column user"
    if (came := came_again(rows)) < FEWEST:
        text = f"Only {came:,} users came twice, so hardly anything can carry over."
        return Diagnostic("carry over", "log", 0.0, CAUTION, "pass", text)
    lists = LastLists(rows)
    if lists.few:
        text = (
            f"Which of a user's sessions came first was not logged, for {came:,} users who came"
            " twice (session ids are no time): nothing tells whether lists change what later"
            " sessions earn. Log a timestamp, or the day."
        )
        return Diagnostic("carry over", "log", math.nan, CAUTION, "untested", text)
    (change,) = lists.slopes(parts=False).effects
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

    The parameters :math:`\beta` are the changes of the reward with the worth :math:`P` of the last
    list: of its order and of its items, or, where the log does not tell these apart, of both
    together. A ranker that serves every session changes the last lists as well: its value :math:`V`
    is :math:`V (e^{\beta (P - P_0)} - 1)` further, in sessions that have a last one
    in the log. Where the log does not tell, a range for a standard deviation of
    the worth (at least 5 % of what is usual) stands for :math:`\beta`.

    What readers remember of a list need not be its worth: clickbait earns now and costs later. So
    the same is told by how much the last list was like the target's, whatever that is worth
    (`likeness`); where that differs from 0 by more than 1.96 standard errors it is another way in
    which the assumption may be broken.
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
        lists, share = LastLists(rows), 1 - belief.log.clusters / rows.n
        if lists.few:
            says = "Which of a user's sessions came first was not logged."
            return Told(says=says, more={"share": share})
        found = lists.slopes(parts=True)
        if any(not e.known or e.se > ROUGH for e in found.effects):
            found = lists.slopes(parts=False)
        effects = found.effects
        if not effects[0].known:
            return Told(says="Lists hardly differ in worth.", more={"share": share, "log": ""})
        names = ("whose order is better", "whose items are better") if len(effects) > 1 else ("",)
        says = " ".join(
            f"After a list {name or 'that is better'} by one standard deviation of lists the same"
            f" user's next session earns {abs(e.size):.1%} {'less' if e.size < 0 else 'more'}"
            f" (standard error {e.se:.1%})."
            for e, name in zip(effects, names, strict=True)
        )
        most = max(effects, key=lambda e: abs(e.z))
        return Told(
            most.size, most.se, max(e.se for e in effects) < ROUGH, abs(most.z) > 3, says,
            {
                "slope": found.slope, "psi": rows.n * found.by_user, "share": share, "log": "",
                "lists": lists,
            },
        )  # fmt: skip

    def shifts(self, belief: Belief, learned: Told, place: Placement) -> list[Shift]:
        log, fit = belief.log, belief.plain
        value, q = belief.value(place, fit, belief.b), np.abs(fit.q)
        new = list_worth(place.session, belief.at(place, fit).exposure, q[place.group], log.n)
        old = list_worth(log.rows.session, belief.b[log.row_curve, log.rank], q[log.group], log.n)
        whole = old.sum(axis=0)
        share = float(learned.more.get("share", 1.0))
        far = share * positive_ratio(np.mean(new - old, axis=1), np.full(2, whole.mean()))
        if not learned.told:
            spread = max(float(np.std(positive_ratio(whole, log.rows.usual(whole)))), EVEN)
            sizes = [way * self.range(belief) / spread for way in (1, -1)]
            return [value * float(np.expm1(size * far.sum())) for size in sizes]
        if "psi" not in learned.more:
            return []
        slope = learned.more["slope"]
        far = far if len(slope) > 1 else far.sum(keepdims=True)
        alike = likeness(belief, place)
        along = learned.more["lists"].slope_along(alike[0])
        ways = [(slope, learned.more["psi"], far)]
        if all(e.known and e.se < ROUGH and abs(e.z) > FELT for e in along.effects):
            more = share * np.mean(alike[1] - alike[0], keepdims=True)
            ways.append((along.slope, log.n * along.by_user, more))
        return [_grown(value, *way) for way in ways]


def likeness(belief: Belief, place: Placement) -> tuple[Floats, Floats]:
    r"""How much the logged list of each session is like the target's lists; and the target's is.

    .. math:: X_s = \sum_i c_{r_i}\, T_{g_i}, \qquad T_g = \frac{E_g - E^0_g}{n_g}

    with the chance :math:`c` that a rank is seen and, over the :math:`n_g` sessions of the group's
    context, the exposures :math:`E_g, E^0_g` that the target and the log give an item there; less
    what is usual of logged lists in the context. An item that was never logged tells nothing.
    """
    log, rows = belief.log, belief.log.rows
    old, new = belief.b[log.row_curve, log.rank], belief.at(place, belief.plain).exposure
    context = np.zeros(log.groups, np.int64)
    context[log.group] = rows.context_of_row
    gain = sum_by(place.group, new, log.groups + 1)[:-1] - sum_by(log.group, old, log.groups)
    T = np.append(gain / np.bincount(rows.context)[context], 0.0)
    logged = rows.by_session(old * T[log.group])
    usual = rows.usual(logged)
    return logged - usual, sum_by(place.session, new * T[place.group], log.n) - usual


def _grown(value: Shift, slope: Floats, psi: Floats, far: Floats) -> Shift:
    r""":math:`V (e^{\beta\,\text{far}} - 1)`, with the errors of both."""
    grown = float(np.exp(slope @ far))
    return Shift(
        value.value * (grown - 1), (grown - 1) * value.psi + value.value * grown * (far @ psi)
    )
