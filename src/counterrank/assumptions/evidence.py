r"""A log and a target as plain arrays, and what a target earns under another belief about readers.

Rows :math:`i` of a log: session :math:`s`, item in its context :math:`g` (its group), rank
:math:`r`, view :math:`v` (0 or 1, or its chance where views are latent), reward :math:`c`. A target
puts the item at rank :math:`\rho`. With the chance :math:`b_r` that rank :math:`r` is seen, the
factor :math:`t_r` by which the rank itself changes what a view earns and the worth :math:`q_g` of a
view,

.. math:: F(b, t, q) = \frac1n \sum_s \Big[\sum_{\text{cells}} f\, b_\rho t_\rho q_g +
          \sum_i w_i\, (c_i - v_i t_r q_g)\Big], \qquad
          w_i = \frac{f_i\, b_\rho t_\rho}{f_{0i}\, b_r t_r}

is the doubly robust value of the target. The factors :math:`f` are 1 where exposures are those of
ranks, and otherwise what exposures are of their rank's. Every assumption is a change of the
arguments, and its shift the change of :math:`F`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from counterrank.assumptions.score_test import DEEPEST, SURE, AuditRows, positive_ratio
from counterrank.core.arrays import Floats, Ints, sum_by

FEWEST = 30.0  # rewards of a rank that has a factor of its own
CROWD = 200  # sessions of a context's value that may have a curve of its own
HALF = 12  # ranks down to which each may have one


@dataclass(frozen=True)
class LogEvidence:
    """The rows of an audited log with what shifts need beside them.

    ``paid`` are rewards with their sign (``rows.reward`` is their size). ``group`` of a row is its
    item in its context. ``curve`` is the number of each session's curve, ``given`` the curves of
    the position model, curves x ranks. ``by_rank``: weights are by the propensity of an item at its
    rank; ``drawn``: by that, or by logged exposures. ``days`` is when each session was, if
    that is known, and ``dated`` whether in days: a log of counters is taken to last two weeks.
    """

    rows: AuditRows
    paid: Floats
    group: Ints
    curve: Ints
    given: Floats
    by_rank: bool
    drawn: bool
    days: Floats | None
    dated: bool
    horizon: float | None

    @property
    def n(self) -> int:
        """Number of sessions."""
        return self.rows.n

    @cached_property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.group.max()) + 1

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return self.rows.clusters

    @cached_property
    def rank(self) -> Ints:
        """The rank of each row as a number from 0, deep ones together."""
        return np.minimum(self.rows.rank, DEEPEST) - 1

    @cached_property
    def step(self) -> Ints:
        """The number of the factor :math:`t` that each rank shares with its neighbours.

        Ranks are joined, from the top, until each factor has some ``FEWEST`` rewards.
        """
        ranks = self.given.shape[1]
        events = sum_by(self.rank, (self.rows.reward != 0).astype(float), ranks)
        width = np.where(np.arange(ranks) < HALF, 1, np.arange(ranks) // HALF * 4)
        step, number, held, wide = np.zeros(ranks, np.int64), 0, 0.0, 0
        for r in range(ranks):
            if held >= FEWEST and wide >= width[r] and events[r:].sum() >= FEWEST:
                number, held, wide = number + 1, 0.0, 0
            step[r], held, wide = number, held + events[r], wide + 1
        return step

    @cached_property
    def row_curve(self) -> Ints:
        """The curve of each row."""
        return np.take(self.curve, self.rows.session)

    def by_cluster(self, session: Floats) -> Floats:
        """Sums of what each session has, by cluster."""
        return sum_by(self.rows.cluster, session, self.clusters)

    def rows_by_cluster(self, row: Floats) -> Floats:
        """Sums of what each row has, by cluster."""
        return sum_by(self.rows.of_row, row, self.clusters)

    @cached_property
    def session_curve(self) -> ViewShares:
        """How often each rank is seen."""
        return ViewShares.of(self)


def curves_apart(log: LogEvidence, contexts: Iterable[Ints]) -> LogEvidence:
    """The log with a curve for each value of those contexts in which ranks are seen otherwise.

    A context is a number for each session. Its values are apart if at some rank the views of one
    differ from those of its curve beyond chance; values of few sessions stay together.
    """
    if log.rows.views != "observed":
        return log
    ranks = log.given.shape[1]
    rest = log.rows.seen - log.session_curve.share[log.row_curve, log.rank]
    curve = log.curve
    for value in contexts:
        cells = (int(value.max()) + 1) * ranks
        cell = value[log.rows.session] * ranks + log.rank
        own, place = np.unique(cell * log.clusters + log.rows.of_row, return_inverse=True)
        noise = sum_by(own // log.clusters, sum_by(place, rest, len(own)) ** 2, cells)
        z = positive_ratio(np.abs(sum_by(cell, rest, cells)), np.sqrt(noise))
        many = np.bincount(value) >= CROWD
        if (z.reshape(-1, ranks) * many[:, None]).max(initial=0) > SURE + 0.5:
            mine = np.where(many[value], value + 1, 0)
            curve = np.unique(curve * (int(mine.max()) + 1) + mine, return_inverse=True)[1]
    old = np.zeros(int(curve.max()) + 1, np.int64)
    old[curve] = log.curve
    return log if curve is log.curve else replace(log, curve=curve, given=log.given[old])


class ViewShares(NamedTuple):
    r""":math:`b_r`, the share of views at rank :math:`r`, by curve; and what each is a share of."""

    share: Floats
    due: Floats

    @classmethod
    def of(cls, log: LogEvidence) -> ViewShares:
        """Of rows where all shown rows were logged, of sessions where only viewed ones were.

        Where nobody could see a rank, or views are not known, the given curve stays.
        """
        curves, ranks = log.given.shape
        cell, size = log.row_curve * ranks + log.rank, curves * ranks
        views = sum_by(cell, log.rows.seen, size).reshape(curves, ranks)
        if log.rows.views == "rows":
            sessions = np.bincount(log.curve, minlength=curves).astype(float)
            due = np.repeat(sessions[:, None], ranks, axis=1)
        else:
            due = np.bincount(cell, minlength=size).astype(float).reshape(curves, ranks)
        known = views > 0 if log.rows.views != "latent" else np.zeros(views.shape, bool)
        return cls(np.where(known, positive_ratio(views, due), log.given), np.where(known, due, 0))

    def influence(self, log: LogEvidence, slope: Floats) -> Floats:
        r""":math:`\psi` by cluster of :math:`\sum \text{slope} \cdot \log b_r`.

        .. math:: \psi_s = \sum_r \text{slope}_r\, n\, (v_r / b_r - 1) / N_r
        """
        each = log.n * positive_ratio(slope, self.due)
        place = log.row_curve, log.rank
        seen = (each * positive_ratio(np.ones_like(self.share), self.share))[place] * log.rows.seen
        if log.rows.views == "rows":
            return log.rows_by_cluster(seen) - log.by_cluster(each.sum(axis=1)[log.curve])
        return log.rows_by_cluster(seen - each[place])


class ValueSlopes(NamedTuple):
    """How the value moves with log b (curves x ranks), with log t (ranks) and with q (groups)."""

    b: Floats
    t: Floats
    q: Floats


@dataclass(frozen=True)
class Placement:
    """Where a target puts what was logged, and everything it shows.

    Per row: ``to``, the target's rank of its item as a number from 0; ``weight``, what its weight
    is but for the ratios of b and t, 0 if the target does not show it; ``chance``, how likely it
    was shown or seen; ``cell``, the target's cell it meets, or -1. Per cell of the target, in the
    order of sessions and ranks: ``session``, ``group`` (the last stands for any that was not
    logged), ``item``, ``rank`` from 0 and the ``factor`` of its exposure. ``memo`` holds values
    that several assumptions ask for.
    """

    log: LogEvidence
    to: Ints
    weight: Floats
    chance: Floats
    cell: Ints
    session: Ints
    group: Ints
    item: Ints
    rank: Ints
    factor: Floats
    memo: dict[tuple[int, int], Any] = field(default_factory=dict)

    @cached_property
    def curve(self) -> Ints:
        """The curve of each cell."""
        return np.take(self.log.curve, self.session)

    def at(self, b: Floats, t: Floats, q: Floats) -> Valued:
        """F and what it is made of."""
        log, ranks, n = self.log, b.shape[1], self.log.n
        here, ratio = log.row_curve * ranks, (b * t).ravel()
        exposure = self.factor * ratio[self.curve * ranks + self.rank]
        w = self.weight * ratio[here + self.to] / ratio[here + log.rank]
        model = w * log.rows.seen * t[log.rank]
        direct, left = exposure * q[self.group], w * log.paid - model * q[log.group]
        each = sum_by(self.session, direct, n) + sum_by(log.rows.session, left, n)
        return Valued(self, b, exposure, w, model, direct, left, each, q)

    @cached_property
    def lengths(self) -> Ints:
        """The number of cells of each session."""
        return np.bincount(self.session, minlength=self.log.n)


@dataclass(frozen=True, eq=False)
class Valued:
    """F at some arguments: ``exposure`` and ``direct`` of cells, ``w`` and ``left`` of rows.

    ``model`` is what the weighted rows would earn by the model, but for q; ``each`` is F of every
    session.
    """

    place: Placement
    b: Floats
    exposure: Floats
    w: Floats
    model: Floats
    direct: Floats
    left: Floats
    each: Floats
    q: Floats

    @cached_property
    def slopes(self) -> ValueSlopes:
        """The derivatives of F."""
        place, log, (curves, ranks) = self.place, self.place.log, self.b.shape
        cells, n = curves * ranks, log.n
        up = sum_by(place.curve * ranks + place.rank, self.direct, cells)
        up += sum_by(log.row_curve * ranks + place.to, self.left, cells)
        up -= sum_by(log.row_curve * ranks + log.rank, self.left, cells)
        by_b = up.reshape(curves, ranks) / n
        by_t = by_b.sum(axis=0) - sum_by(log.rank, self.model * self.q[log.group], ranks) / n
        groups = log.groups + 1
        by_q = sum_by(place.group, self.exposure, groups) - sum_by(log.group, self.model, groups)
        return ValueSlopes(by_b, by_t, by_q / n)
