"""The winner's difference once it is known that it was picked."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from counterrank.stats.winner import SHARE, winners_difference


def simulated(candidates: int, runs: int, *, mean: object = 0.0, rho: float = 0.5) -> dict:
    """How often intervals of the winner's true difference hold it, and its median error."""
    rng, level = np.random.default_rng(candidates), 0.95
    truth = np.broadcast_to(np.asarray(mean, float), candidates)
    sigma = np.full((candidates, candidates), rho) + (1 - rho) * np.eye(candidates)
    root = np.linalg.cholesky(sigma)
    largest = np.abs(rng.normal(size=(40_000, candidates)) @ root.T).max(axis=1)
    critical = float(np.quantile(largest, 1 - SHARE * (1 - level)))
    plain, corrected, errors, raw = 0, 0, [], []
    for _ in range(runs):
        x = truth + root @ rng.normal(size=candidates)
        w, middle, low, high = winners_difference(x, sigma, level, critical)
        assert low <= middle <= high
        plain += abs(x[w] - truth[w]) <= 1.96
        corrected += low <= truth[w] <= high
        errors.append(middle > truth[w])
        raw.append(x[w] > truth[w])
    return {
        "plain": plain / runs, "selected": corrected / runs, "above": np.mean(errors),
        "raw": np.mean(raw),
    }  # fmt: skip


@pytest.mark.parametrize("candidates", [8, 20])
def test_the_best_of_equals(candidates: int) -> None:
    runs = 4000
    found = simulated(candidates, runs)
    spread = np.sqrt(0.95 * 0.05 / runs)
    assert found["selected"] > 0.95 - 3 * spread > 0.93  # at least what is claimed
    assert found["selected"] < 0.98
    assert abs(found["above"] - 0.5) < 3 * 0.5 / np.sqrt(runs)  # the median is right
    assert found["plain"] < 0.92
    assert found["raw"] > 0.8


@pytest.mark.parametrize("lead", [0.5, 2.0, 6.0])
def test_the_best_of_unequals(lead: float) -> None:
    runs = 4000
    found = simulated(6, runs, mean=[lead, 0, 0, 0, -1, -1], rho=0.2)
    assert abs(found["selected"] - 0.95) < 0.012 + 3 * np.sqrt(0.95 * 0.05 / runs)
    assert abs(found["above"] - 0.5) < 3 * 0.5 / np.sqrt(runs)


def test_a_winner_far_ahead_keeps_its_own() -> None:
    x = np.array([0.0, 30.0, 1.0])
    w, middle, low, high = winners_difference(x, np.eye(3), 0.95, 4.0)
    assert (w, middle) == (1, pytest.approx(30, abs=1e-3))
    assert (high - 30, 30 - low) == pytest.approx((2.0, 2.0), abs=0.03)


def test_the_conditional_distribution_is_the_papers() -> None:
    """With a wide simultaneous interval: the quantiles of a truncated normal, by scipy."""
    x, sigma = np.array([1.0, 0.6, -0.2]), np.array([[1, 0.3, 0.1], [0.3, 2, 0.4], [0.1, 0.4, 0.7]])
    _, middle, low, high = winners_difference(x, sigma, 0.95, 30.0)
    slope = sigma[:, 0] / sigma[0, 0]
    cut = max((x[1:] - slope[1:] * x[0]) / (1 - slope[1:]))
    tail = 0.05 * (1 - SHARE) / (1 - SHARE * 0.05) / 2
    for mean, quantile in ((middle, 0.5), (low, 1 - tail), (high, tail)):
        if mean > -10:
            own = stats.truncnorm(cut - mean, np.inf, loc=mean).cdf(x[0])
            assert own == pytest.approx(quantile, abs=1e-6)
    seen = x - slope * x[0]
    truth = seen + slope * middle  # of the others any will do: what is seen of them is held
    drawn = np.random.default_rng(0).multivariate_normal(truth, sigma, size=400_000)
    near = np.all(np.abs(drawn - slope * drawn[:, :1] - seen)[:, 1:] < 0.2, axis=1)
    won = near & (drawn.argmax(axis=1) == 0)
    assert np.mean(drawn[won, 0] < x[0]) == pytest.approx(0.5, abs=0.06)


def test_a_tie_or_what_never_varies_has_no_correction() -> None:
    assert np.isnan(winners_difference(np.array([1.0, 1.0]), np.eye(2), 0.95, 2.5)[1])
    twice = np.array([[1, 1, 0.2], [1, 1, 0.2], [0.2, 0.2, 1]])
    alike = winners_difference(np.array([1.0, 1.0, 0.0]), twice, 0.95, 2.5)
    assert alike[1] < 1  # one candidate twice is no tie
    assert np.isnan(winners_difference(np.array([1.0, 0.0]), np.zeros((2, 2)), 0.95, 2.0)[1])
