"""Simple recommenders: a matrix of ratings (0: none) in, scores of all pairs out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from counterrank.core.arrays import Floats, Ints

Model = Callable[[Floats], Floats]


def biases(ratings: Floats, shrink: float = 5.0) -> Floats:
    """Mean plus shrunken item and user deviations."""
    rated = ratings > 0
    mean = ratings[rated].mean()
    item = np.where(rated, ratings - mean, 0).sum(axis=0) / (rated.sum(axis=0) + shrink)
    user = np.where(rated, ratings - mean - item, 0).sum(axis=1) / (rated.sum(axis=1) + shrink)
    return mean + item + user[:, None]


def truncated(x: Floats, size: int) -> Floats:
    """The best approximation of rank ``size``."""
    u, s, v = np.linalg.svd(x, full_matrices=False)
    low: Floats = (u[:, :size] * s[:size]) @ v[:size]
    return low


def neighbours(x: Floats, size: int) -> Floats:
    """Scores from the ``size`` rows most alike by cosine."""
    norm = np.sqrt((x**2).sum(axis=1, keepdims=True))
    unit = np.divide(x, norm, out=np.zeros_like(x), where=norm > 0)
    alike = unit @ unit.T
    np.fill_diagonal(alike, 0)
    least = np.sort(alike, axis=1)[:, [-min(size, len(x))]]
    scores: Floats = np.where(alike >= least, alike, 0) @ x
    return scores


def ease(x: Floats, penalty: float) -> Floats:
    """Linear item model without self-similarity (Steck 2019)."""
    inverse = np.linalg.inv(x.T @ x + penalty * np.eye(x.shape[1]))
    weights = -inverse / np.diagonal(inverse)
    np.fill_diagonal(weights, 0)
    scores: Floats = x @ weights
    return scores


def factors(ratings: Floats, size: int, penalty: float = 5.0, rounds: int = 10) -> Floats:
    """Matrix factorisation of what the biases leave of the observed ratings, alternating."""
    rated, base = ratings > 0, biases(ratings)
    rest = np.where(rated, ratings - base, 0)
    v = 0.1 * np.random.default_rng(0).normal(size=(ratings.shape[1], size))
    u = np.zeros((len(ratings), size))
    ridge = penalty * np.eye(size)
    for _ in range(rounds):
        u = np.stack(
            [
                np.linalg.solve(v[k].T @ v[k] + ridge, v[k].T @ r[k])
                for k, r in zip(rated, rest, strict=True)
            ]
        )
        v = np.stack(
            [
                np.linalg.solve(u[k].T @ u[k] + ridge, u[k].T @ r[k])
                for k, r in zip(rated.T, rest.T, strict=True)
            ]
        )
    return base + u @ v.T


def non_negative(x: Floats, size: int) -> Floats:
    """Non-negative factors by scikit-learn."""
    from sklearn.decomposition import NMF

    model = NMF(size, init="nndsvda", max_iter=1000, tol=1e-3)
    scores: Floats = model.fit_transform(x) @ model.components_
    return scores


def closed() -> Iterator[tuple[str, Model]]:
    """Neighbours and decompositions, fitted to the end."""
    yield "popular", lambda r: np.tile((r > 0).sum(axis=0).astype(float), (len(r), 1))
    yield "liked", lambda r: np.tile((r >= 4).sum(axis=0).astype(float), (len(r), 1))
    yield "bias", biases
    for size in (10, 30, 100):
        yield f"user-knn-{size}", lambda r, n=size: neighbours((r > 0).astype(float), n)
        yield f"user-knn-stars-{size}", lambda r, n=size: neighbours(r, n)
        yield f"item-knn-{size}", lambda r, n=size: neighbours((r > 0).T.astype(float), n).T
        yield f"item-knn-stars-{size}", lambda r, n=size: neighbours(r.T.copy(), n).T
    for size in (5, 10, 20, 50):
        yield f"svd-{size}", lambda r, n=size: truncated((r > 0).astype(float), n)
        yield f"svd-stars-{size}", lambda r, n=size: truncated(r, n)
        yield (
            f"svd-filled-{size}",
            lambda r, n=size: biases(r) + truncated(np.where(r > 0, r - biases(r), 0), n),
        )
        yield f"mf-{size}", lambda r, n=size: factors(r, n)
    for penalty in (10.0, 100.0, 1000.0):
        yield f"ease-{penalty:g}", lambda r, p=penalty: ease((r > 0).astype(float), p)
        yield f"ease-stars-{penalty:g}", lambda r, p=penalty: ease(r, p)
    for size in (5, 10, 20):
        yield f"nmf-{size}", lambda r, n=size: non_negative((r > 0).astype(float), n)
        yield f"nmf-stars-{size}", lambda r, n=size: non_negative(r, n)


def weighted(ratings: Floats, size: int, rest: float = 0.01, rounds: int = 8) -> Floats:
    """Factors of rated or not, unrated pairs counting ``rest`` (Hu et al. 2008), alternating."""
    x = (ratings > 0).astype(float)
    v = 0.1 * np.random.default_rng(0).normal(size=(x.shape[1], size))
    u = np.zeros((len(x), size))
    for _ in range(rounds):
        u, v = _solved(x, v, rest), v
        v = _solved(x.T, u, rest)
    return u @ v.T


def _solved(x: Floats, v: Floats, rest: float) -> Floats:
    common = rest * v.T @ v + 0.01 * np.eye(v.shape[1])
    return np.stack(
        [np.linalg.solve(common + (1 - rest) * v[k].T @ v[k], v[k].sum(axis=0)) for k in x > 0]
    )


def descended(ratings: Floats, size: int, loss: str, *, rate: float, epochs: int) -> Floats:
    """Factors by stochastic gradients from a small random start, 32 ratings at a time.

    ``stars`` fits ratings; ``bpr`` and ``hinge`` prefer rated items to others drawn at random,
    ``popular`` to others drawn by their popularity.
    """
    rng = np.random.default_rng(123)
    user, item = np.nonzero(ratings)
    chance = (ratings > 0).sum(axis=0) / len(user) if loss == "popular" else None
    u, v = (0.1 * rng.normal(size=(n, size)) for n in ratings.shape)
    for _ in range(epochs):
        for batch in np.array_split(rng.permutation(len(user)), max(1, len(user) // 32)):
            a, i = user[batch], item[batch]
            if loss == "stars":
                step, toward = ratings[a, i] - np.sum(u[a] * v[i], axis=1), v[i]
                _moved(v, i, rate * (step[:, None] * u[a] - 0.02 * v[i]))
            else:
                j = rng.choice(len(v), len(a), p=chance)
                gap = np.sum(u[a] * (v[i] - v[j]), axis=1)
                step = (gap < 1).astype(float) if loss == "hinge" else 1 / (1 + np.exp(gap))
                toward = v[i] - v[j]
                _moved(v, i, rate * (step[:, None] * u[a] - 0.01 * v[i]))
                _moved(v, j, rate * (-step[:, None] * u[a] - 0.01 * v[j]))
            _moved(u, a, rate * (step[:, None] * toward - 0.01 * u[a]))
    scores: Floats = u @ v.T
    return scores


def _moved(x: Floats, rows: Ints, by: Floats) -> None:
    np.add.at(x, rows, by)


def gradual() -> Iterator[tuple[str, Model]]:
    """The kinds of the published experiment: factors by gradients, some of them hardly fitted."""
    yield "constant", lambda r: np.zeros_like(r)
    yield "popular", lambda r: np.tile((r > 0).sum(axis=0).astype(float), (len(r), 1))
    yield "bias", biases
    for size in (10, 30, 50, 70, 100):
        yield f"mf-{size}", lambda r, n=size: descended(r, n, "stars", rate=0.001, epochs=20)
        yield f"pmf-{size}", lambda r, n=size: descended(r, n, "stars", rate=0.01, epochs=60)
        yield f"bpr-{size}", lambda r, n=size: descended(r, n, "bpr", rate=0.01, epochs=60)
        yield f"wbpr-{size}", lambda r, n=size: descended(r, n, "popular", rate=0.01, epochs=60)
        yield f"mmmf-{size}", lambda r, n=size: descended(r, n, "hinge", rate=0.01, epochs=60)
        yield f"wmf-{size}", lambda r, n=size: weighted(r, n)
        yield f"svd-{size}", lambda r, n=size: factors(r, n)


SETS = {"closed": closed, "gradual": gradual}
