"""Feedback that is missing not at random: users and items, systems, and an open-loop sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from worlds.shop import logistic

KINDS = 5
# quality, love of the popular, noise in the scores of systems
SYSTEMS = {
    "popular": (0.0, 1.0, 0.1),
    "mainstream": (0.6, 0.8, 0.3),
    "explorer": (1.0, -0.6, 0.3),
    "random": (0.0, 0.0, 1.0),
}


@dataclass(frozen=True)
class Judged:
    r"""Users of five kinds; item i is relevant to kind a with chance
    :math:`\pi_{ai} = \operatorname{logistic}(L_{ai} + \lambda \log \text{pop}_i)`.

    Item of popularity rank j has :math:`\text{pop} = j^{-1}`. Feedback on a pair is there with
    chance

    .. math:: \theta_{ui} = \min\left(1, \theta_0\, \text{pop}_i^{\beta}\, e^{\kappa y_{ui}}\right)

    with ``popularity_bias`` beta and ``choice`` kappa, by which people rate what they like; both 0
    means missing completely at random. ``appeal`` is lambda: popular items being better.
    ``rate`` is :math:`\theta_0`, ``open_loop`` the number of items drawn for each user at random.
    """

    seed: int = 0
    items: int = 100
    rate: float = 0.6
    popularity_bias: float = 0.0
    choice: float = 0.0
    appeal: float = 0.1
    open_loop: int = 10

    @cached_property
    def popularity(self) -> np.ndarray:
        return 1 / np.arange(1.0, self.items + 1)

    @cached_property
    def relevance(self) -> np.ndarray:
        """The chance that an item is relevant, [kind, item]."""
        rng = np.random.default_rng([self.seed, 1])
        liking = rng.normal(-1.5, 1.0, (KINDS, self.items))
        return logistic(liking + self.appeal * (np.log(self.popularity) + 3))

    @cached_property
    def scores(self) -> dict[str, np.ndarray]:
        """What systems think, [kind, item]."""
        rng = np.random.default_rng([self.seed, 2])
        pi, pop = self.relevance, np.log(self.popularity)
        good, well_known = (pi - pi.mean()) / pi.std(), (pop - pop.mean()) / pop.std()
        return {
            name: q * good + p * well_known + noise * rng.normal(size=pi.shape)
            for name, (q, p, noise) in SYSTEMS.items()
        }

    def expected(self, measure: str, k: int = 10) -> dict[str, float]:
        """P or DCG at k, with everything judged, over all users there could be: exact."""
        weights = rank_weights(measure, k)
        lists = {name: np.argsort(-s, axis=1)[:, :k] for name, s in self.scores.items()}
        return {
            name: float((np.take_along_axis(self.relevance, found, axis=1) @ weights).mean())
            for name, found in lists.items()
        }

    def sample(self, users: int, seed: int = 0) -> JudgedSample:
        """So many users: what is relevant, what of it was judged, lists and the open loop."""
        rng = np.random.default_rng([self.seed, 3, seed])
        kind = rng.integers(0, KINDS, users)
        relevant = (rng.random((users, self.items)) < self.relevance[kind]).astype(int)
        chance = self.rate * self.popularity**self.popularity_bias * np.exp(self.choice * relevant)
        chance = np.minimum(chance, 1)
        seen = rng.random(chance.shape) < chance
        drawn = np.argsort(rng.random(chance.shape), axis=1)[:, : self.open_loop]
        at_random = np.zeros(chance.shape, bool)
        np.put_along_axis(at_random, drawn, True, axis=1)
        every = np.ones(chance.shape, bool)
        return JudgedSample(
            relevant=relevant,
            judgments=_pairs(seen, rating=relevant, propensity=chance),
            open_loop=_pairs(at_random, rating=relevant),
            everything=_pairs(every, rating=relevant),
            runs={name: _pairs(every, score=s[kind]) for name, s in self.scores.items()},
            orders={name: np.argsort(-s, axis=1)[kind] for name, s in self.scores.items()},
        )


@dataclass(frozen=True)
class JudgedSample:
    """user, item, rating (and propensity) in judgments; user, item, score in runs."""

    relevant: np.ndarray
    judgments: pl.DataFrame
    open_loop: pl.DataFrame
    everything: pl.DataFrame
    runs: dict[str, pl.DataFrame]
    orders: dict[str, np.ndarray]

    def truth(self, measure: str, k: int = 10) -> dict[str, float]:
        r"""P, DCG, nDCG or Recall at k of these users with everything judged.

        nDCG divides by the DCG of the relevant items on top, Recall by their number; users without
        a relevant item count 0.
        """
        n = self.relevant.sum(axis=1)
        weights = rank_weights(measure, k)
        ideal = np.ones(len(n))
        if measure == "nDCG":
            ideal = np.concatenate([[0], np.cumsum(weights)])[np.minimum(n, k)]
        elif measure == "Recall":
            ideal = n
        found = {}
        for name, order in self.orders.items():
            hits = np.take_along_axis(self.relevant, order[:, :k], axis=1) @ weights
            found[name] = float((hits / np.where(ideal > 0, ideal, 1)).mean())
        return found


def rank_weights(measure: str, k: int) -> np.ndarray:
    """What a relevant item is worth at each rank, before any ideal."""
    flat = {"P": 1 / k, "Recall": 1.0}
    return np.full(k, flat[measure]) if measure in flat else 1 / np.log2(np.arange(2, k + 2))


def _pairs(present: np.ndarray, **values: np.ndarray) -> pl.DataFrame:
    user, item = np.nonzero(present)
    return pl.DataFrame(
        {"user": user, "item": item, **{name: v[present] for name, v in values.items()}}
    )
