"""Statistical claims, tested statistically: seeds are fixed, tolerances computed.

Each rate is a binomial count; it must lie within four standard errors of what is claimed.
"""

from __future__ import annotations

import numpy as np
import pytest

from counterrank.stats.functions_of_means import geometric, mean, ratio
from counterrank.stats.inference import bootstrap_test, interval, t_test
from counterrank.stats.permutation import permutation_test
from making import estimates

N, REPEATS, LEVEL = 400, 1500, 0.95


def band(rate: float, repeats: int) -> float:
    return 4 * np.sqrt(rate * (1 - rate) / repeats)


def null_pair(rng):
    """Two systems exchangeable within each user: skewed values, many zeros and ties."""
    level = rng.beta(0.5, 1.5, (N, 1))
    return np.round(np.clip(level + 0.3 * rng.standard_normal((N, 2)), 0, 1), 1)


@pytest.fixture(scope="module")
def under_the_null():
    """p-values of many data sets whose two systems are exchangeable."""
    rng = np.random.default_rng(11)
    return np.array([permutation_test([null_pair(rng)], [(0, 1)], draws=999, seed=s).p[0, 0]
                     for s in range(REPEATS)])  # fmt: skip


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_permutation_rejects_at_its_level_under_the_null(under_the_null, alpha):
    assert np.mean(under_the_null <= alpha) == pytest.approx(alpha, abs=band(alpha, REPEATS))


def test_maxt_holds_the_family_wise_error_and_is_not_idle():
    """Five exchangeable systems, ten pairs, two dependent measures: 5 % of data mislead."""
    rng = np.random.default_rng(12)
    pairs = [(a, b) for a in range(5) for b in range(a)]
    wrong = 0
    for s in range(600):
        x = rng.beta(0.5, 1.5, (80, 1)) + 0.2 * rng.standard_normal((80, 5))
        found = permutation_test([x, x**3], pairs, draws=499, seed=s)
        wrong += found.maxt.min() <= 0.05
    assert wrong / 600 == pytest.approx(0.05, abs=band(0.05, 600))


def test_t_and_bootstrap_tests_reject_at_their_level():
    rng = np.random.default_rng(13)
    student, weighed = [], []
    for s in range(800):
        x = null_pair(rng)
        a, b = estimates(x[:, 0], x[:, 1], resamples=400, seed=s)
        d = a - b
        student.append(t_test(d) <= 0.05)
        weighed.append(bootstrap_test(d, d.resamples) <= 0.05)
    assert np.mean(student) == pytest.approx(0.05, abs=band(0.05, 800))
    # 400 resamples add at most 1/401 to the level; the percentile approximation a little more
    assert np.mean(weighed) == pytest.approx(0.05, abs=band(0.05, 800) + 0.01)


def draw(kind, rng):
    """Columns of all users, the function of their means, and the value it estimates."""
    if kind == "mean":
        return rng.beta(0.6, 1.4, N), mean, 0.3
    if kind == "geometric":
        return -rng.gamma(2.0, 0.5, N), geometric, np.exp(-1.0)
    weight = rng.gamma(2.0, 1.0, N)
    return (weight * rng.beta(2, 2, N), weight), ratio, 0.5


@pytest.mark.parametrize("kind", ["mean", "geometric", "ratio"])
@pytest.mark.parametrize("method", ["normal", "t", "bca", "bernstein"])
def test_intervals_cover(kind, method):
    if method == "bernstein" and kind != "mean":
        return  # refused elsewhere: it needs the plain mean of bounded values
    rng = np.random.default_rng(14)
    repeats = REPEATS if method in ("normal", "t") else 500
    inside = 0
    for s in range(repeats):
        columns, function, truth = draw(kind, rng)
        again = 500 if method == "bca" else 0
        (e,) = estimates(columns, function=function, resamples=again, seed=s)
        low, high = interval(e, level=LEVEL, method=method, resamples=e.resamples, span=1.0)
        inside += low <= truth <= high
    if method == "bernstein":
        assert inside / repeats >= LEVEL
    else:
        # 400 skewed users and 500 resamples cost up to half a percent of coverage
        assert inside / repeats == pytest.approx(LEVEL, abs=band(LEVEL, repeats) + 0.005)


def test_differences_lifts_and_clusters_cover():
    rng = np.random.default_rng(15)
    inside = {"difference": 0, "lift": 0, "clustered": 0, "ignored": 0}
    cluster = np.repeat(np.arange(N // 4), 4)
    for _ in range(REPEATS):
        common = rng.beta(2, 2, N)
        x, y = (common + 0.2 * rng.standard_normal(N) + more for more in (0.1, 0))
        a, b = estimates(x, y)
        group = np.repeat(rng.standard_normal(N // 4), 4) + 0.5 * rng.standard_normal(N)
        for name, e, truth in (
            ("difference", a - b, 0.1), ("lift", a / b, 1.2),
            ("clustered", estimates(group, clusters=cluster)[0], 0),
            ("ignored", estimates(group)[0], 0),
        ):  # fmt: skip
            low, high = e.interval(LEVEL)
            inside[name] += low <= truth <= high
    for name in ("difference", "lift", "clustered"):
        assert inside[name] / REPEATS == pytest.approx(LEVEL, abs=band(LEVEL, REPEATS) + 0.005), (
            name
        )
    assert inside["ignored"] / REPEATS < 0.8  # what happens when clusters are not told


def test_power_of_the_detectable_difference():
    """A true difference of the stated size is found four times in five."""
    from counterrank.stats.inference import detectable

    rng = np.random.default_rng(16)
    size = detectable(N - 1) * 0.3 / np.sqrt(N)
    found = 0
    for _ in range(1000):
        (d,) = estimates(0.3 * rng.standard_normal(N) + size)
        found += t_test(d) <= 0.05
    assert found / 1000 == pytest.approx(0.8, abs=band(0.8, 1000))
