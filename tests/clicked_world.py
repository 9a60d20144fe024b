"""Clicks and conversions whose probabilities are known, for tests of the models of both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.nuisance.cross_fit import Pairs, training


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@dataclass(frozen=True)
class World:
    ctr: np.ndarray
    cvr: np.ndarray
    user_features: np.ndarray
    item_features: np.ndarray

    def drawn(self, seed: int, pairs: str = "all") -> Pairs:
        """Clicks and conversions; with rows, a third of the pairs exist, clicked or not."""
        random = np.random.default_rng([seed, 1])
        z = random.random(self.ctr.shape) < self.ctr
        y = z & (random.random(self.ctr.shape) < self.cvr)
        there = z if pairs == "all" else random.random(self.ctr.shape) < 1 / 3
        u, i = np.nonzero(there)
        users, items = self.ctr.shape
        return training(
            u, i, z[u, i].astype(float), y[u, i].astype(float),
            users=users, items=items, pairs=pairs,
        )  # fmt: skip


def world(users=400, items=60, *, kind="additive", seed=0, average=-2.0) -> World:
    """``additive`` on the logit; ``items`` alone; by ``features``; or ``factors`` of two tastes."""
    random = np.random.default_rng([seed, 2])
    x, v = random.normal(0, 1, (users, 2)), random.normal(0, 1, (items, 2))
    a, b = random.normal(0, 0.7, (users, 1)), random.normal(0, 0.8, (1, items))
    c, d = random.normal(0, 0.5, (users, 1)), random.normal(0, 0.6, (1, items))
    if kind == "items":
        a, c = 0 * a, 0 * c
    if kind == "features":
        a, c = x @ [[0.5], [-0.3]], x @ [[0.2], [0.4]]
        b, d = (v @ [0.6, 0.3])[None], (v @ [-0.3, 0.5])[None]
    taste = x @ v.T if kind == "factors" else 0
    return World(sigmoid(average + a + b + taste), sigmoid(-0.8 + c + d + 0.5 * taste), x, v)
