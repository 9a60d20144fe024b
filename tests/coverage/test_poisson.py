"""Draws by a unit's id alone are as good as drawn ones: seeds are fixed, tolerances computed.

Each rate or mean must lie within four standard errors of what is claimed.
"""

from __future__ import annotations

import numpy as np
import pytest

from counterrank.stats.draws import POISSON, Flips, flip_codes, poisson_weights, signs
from counterrank.stats.functions_of_means import geometric, mean, ratio
from counterrank.stats.inference import interval
from counterrank.stats.permutation import flipped_test
from making import estimates

N, LEVEL, BITS = 200, 0.95, 9
PLAIN = np.arange(1 << 13, dtype=np.uint64)  # neighbours, not hashes: the worst ids there are
SHIFTED = PLAIN << np.uint64(40)


def band(rate: float, repeats: int) -> float:
    return 4 * np.sqrt(rate * (1 - rate) / repeats)


def test_the_table_of_weights_has_mean_and_variance_one():
    k, share = np.arange(len(POISSON)), np.array(POISSON) / (1 << 16)
    assert (share.sum(), k @ share, k**2 @ share) == (1, 1, 2)
    poisson = np.exp(-1) / np.cumprod([1, *k[1:]])
    assert np.abs(share - poisson).max() <= 1.5 / (1 << 16)


@pytest.mark.parametrize("ids", [PLAIN, SHIFTED], ids=["plain", "shifted"])
def test_weights_are_poisson_and_signs_even(ids):
    draws = range(64)
    w, s = poisson_weights(ids, draws, 1).astype(float), signs(ids, draws, 1).astype(float)
    cells = w.size
    assert w.mean() == pytest.approx(1, abs=4 / np.sqrt(cells))
    # the fourth central moment of Poisson(1) is 4, so squares have variance 3
    assert np.mean((w - 1) ** 2) == pytest.approx(1, abs=4 * np.sqrt(3 / cells))
    assert s.mean() == pytest.approx(0.5, abs=4 / np.sqrt(4 * cells))
    share = np.bincount(w.astype(int).ravel(), minlength=len(POISSON)) / cells
    expected = np.array(POISSON) / (1 << 16)
    assert np.all(np.abs(share - expected) <= 4 * np.sqrt(expected / cells) + 4 / cells)


@pytest.mark.parametrize("ids", [PLAIN, SHIFTED], ids=["plain", "shifted"])
@pytest.mark.parametrize("drawn", [poisson_weights, signs])
def test_draws_ids_and_seeds_are_uncorrelated(ids, drawn):
    draws = range(128)
    x = drawn(ids, draws, 1).astype(float)
    other = drawn(ids, draws, 2).astype(float)
    x, other = ((y - y.mean()) / y.std() for y in (x, other))
    units = len(ids)
    few = x[:, :512]
    for r, n in (
        ((x @ x.T / units)[np.triu_indices(len(x), 1)], units),  # draws
        ((few.T @ few / len(draws))[np.triu_indices(512, 1)], len(draws)),  # ids
        ((x @ other.T / units).ravel(), units),  # seeds
    ):
        # each has variance 1/n if nothing is correlated; squares of normals have variance 2
        assert np.mean(r**2) * n == pytest.approx(1, abs=4 * np.sqrt(2 / len(r)) + 2 / n)
        assert np.abs(r).max() <= 7 / np.sqrt(n)
    lag = np.mean(x[:, 1:] * x[:, :-1])  # neighbouring ids
    assert abs(lag) <= 4 / np.sqrt(x.size)


def test_weights_and_signs_of_one_seed_are_uncorrelated():
    w, s = (drawn(PLAIN, range(64), 1).astype(float) for drawn in (poisson_weights, signs))
    assert abs(np.mean((w - 1) * (s - 0.5))) <= 4 * 0.5 / np.sqrt(w.size)


def draw(kind, rng):
    """Per-user columns, the function of their means, and the value it estimates."""
    if kind == "mean":
        return rng.beta(0.6, 1.4, N), mean, 0.3
    if kind == "geometric":
        return -rng.gamma(2.0, 0.5, N), geometric, np.exp(-1.0)
    weight = rng.gamma(2.0, 1.0, N)
    return (weight * rng.beta(2, 2, N), weight), ratio, 0.5


@pytest.mark.parametrize("kind", ["mean", "geometric", "ratio"])
def test_intervals_by_poisson_weights_cover(kind):
    rng, repeats, draws = np.random.default_rng(21), 1000, 400
    inside = 0
    for s in range(repeats):
        columns, function, truth = draw(kind, rng)
        ids = rng.integers(0, 1 << 62, N)
        (e,) = estimates(columns, function=function, ids=ids, resamples=draws, seed=s)
        low, high = interval(e, level=LEVEL, method="bootstrap", resamples=e.resamples)
        inside += low <= truth <= high
    assert inside / repeats == pytest.approx(LEVEL, abs=band(LEVEL, repeats))


def test_clusters_are_drawn_whole():
    rng, repeats = np.random.default_rng(22), 500
    cluster, inside = np.repeat(np.arange(100), 3), {True: 0, False: 0}
    for s in range(repeats):
        x = np.repeat(rng.standard_normal(100), 3) + 0.5 * rng.standard_normal(300)
        for clustered in inside:
            own = cluster if clustered else None
            (e,) = estimates(x, clusters=own, resamples=300, seed=s)
            low, high = interval(e, level=LEVEL, method="bootstrap", resamples=e.resamples)
            inside[clustered] += low <= 0 <= high
    assert inside[True] / repeats == pytest.approx(LEVEL, abs=band(LEVEL, repeats))
    assert inside[False] / repeats < 0.85  # what happens when clusters are not told


def null_pair(rng):
    """Two systems exchangeable within each user: skewed values, many zeros and ties."""
    level = rng.beta(0.5, 1.5, (N, 1))
    return np.round(np.clip(level + 0.3 * rng.standard_normal((N, 2)), 0, 1), 1)


def test_flips_by_ids_reject_at_their_level_and_agree_with_drawn_ones():
    rng, repeats, draws = np.random.default_rng(23), 1500, 1 << BITS
    ids = np.arange(N, dtype=np.uint64)
    flipped, permuted = [], []
    for s in range(repeats):
        x = null_pair(rng)
        flips = Flips.of([x], np.array([[0, 1]]), flip_codes(ids, BITS, s), BITS)
        flipped.append(flipped_test(flips).p[0, 0])
        if s < 300:
            d, turned = x[:, 0] - x[:, 1], rng.choice([-1.0, 1.0], (draws, N))
            permuted.append(np.mean(np.abs(turned @ d) >= abs(d.sum()) - 1e-9))
    p = np.array(flipped)
    for alpha in (0.01, 0.05, 0.2):
        assert np.mean(p <= alpha) == pytest.approx(alpha, abs=band(alpha, repeats))
    q = np.array(permuted)
    z = (p[: len(q)] - q) / np.sqrt(2 * (q * (1 - q) + 1 / draws) / draws)
    assert np.abs(z).max() <= 4.5
    assert abs(z.mean()) <= 4 / np.sqrt(len(q))


def test_maxt_of_flips_holds_the_family_wise_error_and_is_not_idle():
    """Five exchangeable systems, ten pairs, two dependent measures: 5 % of data mislead."""
    rng, repeats = np.random.default_rng(24), 600
    pairs = np.array([(a, b) for a in range(5) for b in range(a)])
    ids = np.arange(80, dtype=np.uint64)
    wrong = 0
    for s in range(repeats):
        x = rng.beta(0.5, 1.5, (80, 1)) + 0.2 * rng.standard_normal((80, 5))
        flips = Flips.of([x, x**3], pairs, flip_codes(ids, BITS, s), BITS)
        wrong += flipped_test(flips).maxt.min() <= 0.05
    assert wrong / repeats == pytest.approx(0.05, abs=band(0.05, repeats))
