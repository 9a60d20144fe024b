"""Fitted click models give weights that average 1, over replications."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from clicked_world import world
from counterrank.nuisance.cross_fit import cross_fit


@pytest.mark.parametrize(
    ("kind", "label", "replications"),
    [("items", "rates(by=item)", 100), ("additive", "rates", 60), ("features", "logistic", 25)],
)
def test_weights_average_one(kind, label, replications):
    """A weight 1/p is too large by about the relative variance of p, that of clicks per item."""
    place = world(500, 40, kind=kind)
    found = []
    for seed in range(replications):
        pairs = place.drawn(seed)
        n = cross_fit(
            pairs, ctr=label, user_features=place.user_features, item_features=place.item_features
        )
        u, i, _ = pairs.clicked
        found.append(np.sum(1 / n.ctr(u, i)) / pairs.count)
    error = np.std(found, ddof=1) / sqrt(replications)
    clicks = 0.8 * np.array([place.ctr.sum(axis=0).mean(), place.ctr.sum(axis=1).mean()])
    lean = np.sum(1 / clicks[: 2 if kind == "additive" else 1])
    assert abs(np.mean(found) - 1) < 3 * error + lean, (np.mean(found), error, lean)
