r"""The fit that shifts rest on: what a view of an item earns, and what its rank does to that.

.. math:: E[c_i] = v_i\, t_{k(r)}\, q_g

by Poisson's likelihood, with one factor :math:`t_k` for each step :math:`k` of ranks. It is a
function of sums of views and rewards by group and step. With the fitted sums :math:`H_{gk}`, the
information about :math:`\log t` is :math:`S = \operatorname{diag}(H_{\cdot k}) - H^\top
\operatorname{diag}(1/H_{g\cdot})\, H`, which the common factor of all :math:`t` leaves singular.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from counterrank.assumptions.evidence import LogEvidence
from counterrank.assumptions.score_test import positive_ratio
from counterrank.core.arrays import Floats, sum_by

STEPS, CLOSE, FARTHEST = 60, 1e-12, 1.5


@dataclass(frozen=True)
class TwoWay:
    """``t`` by step, ``views`` and ``size`` by group and step; ``free``: t was fitted.

    ``given`` are factors of each rank that stand in the place of t.
    """

    log: LogEvidence
    t: Floats
    views: Floats
    size: Floats
    free: bool
    given: Floats | None = None

    @classmethod
    def of(cls, log: LogEvidence, *, free: bool) -> TwoWay:
        """The fit, by Newton's steps on log t; 1 at every rank unless ``free``."""
        steps = int(log.step.max()) + 1
        cell, shape = log.group * steps + log.step[log.rank], (log.groups, steps)
        views, size = (
            sum_by(cell, x, log.groups * steps).reshape(shape)
            for x in (log.rows.seen, log.rows.reward)
        )
        fit = cls(log, np.ones(steps), views, size, free)
        for _ in range(STEPS if free else 0):
            score = size.sum(axis=0) - fit.expected.sum(axis=0)
            move = np.clip(fit.inverse @ score, -FARTHEST, FARTHEST)
            t = fit.t * np.exp(move)
            top = t[0] if t[0] > 0 else 1.0
            fit = cls(log, t / top, views, size, free)
            if np.abs(move).max() < CLOSE:
                break
        return fit

    @cached_property
    def by_rank(self) -> Floats:
        """t of each rank."""
        own: Floats = self.t[self.log.step] if self.given is None else self.given
        return own

    @cached_property
    def due(self) -> Floats:
        """Views of each group, each times its t."""
        log = self.log
        if self.given is None:
            return self.views @ self.t
        return sum_by(log.group, log.rows.seen * self.given[log.rank], log.groups)

    @cached_property
    def q(self) -> Floats:
        """Worth of a view of each group; the last, of any other, is the mean."""
        due = self.due
        paid = sum_by(self.log.group, self.log.paid, self.log.groups)
        whole = float(paid.sum() / due.sum()) if due.sum() > 0 else 0.0
        return np.append(np.where(due > 0, positive_ratio(paid, due), whole), whole)

    @cached_property
    def worth(self) -> Floats:
        """The same of the size of rewards."""
        return positive_ratio(self.size.sum(axis=1), self.due)

    @cached_property
    def expected(self) -> Floats:
        """H: fitted sums by group and step."""
        out: Floats = self.worth[:, None] * self.views * self.t
        return out

    @cached_property
    def inverse(self) -> Floats:
        """The pseudoinverse of S."""
        H = self.expected
        share = positive_ratio(H, np.repeat(H.sum(axis=1)[:, None], H.shape[1], axis=1))
        S = np.diag(H.sum(axis=0)) - H.T @ share
        return np.asarray(np.linalg.pinv(S, rcond=1e-9, hermitian=True), float)

    @cached_property
    def mu(self) -> Floats:
        """The fitted size of each row's reward."""
        log = self.log
        out: Floats = log.rows.seen * self.by_rank[log.rank] * self.worth[log.group]
        return out

    @cached_property
    def step_depth(self) -> Floats:
        """How far down each step is: the mean depth of what is expected there."""
        log, steps = self.log, len(self.t)
        step = log.step[log.rank]
        far = sum_by(step, self.mu * depth(log)[log.rank], steps)
        return positive_ratio(far, sum_by(step, self.mu, steps))

    @cached_property
    def error(self) -> Floats:
        """The standard error of each log t against the first, between clusters."""
        against = np.eye(len(self.t)) - np.eye(1, len(self.t))
        return np.array([np.sqrt(np.sum(self.factors(a) ** 2)) for a in against]) / self.log.n

    def influence(self, by_t: Floats, by_q: Floats) -> Floats:
        r""":math:`\psi` by cluster of a value that moves so with log t (by rank) and q (by group).

        .. math:: \psi_i = n \Big[\frac{\partial_q}{\sum_k V_{gk} t_k} (c_i - v_i t q_g) +
                  (|c_i| - \mu_i)(\beta_k + \alpha_g)\Big], \quad \beta = S^+ G, \quad
                  \alpha_g = -\frac{(H\beta)_g}{H_g}

        where :math:`G` is the derivative by log t with each q at its fit for that t.
        """
        log, q, due = self.log, self.q[:-1], self.due
        per = log.n * positive_ratio(by_q[:-1], due)
        rest = log.paid - log.rows.seen * self.by_rank[log.rank] * q[log.group]
        psi = log.rows_by_cluster(per[log.group] * rest)
        return psi + self.factors(self.by_step(by_t, by_q)) if self.free else psi

    def by_step(self, by_t: Floats, by_q: Floats) -> Floats:
        """G: how a value moves with log t, by step, where each q is fitted for that t."""
        due = np.repeat(self.due[:, None], len(self.t), axis=1)
        share = positive_ratio(self.views * self.t, due)
        return sum_by(self.log.step, by_t, len(self.t)) - (by_q[:-1] * self.q[:-1]) @ share

    def at(self, t: Floats) -> TwoWay:
        """The worth of views with these factors of each rank, which are not fitted."""
        return replace(self, given=t, free=False)

    def factors(self, total: Floats) -> Floats:
        """psi by cluster of a value that moves so with log t, by step."""
        log, H = self.log, self.expected
        beta = self.inverse @ total
        alpha = -positive_ratio(H @ beta, H.sum(axis=1))
        move = beta[log.step[log.rank]] + alpha[log.group]
        return log.rows_by_cluster(log.n * (log.rows.reward - self.mu) * move)


def depth(log: LogEvidence) -> Floats:
    """How far down each rank is: its doublings."""
    return np.log2(np.arange(1, log.given.shape[1] + 1))
