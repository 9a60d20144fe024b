"""A reward model by any scikit-learn regressor, instead of shrunken means."""

from __future__ import annotations

import inspect
from typing import Any, Protocol

import numpy as np

from counterrank.arrays import Floats
from counterrank.logged.model import Model, Sums, learnt, others


class Regressor(Protocol):
    """What is asked of a regressor: to fit, and to predict."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803 - scikit-learn's name
        """Learn from features and targets."""
        ...

    def predict(self, X: Any) -> Any:  # noqa: N803
        """One prediction per row of features."""
        ...


def regressed(total: Sums, ranks: int, regressor: Regressor) -> Model:
    """Predictions for every fold, situation and item.

    A row of features is a cell: the shrunken mean of its item and of its situation, how often the
    item was viewed, the context's number and the rank. The target is the cell's mean reward of a
    view, weighted by views. Each fold is predicted from the other folds alone.
    """
    from sklearn.base import clone

    means = learnt(total, ranks).table
    tables = []
    for fold in range(len(means)):
        c, v, _ = others(total, fold)
        features = _features(c, v, means[fold], ranks)
        known = np.append(v, np.zeros((len(v), 1)), axis=1).ravel() > 0
        y = (c[v > 0] / v[v > 0]).ravel()
        if not known.any():  # no other user has seen anything
            tables.append(means[fold])
            continue
        fitted = clone(regressor)
        weighs = "sample_weight" in inspect.signature(fitted.fit).parameters
        fitted.fit(features[known], y, **({"sample_weight": v[v > 0]} if weighs else {}))
        tables.append(np.asarray(fitted.predict(features), float).reshape(means[fold].shape))
    return Model(np.stack(tables), ranks)


def _features(c: Floats, v: Floats, means: Floats, ranks: int) -> Floats:
    """One row per situation and item, the unknown item last."""
    situations, items = means.shape
    unknown = means[:, -1:]
    viewed = np.append(v.sum(axis=0), 0.0)
    item_mean = np.append(c.sum(axis=0), 0.0) / np.maximum(viewed, 1)
    grid = np.arange(situations)[:, None]
    columns = [
        means,
        np.broadcast_to(unknown, means.shape),
        np.broadcast_to(item_mean, means.shape),
        np.broadcast_to(np.log1p(viewed), means.shape),
        np.broadcast_to(grid // ranks, means.shape),
        np.broadcast_to(grid % ranks, means.shape),
    ]
    return np.stack([np.asarray(x, float).reshape(situations * items) for x in columns], axis=1)
