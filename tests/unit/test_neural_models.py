"""Neural models of the studies: slopes against differences, and what they learn."""

from __future__ import annotations

import numpy as np
import pytest

from counterrank.studies.neural_models import NeuralModel, fit_neural

KINDS = ("gmf", "mlp", "neumf")


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_are_those_of_the_mean_cross_entropy(kind):
    rng = np.random.default_rng(0)
    model = NeuralModel.random((7, 5), 4, kind, rng)
    for x in model.parameters:  # far from 0, where nothing is flat
        x += rng.normal(0, 0.3, x.shape)
    u, i = rng.integers(7, size=30), rng.integers(5, size=30)
    y = (rng.random(30) < 0.4).astype(float)

    def loss():
        return np.mean(np.log1p(np.exp(model.score(u, i))) - y * model.score(u, i))

    for x, slope in zip(model.parameters, model.slopes(u, i, y), strict=True):
        assert slope.shape == x.shape
        for _ in range(5):
            at = tuple(rng.integers(n) for n in x.shape)
            kept, h = x[at], 1e-6
            x[at] = kept + h
            up = loss()
            x[at] = kept - h
            down = loss()
            x[at] = kept
            assert slope[at] == pytest.approx((up - down) / (2 * h), abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_rated_items_score_above_others(kind):
    rng = np.random.default_rng(0)
    taste = rng.random((40, 2)) @ rng.random((2, 30))
    rated = (rng.random(taste.shape) < taste**3).astype(float)
    scores = fit_neural(rated, kind=kind, epochs=150, rate=0.03)
    assert scores[rated > 0].mean() > scores[rated == 0].mean() + 1
