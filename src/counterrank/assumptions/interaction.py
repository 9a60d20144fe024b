r"""Assumption 3: what an item earns does not depend on its neighbours.

Nothing is known of what items have in common, so every pair of an item and the one right above it
is a case of its own. A pair that earns more or less than its item does elsewhere, in both halves of
the users, is no accident.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from counterrank.assumptions.assumption import Assumption, Belief, Shift, Told
from counterrank.assumptions.evidence import Placement
from counterrank.assumptions.own_slopes import ScoreTerms, ridge
from counterrank.assumptions.score_test import (
    SURE,
    AuditRows,
    fit_product,
    noise,
    number_keys,
    positive_ratio,
    remove_means,
)
from counterrank.core.arrays import Floats, Ints, sum_by
from counterrank.diagnostics.diagnostic import Diagnostic

CAUTION, FAIL = 0.05, 0.2


def pair_effect_variance(
    left: Floats, fit: Floats, pair: Ints, half: Ints, group: Ints, user: Ints
) -> tuple[float, float, float]:
    r"""Variance of pair effects, as squared shares of the reward: value, standard error, z.

    With what is left :math:`R_{ph}` and expected :math:`E_{ph}` of pair :math:`p` in half
    :math:`h` of the users, each half fitted on its own,

    .. math:: \tau^2 = \frac{\sum_p R_{p0} R_{p1} / E_p}{\sum_p E_{p0} E_{p1} / E_p},
              \qquad E_p = E_{p0} + E_{p1}

    Given one half, the numerator is a sum over the users of the other half, which gives its noise;
    the noise of both halves is averaged.
    """
    pairs = int(pair.max()) + 1
    cell = pair * 2 + half
    r = sum_by(cell, left, 2 * pairs).reshape(pairs, 2)
    e = sum_by(cell, fit, 2 * pairs).reshape(pairs, 2)
    total = e.sum(axis=1)
    top = float(positive_ratio(r[:, 0] * r[:, 1], total).sum())
    bottom = float(positive_ratio(e[:, 0] * e[:, 1], total).sum())
    other = positive_ratio(r[:, ::-1], np.repeat(total[:, None], 2, axis=1))[pair, half]
    other = remove_means(other, fit, group * 2 + half)
    se = noise(left * other, user) / math.sqrt(2)
    if bottom <= 0 or se <= 0:
        return 0.0, 0.0, 0.0
    return top / bottom, se / bottom, top / se


def interaction(rows: AuditRows) -> Diagnostic | str:
    """The diagnostic, or what is missing for it."""
    if rows.alike is None:
        return "whether neighbours matter needs contexts or users"
    if rows.cluster.max() < 30 or not 0 < rows.half.mean() < 1:
        return "whether neighbours matter needs more users"
    below = np.append(False, rows.session[1:] == rows.session[:-1])
    below &= np.append(0, rows.rank[:-1]) == rows.rank - 1
    if not below.any():
        return "whether neighbours matter needs lists of two rows or more"
    half = rows.half[rows.session]
    # each half is fitted on its own: what is left in one says nothing about the other by itself
    fit = fit_product(rows.reward, rows.seen, rows.alike * 2 + half, rows.depth * 2 + half)
    items = int(rows.item.max()) + 1
    above = np.append(0, rows.item[:-1])
    pair = number_keys((above * items + rows.item)[below])[0]
    value, se, z = pair_effect_variance(
        fit.left[below], fit.expected[below], pair, half[below], rows.alike[below],
        rows.of_row[below],
    )  # fmt: skip
    if not se > 0:
        return "whether neighbours matter needs pairs of items that come again"
    size = math.sqrt(max(value, 0.0))
    verdict = "pass" if z <= SURE or size < CAUTION else "fail" if size >= FAIL else "caution"
    text = (
        "Items earn the same whatever stands right above them; typical effects of"
        f" {math.sqrt((SURE + 0.84) * se):.0%} would have shown."
    )
    if verdict != "pass":
        text = (
            f"What an item earns changes by {size:.0%}, typically, with the item right above it:"
            " values of rankers that put other neighbours together are off. Compare such rankers"
            " online, or keep similar items apart in both."
        )
    return Diagnostic("interaction", "log", size, CAUTION, verdict, text)


# as an assumption

LEAST, ROUGH = 0.5, 0.5


class Neighbours(Assumption):
    r"""What stands right above an item does not change what it earns.

    Each pair :math:`p` of an item and one of the two right above it has an effect :math:`\delta_p`
    of its own: :math:`E[c] = \mu\, e^{\delta_p (z_p - \bar z_p)}`, where :math:`z_p` says whether
    that one is there. Effects are shrunken and shift values as items' own slopes do.
    """

    name = "interaction"
    corner = "ranks"
    gaps: ClassVar[tuple[int, ...]] = (1, 2)  # how far above stands what may matter
    where: ClassVar[str] = "above"
    default = 0.1
    source = "a choice: neighbours that change what an item earns by 10%, typically"
    needs = "item features: what neighbours have in common, and some lists shuffled at random"

    def learn(self, belief: Belief) -> Told:
        log, fit = belief.log, belief.tilted
        items = int(log.rows.item.max()) + 2
        at, key = self._pairs(log.rows.session, log.rows.rank, log.group, log.rows.item, items)
        if not len(at):
            return Told(says="No list has two rows.")
        keys, of = np.unique(key, return_inverse=True)
        mu, rest = fit.mu[at], (log.rows.reward - fit.mu)[at]
        inside, whole = sum_by(of, mu, len(keys)), sum_by(log.group, fit.mu, log.groups)
        share = positive_ratio(inside, whole[keys // items])
        terms = ScoreTerms(log.rows.session[at], of, rest, mu * (1 - share[of]))
        own = ridge(log, terms, len(keys), LEAST, self.default, 1 - share)
        told = log.rows.named and own.spread < ROUGH
        says = f"Items right {self.where} change what an item earns {own.most}, typically."
        if own.found:
            says = (
                f"What an item earns changes by {own.spread:.0%}, typically, with the items right"
                f" {self.where} it."
            )
        more = {
            "ridge": own, "keys": keys, "at": at, "terms": terms, "share": share, "items": items,
        }  # fmt: skip
        return Told(own.spread, 0.0, told or own.found, own.found, says, more)

    def shifts(self, belief: Belief, learned: Told, place: Placement) -> list[Shift]:
        log, fit, more = belief.log, belief.tilted, learned.more
        if not more:
            return []
        own, keys, items, share = (more[x] for x in ("ridge", "keys", "items", "share"))
        if not learned.told:
            own = own.allowing(self.range(belief))
        at, key = self._pairs(place.session, place.rank, place.group, place.item, items)
        spot = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        known = keys[spot] == key
        cell, w = belief.at(place, fit).direct, belief.carried(place, fit)
        groups = log.groups + 1
        # what all of an item's pairs lose by being taken about their means
        net = sum_by(place.group, cell, groups) - sum_by(log.group, w, groups)
        D = sum_by(spot[known], cell[at[known]], len(keys))
        D -= sum_by(more["terms"].of, w[more["at"]], len(keys))
        D -= share * net[keys // items]
        delta = own.effect
        usual = np.append(sum_by(keys // items, share * delta, log.groups), 0.0)
        each = sum_by(place.session[at[known]], cell[at[known]] * delta[spot[known]], log.n)
        each -= sum_by(place.session, cell * usual[place.group], log.n)
        each -= sum_by(log.rows.session[more["at"]], w[more["at"]] * delta[more["terms"].of], log.n)
        each += sum_by(log.rows.session, w * usual[log.group], log.n)
        return [own.shift(log, D / log.n, more["terms"], each)]

    def _pairs(
        self, session: Ints, rank: Ints, group: Ints, item: Ints, items: int
    ) -> tuple[Ints, Ints]:
        """Rows with another of their session so near, once for each; and the pair's key."""
        at, keys, row = [], [], np.arange(len(session))
        for gap in self.gaps:
            own = row[max(gap, 0) : len(row) + min(gap, 0)]
            other = own - gap
            pair = (session[own] == session[other]) & (rank[own] - rank[other] == gap)
            at.append(own[pair])
            keys.append(group[own[pair]] * items + np.minimum(item[other[pair]], items - 1))
        return np.concatenate(at), np.concatenate(keys)


class NeighboursBelow(Neighbours):
    """What stands right below an item does not change what it earns: nobody compares.

    What is sought is rare, so it is allowed for only where the log shows it, or could not tell.
    """

    name = "interaction below"
    gaps = (-1,)
    where = "below"

    def shifts(self, belief: Belief, learned: Told, place: Placement) -> list[Shift]:
        if learned.told and not learned.found:
            return []
        return super().shifts(belief, learned, place)
