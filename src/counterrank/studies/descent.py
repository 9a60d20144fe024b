"""Factor models by gradient descent in NumPy: losses of rankings, and chances of an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from counterrank.core.arrays import Floats, Ints

BATCH, TRIES, POSITIVES, KTH = 256, 10, 10, 5
LOSSES = ("logistic", "bpr", "warp", "warp-kos")


def add_rows(x: Floats, rows: Ints, count: int) -> Floats:
    """Rows of ``x`` added up to the ``rows`` named, of so many."""
    at = sp.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), (count, len(rows)))
    return np.asarray(at @ x)


class Adam:
    """Steps by the running mean of the slopes over the root of that of their squares."""

    def __init__(self, parameters: Sequence[Floats], rate: float) -> None:
        self.parameters, self.rate, self.steps = parameters, rate, 0
        self.first, self.second = ([np.zeros_like(x) for x in parameters] for _ in range(2))

    def step(self, slopes: Sequence[Floats]) -> None:
        """Move every parameter against its slope, in place."""
        self.steps += 1
        size = self.rate * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        for x, m, v, g in zip(self.parameters, self.first, self.second, slopes, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g**2 - v)
            x -= size * m / (np.sqrt(v) + 1e-8)


@dataclass
class FactorModel:
    r"""Scores :math:`\langle p_u, q_i \rangle + a_u + b_i`; the last columns are the biases.

    Factors begin at random, :math:`(U - 1/2) / d`, biases at 0.
    """

    p: Floats
    q: Floats

    @classmethod
    def random(cls, users: int, items: int, size: int, rng: np.random.Generator) -> FactorModel:
        """A model before it is trained; the last column of each table is its bias."""
        tables = [(rng.random((n, size + 1)) - 0.5) / size for n in (users, items)]
        for table in tables:
            table[:, -1] = 0.0
        return cls(*tables)

    def score(self, user: Ints, item: Ints) -> Floats:
        """Of pairs."""
        p, q = self.p[user], self.q[item]
        score: Floats = (
            np.einsum("...d,...d->...", p[..., :-1], q[..., :-1]) + p[..., -1] + q[..., -1]
        )
        return score

    def scores(self) -> Floats:
        """Of all pairs."""
        scores: Floats = self.p[:, :-1] @ self.q[:, :-1].T + self.p[:, -1:] + self.q[:, -1]
        return scores


def rank_factors(
    pairs: Sequence[Ints], shape: tuple[int, int], *, loss: str, size: int, l2: float,
    rate: float = 0.001, epochs: int = 100, seed: int = 12345,
) -> Floats:  # fmt: skip
    r"""Scores of all pairs by a model of the positive ``pairs``, with Adagrad on small batches.

    ``logistic`` raises positives. ``bpr`` raises :math:`\ln \sigma(s_{ui} - s_{uj})` over items j
    at random. ``warp`` draws up to ten j until :math:`s_{uj} > s_{ui} - 1` and weighs the step by
    the logarithm of the rank that this tells; ``warp-kos`` does so for the fifth best of ten
    positives.
    """
    rng = np.random.default_rng(seed)
    model = FactorModel.random(*shape, size, rng)
    squares = [np.ones_like(model.p), np.ones_like(model.q)]
    user, item = pairs
    liked = sp.csr_array((np.ones(len(user)), (user, item)), shape)
    for _ in range(epochs):
        for batch in np.array_split(rng.permutation(len(user)), max(1, len(user) // BATCH)):
            u, i, j, step = _steps(model, loss, user[batch], item[batch], liked, rng)
            p, q, other = model.p[u], model.q[i], 0.0 if j is None else model.q[j]
            up = step[:, None] * (q - other)
            up[:, -1] = step if j is None else 0.0  # a user's bias changes no order
            down = step[:, None] * np.column_stack([p[:, :-1], np.ones(len(u))])
            rows, slopes = ([i], [down]) if j is None else ([i, j], [down, -down])
            _move(model.p, squares[0], u, up - l2 * p, rate)
            at, slope = np.concatenate(rows), np.concatenate(slopes)
            _move(model.q, squares[1], at, slope - l2 * model.q[at], rate)
    return model.scores()


def _steps(
    model: FactorModel, loss: str, u: Ints, i: Ints, liked: sp.csr_array, rng: np.random.Generator
) -> tuple[Ints, Ints, Ints | None, Floats]:
    """Users, items to raise, items to lower, and by how much."""
    if loss == "logistic":
        return u, i, None, 1 / (1 + np.exp(model.score(u, i)))
    items = len(model.q)
    if loss == "bpr":
        j = rng.integers(items, size=len(u))
        return u, i, j, 1 / (1 + np.exp(model.score(u, i) - model.score(u, j)))
    if loss == "warp-kos":
        many = np.diff(liked.indptr)[u]
        u, many = u[many >= KTH], many[many >= KTH]
        own = liked.indices[
            liked.indptr[u][:, None] + rng.integers(many[:, None], size=(len(u), POSITIVES))
        ]
        order = np.argsort(-model.score(u[:, None], own), axis=1)[:, KTH - 1]
        i = own[np.arange(len(u)), order]
    drawn = rng.integers(items, size=(len(u), TRIES))
    above = model.score(u[:, None], drawn) > model.score(u, i)[:, None] - 1
    above &= liked[np.repeat(u, TRIES), drawn.ravel()].reshape(drawn.shape) == 0
    some = above.any(axis=1)
    first = above.argmax(axis=1)[some]
    weight = np.log(np.maximum((items - 1) // (first + 1), 1))
    return u[some], i[some], drawn[some, first], weight


def _move(x: Floats, squares: Floats, rows: Ints, slope: Floats, rate: float) -> None:
    """One step of Adagrad; slopes of the same row add up."""
    if not len(rows):
        return
    there = np.unique(rows)
    total = add_rows(slope, rows, len(x))[there]
    squares[there] += add_rows(slope**2, rows, len(x))[there]
    x[there] += rate * total / np.sqrt(squares[there])


def event_chances(
    draw: Callable[[np.random.Generator], tuple[Ints, Ints, Floats, Floats]],
    shape: tuple[int, int], *, size: int = 10, l2: float = 1e-5, rate: float = 0.001,
    steps: int = 5000, seed: int = 0, link: str = "logit",
) -> Floats:  # fmt: skip
    r"""Predictions for all pairs by matrix factorisation with biases, with Adam on drawn batches.

    ``draw`` gives users, items, outcomes and weights. The loss is cross-entropy (``link`` logit) or
    squared error (identity), weighted and divided by the sum of the weights of the batch, plus
    :math:`\frac\lambda2 (|p|^2 + |q|^2)`.
    """
    rng = np.random.default_rng(seed)
    ends = [np.sqrt(6 / (n + size)) for n in shape]
    x = [rng.uniform(-end, end, (n, size)) for n, end in zip(shape, ends, strict=True)]
    x += [rng.normal(0, 0.01, n) for n in shape] + [np.array([0.001])]
    adam = Adam(x, rate)
    for _ in range(steps):
        u, i, y, w = draw(rng)
        p, q, a, b, mu = x
        score = np.einsum("nd,nd->n", p[u], q[i]) + a[u] + b[i] + mu
        guess = 1 / (1 + np.exp(-score)) if link == "logit" else score
        r = w * (guess - y) / w.sum() * (1 if link == "logit" else 2)
        slopes = [l2 * p, l2 * q, np.zeros_like(a), np.zeros_like(b), np.array([r.sum()])]
        for k, rows, slope in ((0, u, q[i]), (1, i, p[u])):
            gather = sp.csr_array((r, (rows, np.arange(len(rows)))), (shape[k], len(rows)))
            slopes[k] = slopes[k] + gather @ slope
            slopes[2 + k] = np.bincount(rows, r, shape[k])
        adam.step(slopes)
    p, q, a, b, mu = x
    score = p @ q.T + a[:, None] + b + mu
    return 1 / (1 + np.exp(-score)) if link == "logit" else score


def fit_factors(
    ratings: Floats, size: int, *, loss: str, rate: float = 0.001, epochs: int = 100,
    l2: float = 0.01, bias: bool = True, seed: int = 123,
) -> Floats:  # fmt: skip
    r"""Scores of all pairs by factors of ``ratings`` (0: none), by stochastic gradients.

    ``stars`` fits :math:`\mu + a_u + b_i + \langle p_u, q_i \rangle` to ratings (without ``bias``
    the product alone). ``sigmoid`` fits :math:`\sigma(\langle p_u, q_i \rangle)` to ratings scaled
    to 0 to 1, and ``linear`` the product, with slopes divided by their running size. ``bpr`` and
    ``hinge`` prefer rated items to others at random, ``popular`` to others drawn by popularity; a
    rated item that is drawn changes nothing.
    """
    rng = np.random.default_rng(seed)
    user, item = np.nonzero(ratings)
    y = ratings[user, item]
    model = FactorModel(*(rng.normal(0, 0.01, (n, size + 1)) for n in ratings.shape))
    model.p[:, -1] = model.q[:, -1] = 0.0
    mean = float(y.mean()) if bias and loss == "stars" else 0.0
    if loss in ("linear", "sigmoid"):
        y = (y - y.min()) / max(float(np.ptp(y)), 1.0)
    pull = np.array([l2] * size + [l2 if bias else np.inf])
    running = [np.zeros_like(model.p), np.zeros_like(model.q)]
    rows: tuple[Ints, ...]
    signs: tuple[float, ...]
    chance = (ratings > 0).sum(axis=0) / len(user) if loss == "popular" else None
    many = BATCH if loss in ("linear", "sigmoid") else 4 * BATCH
    for _ in range(epochs):
        for batch in np.array_split(rng.permutation(len(user)), max(1, len(user) // many)):
            u, i = user[batch], item[batch]
            score = model.score(u, i)
            if loss in ("bpr", "popular", "hinge"):
                j = rng.choice(len(model.q), len(u), p=chance)
                gap = score - model.score(u, j)
                step = (gap < 1).astype(float) if loss == "hinge" else 1 / (1 + np.exp(gap))
                step = step * (ratings[u, j] == 0)
                toward, rows, signs = model.q[i] - model.q[j], (i, j), (1.0, -1.0)
            else:
                guess = 1 / (1 + np.exp(-score)) if loss == "sigmoid" else score + mean
                step = (y[batch] - guess) * (guess * (1 - guess) if loss == "sigmoid" else 1.0)
                toward, rows, signs = model.q[i].copy(), (i,), (1.0,)
                toward[:, -1] = 1.0
            own = np.column_stack([model.p[u][:, :-1], np.ones(len(u))])
            slopes = [(0, u, step[:, None] * toward)]
            slopes += [(1, at, sign * step[:, None] * own)
                       for at, sign in zip(rows, signs, strict=True)]  # fmt: skip
            for side, at, slope in slopes:
                x = model.p if side == 0 else model.q
                slope = np.where(np.isinf(pull), 0.0, slope - np.nan_to_num(pull) * x[at])
                _walk(x, running[side], at, slope, rate, loss in ("linear", "sigmoid"))
    return model.scores()


def _walk(x: Floats, size: Floats, rows: Ints, slope: Floats, rate: float, scaled: bool) -> None:
    """One step; slopes of the same row add up, ``scaled`` by their running mean square."""
    there = np.unique(rows)
    total = add_rows(slope, rows, len(x))[there]
    if scaled:
        size[there] = 0.9 * size[there] + 0.1 * total**2
        total = total / (np.sqrt(size[there]) + 1e-8)
    x[there] += rate * total


def weighted_factors(ratings: Floats, size: int, rest: float = 0.01, rounds: int = 10) -> Floats:
    r"""Factors of rated or not by alternating ridge regressions (Hu et al. 2008).

    .. math:: \min \sum_{ui} c_{ui} (x_{ui} - \langle p_u, q_i \rangle)^2
              + \lambda (|p|^2 + |q|^2), \qquad c = 1 \text{ if rated, otherwise } rest
    """
    x = ratings > 0
    q = 0.1 * np.random.default_rng(123).normal(size=(x.shape[1], size))

    def solve(rated: np.ndarray[Any, Any], v: Floats) -> Floats:
        common = rest * v.T @ v + 0.01 * np.eye(size)
        return np.stack([
            np.linalg.solve(common + (1 - rest) * v[own].T @ v[own], v[own].sum(axis=0))
            for own in rated
        ])  # fmt: skip

    for _ in range(rounds):
        p = solve(x, q)
        q = solve(x.T, p)
    return p @ q.T
