r"""Neural collaborative filtering in NumPy (He et al. 2017): GMF, MLP and NeuMF.

With embeddings :math:`p_u, q_i` (and a second pair :math:`p'_u, q'_i` of 32 each),

.. math:: h^{gmf} = p_u \odot q_i, \qquad h^{(0)} = [p'_u, q'_i], \qquad
          h^{(l)} = \max(0, h^{(l-1)} W_l + b_l)

a pair's score is :math:`w^T h + b` of :math:`h^{gmf}` (GMF), of the last :math:`h^{(l)}` (MLP), or
of both side by side (NeuMF). Rated pairs are 1, and for each four of the user's other items at
random are 0; the loss is cross-entropy, by Adam on batches of 256 rated pairs and their zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from counterrank.core.arrays import Floats, Ints
from counterrank.studies.descent import Adam, add_rows

LAYERS = (64, 32, 16, 8)
NEGATIVES, BATCH = 4, 256


@dataclass(frozen=True)
class NeuralModel:
    """Tables of embeddings, users' and items' in turn, then W and b of each layer, then w and b."""

    tables: Sequence[Floats]
    layers: Sequence[tuple[Floats, Floats]]
    last: tuple[Floats, Floats]
    product: bool

    @classmethod
    def random(
        cls, shape: tuple[int, int], size: int, kind: str, rng: np.random.Generator
    ) -> NeuralModel:
        """Embeddings from a normal of spread 0.01, weights uniform by their number of inputs."""
        product, deep = kind in ("gmf", "neumf"), kind in ("mlp", "neumf")
        sizes = [size] * product + [LAYERS[0] // 2] * deep
        tables = [rng.normal(0, 0.01, (n, own)) for own in sizes for n in shape]

        def dense(into: int, out: int) -> tuple[Floats, Floats]:
            end = np.sqrt(3 / into)
            return rng.uniform(-end, end, (into, out)), np.zeros(out)

        layers = [dense(*pair) for pair in pairwise(LAYERS) if deep]
        return cls(tables, layers, dense(size * product + LAYERS[-1] * deep, 1), product)

    @property
    def parameters(self) -> list[Floats]:
        """All that is learned."""
        return [*self.tables, *(x for layer in self.layers for x in layer), *self.last]

    def hidden(self, u: Ints, i: Ints) -> list[Floats]:
        """What each part of the network gives: the product, and every layer from its input on."""
        own = [table[at] for table, at in zip(self.tables, (u, i) * 2, strict=False)]
        found = [own[0] * own[1]] if self.product else []
        if self.layers:
            found.append(np.concatenate(own[-2:], axis=-1))
        for weight, shift in self.layers:
            found.append(np.maximum(found[-1] @ weight + shift, 0))
        return found

    def score(self, u: Ints, i: Ints) -> Floats:
        """Of pairs: logarithm of the odds."""
        weight, shift = self.last
        found: Floats = (self._ends(self.hidden(u, i)) @ weight + shift)[..., 0]
        return found

    def _ends(self, hidden: Sequence[Floats]) -> Floats:
        """What the last weights see."""
        ends = [hidden[0]] * self.product + [hidden[-1]] * bool(self.layers)
        return np.concatenate(ends, axis=-1)

    def slopes(self, u: Ints, i: Ints, y: Floats) -> list[Floats]:
        """Of the mean cross-entropy, for each of the parameters, by the chain rule from the end."""
        hidden = self.hidden(u, i)
        ends, (weight, shift) = self._ends(hidden), self.last
        error = (1 / (1 + np.exp(-(ends @ weight + shift))) - y[:, None]) / len(y)
        back = error @ weight.T
        last = [ends.T @ error, error.sum(axis=0)]
        wide = hidden[0].shape[1] if self.product else 0
        deep = back[:, wide:]
        inner: list[Floats] = []
        for level, (w, _) in reversed(list(enumerate(self.layers, int(self.product)))):
            deep = deep * (hidden[level + 1] > 0)
            inner = [hidden[level].T @ deep, deep.sum(axis=0), *inner]
            deep = deep @ w.T
        rows = list(np.split(deep, 2, axis=1)) if self.layers else []
        if self.product:
            p, q = self.tables[0][u], self.tables[1][i]
            rows = [back[:, :wide] * q, back[:, :wide] * p, *rows]
        tables = [
            add_rows(row, at, len(table))
            for table, at, row in zip(self.tables, (u, i) * 2, rows, strict=False)
        ]
        return [*tables, *inner, *last]


def fit_neural(
    ratings: Floats, size: int = 8, *, kind: str, epochs: int = 20, rate: float = 0.001,
    seed: int = 123,
) -> Floats:  # fmt: skip
    """Scores of all pairs by a network that tells rated pairs (above 0) from others."""
    rng = np.random.default_rng(seed)
    users, items = ratings.shape
    model = NeuralModel.random((users, items), size, kind, rng)
    rated = np.nonzero(ratings)
    adam = Adam(model.parameters, rate)
    others = np.where(ratings > 0, 0.0, 1.0).cumsum(axis=1)
    for _ in range(epochs):
        order = rng.permutation(len(rated[0]))
        for batch in np.array_split(order, max(1, len(order) // BATCH)):
            u = np.repeat(rated[0][batch], NEGATIVES + 1)
            drawn = rng.random(len(u)) * others[u, -1]  # the n-th item without a rating
            i = np.minimum((others[u] <= drawn[:, None]).sum(axis=1), items - 1)
            i[:: NEGATIVES + 1] = rated[1][batch]
            y = (np.arange(len(u)) % (NEGATIVES + 1) == 0).astype(float)
            adam.step(model.slopes(u, i, y))
    return model.score(*(x.ravel() for x in np.indices(ratings.shape))).reshape(ratings.shape)
