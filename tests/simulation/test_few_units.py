"""Means of 10 to 100 users, arithmetic and geometric, and their differences; BCa where it holds."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from counterrank.core.errors import UsageError
from counterrank.stats.draws import Draws
from counterrank.stats.functions_of_means import geometric, mean
from counterrank.stats.inference import FEWEST, t_test
from counterrank.stats.plan import Plan
from counterrank.stats.units import Key, Units
from one_slot_shop import FULL, Tally, tolerance

A, B = Key("a", "x"), Key("b", "x")
SIZES = (10, 20, 50, 100)
MANY = 200_000


def shares(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two systems' values of n users, which go together; between 0 and 1, skewed."""
    common = rng.normal(size=n)
    own = common + 0.7 * rng.normal(size=(2, n)) - np.array([[1.0], [0.7]])
    a, b = 1 / (1 + np.exp(-own))
    return a, b


def reciprocal(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two systems' reciprocal ranks."""
    return 1 / rng.geometric(0.3, n), 1 / rng.geometric(0.35, n)


WORLDS = {"shares": shares, "reciprocal ranks": reciprocal}


def rows(full: bool) -> list[dict]:
    """Value of a; the difference of both is in the column of lifts."""
    found = []
    for world, make in WORLDS.items():
        for n in SIZES:
            for name, function in (("mean", mean), ("geometric mean", geometric)):
                found.append(cover(f"{world}, {n} users, {name}", make, n, function, "t", full))
            if n >= FEWEST:
                found.append(cover(f"{world}, {n} users, BCa", make, n, mean, "bca", full))
    return found


def cover(condition: str, make, n: int, function, method: str, full: bool) -> dict:
    """Intervals of many samples against the values of very many users."""
    rng = np.random.default_rng(n)
    count = (4000 if full else 400) if method == "t" else (2000 if full else 60)
    scale = np.log if function is geometric else np.asarray
    a, b = (float(function(np.array([scale(x).mean()]))) for x in make(rng, MANY))
    plan = Plan(interval=method, test="t")
    one = Tally(condition, method)
    for seed in range(count):
        columns = {key: (scale(x),) for key, x in zip((A, B), make(rng, n), strict=True)}
        draws = Draws(resamples=2000 if method == "bca" else 0, seed=seed)
        units = Units(pl.Series(np.arange(n)), columns, draws=draws)
        x, y = units.estimate(A, function), units.estimate(B, function)
        ends = [plan.ends(e) for e in (x, x - y)]
        inside = [low <= v <= high for (low, high), v in zip(ends, (a, a - b), strict=True)]
        one.add(*inside, said=False)
    return one.row()


@pytest.fixture(scope="module")
def table() -> list[dict]:
    return rows(FULL)


def test_few_units_are_covered(table):
    for row in table:
        n = row["replications"]
        for name in ("coverage_value", "coverage_lift"):
            low = 0.92 if "10 users" in row["condition"] or "BCa" in row["condition"] else 0.93
            assert low - tolerance(low, n) <= row[name] <= 0.97 + tolerance(0.97, n), row


def test_a_difference_of_geometric_means_agrees_with_the_paired_test_of_logs():
    """Its interval, the ratio's and p say the same: 0 is outside as 1 is, as p is small."""
    import scipy.stats

    rng = np.random.default_rng(7)
    verdicts = set()
    for shift in np.linspace(0, 0.5, 12):
        a, b = shares(rng, 15)
        a = a ** (1 - shift)
        units = Units(pl.Series(np.arange(15)), {A: (np.log(a),), B: (np.log(b),)})
        x, y = units.estimate(A, geometric), units.estimate(B, geometric)
        p = scipy.stats.ttest_rel(np.log(a), np.log(b)).pvalue
        assert t_test(x - y) == pytest.approx(p, rel=1e-9)
        outside = [low > at or high < at for (low, high), at in
                   (((x - y).interval(), 0), ((x / y).interval(), 1))]  # fmt: skip
        assert outside == [p < 0.05] * 2
        low, high = (x - y).interval()
        assert low < x.value - y.value < high
        verdicts.add(bool(p < 0.05))
    assert verdicts == {True, False}


def test_bca_is_refused_for_few_units():
    rng = np.random.default_rng(1)
    units = Units(pl.Series(np.arange(20)), {A: (rng.random(20),)}, draws=Draws(resamples=50))
    with pytest.raises(UsageError, match=f"needs {FEWEST} units"):
        Plan(interval="bca").ends(units.estimate(A, mean))
