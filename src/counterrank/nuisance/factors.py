r"""Logistic matrix factorisation with biases.

.. math:: \eta_{ui} = \mu + a_u + b_i + \langle p_u, q_i \rangle, \qquad
          \min \sum_{(u, i)} \omega_{ui} \log\!\left(1 + e^{-(2 y_{ui} - 1) \eta_{ui}}\right)
          + \frac{\lambda_a}{2} |a|^2 + \frac{\lambda_b}{2} |b|^2
          + \frac{\lambda}{2} \left(|p|^2 + |q|^2\right)

with :math:`d` factors, by L-BFGS over all rows from the solution without factors, whose penalties
:math:`\lambda_a, \lambda_b` it keeps (`rates.py`). Libraries of logistic factorisation are made
for rankings: they draw unclicked items without weighing them back, so their scores are no
probabilities. Here every pair counts once (`Task.examples`) and :math:`\mu` is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from counterrank.core.arguments import Between
from counterrank.core.arrays import Floats, sum_by
from counterrank.core.parallel import one_blas_thread
from counterrank.nuisance.base import (
    SAMPLE,
    Effects,
    PairModel,
    Task,
    Weight,
    inverse_link,
    outcome_variance,
)
from counterrank.nuisance.rates import RIGID, PairRows, effects, penalties

STEPS = 100  # of L-BFGS
GRID = 4  # pairs for each row with a weight, up to which all pairs are a table


@dataclass(frozen=True)
class Factors(PairModel):
    r"""``d`` factors; ``l2``: :math:`\lambda`; ``sample``: pairs drawn where there are more."""

    name: ClassVar[str] = "factors"
    d: Annotated[int, Between(0)] = 10
    l2: Annotated[float, Between(0, open="low")] = 5.0
    sample: int = SAMPLE
    weight: Weight = "none"

    def fit(self, task: Task) -> Effects:
        """From small random factors, the same for the same seed."""
        from scipy.optimize import minimize

        self.validate_binary(task)
        user, item, y, weight = task.examples(self.sample)
        sizes = (task.users, task.items, self.d)
        rows = PairRows(user, item, y, weight, task.users, task.items)
        noise = outcome_variance(y, weight)
        mu, a, b = effects(rows, noise, "logit")
        random = np.random.default_rng([task.seed, 29, task.fold])
        factors = random.normal(0, 0.1, (task.users + task.items) * self.d)
        ridge = np.repeat(  # of every number, in the order of `_parts`; the intercept has none
            [0.0, *penalties(rows, noise, "logit"), self.l2],
            [1, task.users, task.items, len(factors)],
        )
        with one_blas_thread():
            solution = minimize(
                _Loss(rows, ridge, sizes), np.concatenate([[mu], a, b, factors]),
                jac=True, method="L-BFGS-B", options={"maxiter": STEPS},
            )  # fmt: skip
        mu, a, b, p, q = _parts(solution.x, sizes)
        none = np.zeros((1, self.d))
        return Effects(
            np.append(a, 0.0), np.append(mu + b, mu), np.vstack([p, none]), np.vstack([q, none])
        )


class _Loss:
    """The penalised loss and its gradient."""

    def __init__(self, rows: PairRows, ridge: Floats, sizes: tuple[int, int, int]) -> None:
        self.pairs = _Grid(rows) if rows.users * rows.items < GRID * len(rows.y) else _List(rows)
        self.sizes = sizes
        self.free = ridge < RIGID  # the others stay at 0, where the solution without factors is
        self.ridge = np.where(self.free, ridge, 0.0)

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        loss, gradient = self.pairs.at(*_parts(x, self.sizes))
        return loss + float(self.ridge @ x**2) / 2, self.free * (gradient + self.ridge * x)


class _Grid:
    """The loss of all pairs as a table of users and items, most of which have a weight."""

    def __init__(self, rows: PairRows) -> None:
        pair, size = rows.user * rows.items + rows.item, rows.users * rows.items
        shape = rows.users, rows.items
        self.weight = np.bincount(pair, rows.weight, size).reshape(shape)
        self.paid = np.bincount(pair, rows.weight * rows.y, size).reshape(shape)

    def at(self, mu: float, a: Floats, b: Floats, p: Floats, q: Floats) -> tuple[float, Floats]:
        """Loss and gradient, without penalties."""
        score = p @ q.T
        score += (mu + a)[:, None]
        score += b
        small = np.exp(-np.abs(score))
        loss = np.sum(self.weight * (np.maximum(score, 0) + np.log1p(small)) - self.paid * score)
        share = np.where(score < 0, small, 1.0) / (1 + small)
        residual = self.weight * share - self.paid
        users, items = residual.sum(axis=1), residual.sum(axis=0)
        parts = [users.sum()], users, items, (residual @ q).ravel(), (residual.T @ p).ravel()
        return float(loss), np.concatenate(parts)


class _List:
    """The same where few of all pairs have a weight: row by row."""

    def __init__(self, rows: PairRows) -> None:
        from scipy.sparse import csr_array

        self.rows = rows
        number = np.arange(1.0, len(rows.user) + 1)
        self.order = np.lexsort((rows.item, rows.user))
        begin = np.append(0, np.cumsum(np.bincount(rows.user, minlength=rows.users)))
        shape = rows.users, rows.items
        self.table = csr_array((number, rows.item[self.order], begin), shape=shape)

    def at(self, mu: float, a: Floats, b: Floats, p: Floats, q: Floats) -> tuple[float, Floats]:
        """Loss and gradient, without penalties."""
        user, item, y, weight = self.rows.user, self.rows.item, self.rows.y, self.rows.weight
        score = mu + a[user] + b[item] + np.einsum("nd,nd->n", p[user], q[item])
        loss = float(weight @ (np.logaddexp(0, score) - y * score))
        residual = weight * (inverse_link(score, "logit") - y)
        self.table.data = residual[self.order]
        parts = (
            [residual.sum()],
            sum_by(user, residual, self.rows.users),
            sum_by(item, residual, self.rows.items),
            (self.table @ q).ravel(),
            (self.table.T @ p).ravel(),
        )
        return loss, np.concatenate(parts)


def _parts(x: Floats, sizes: tuple[int, int, int]) -> tuple[float, Floats, Floats, Floats, Floats]:
    """Intercept, biases and factors in one long array."""
    users, items, d = sizes
    a, b, p, q = np.split(x[1:], np.cumsum([users, items, users * d]))
    return float(x[0]), a, b, p.reshape(users, d), q.reshape(items, d)
