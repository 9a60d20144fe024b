"""Williams' test of two dependent correlations, and the relative error."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import binom, t

from counterrank.core.errors import CounterrankError
from counterrank.stats.correlation import dependent_correlations, relative_rmse, williams


def test_analytic(golden):
    rows = json.loads((golden / "analytic.json").read_text())["dependent_correlations"]["rows"]
    assert rows
    for row in rows:
        got = dependent_correlations(row["r_xy"], row["r_xz"], row["r_yz"], row["n"])
        assert got.freedom == row["df"]
        assert got.t == pytest.approx(row["t"], abs=1e-9)
        assert got.p_one_sided == pytest.approx(row["p_one_sided"], abs=1e-9)
        assert got.p_two_sided == pytest.approx(row["p_two_sided"], abs=1e-9)


def test_written_out():
    xy, xz, yz, n = 0.6, 0.3, 0.5, 30
    determinant = np.linalg.det([[1, xy, xz], [xy, 1, yz], [xz, yz, 1]])
    inner = 2 * (n - 1) / (n - 3) * determinant + ((xy + xz) / 2) ** 2 * (1 - yz) ** 3
    expected = (xy - xz) * math.sqrt((n - 1) * (1 + yz) / inner)
    assert float(williams(xy, xz, yz, n)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("r", [0.0, 0.4, -1.0, 1.0])
def test_a_method_compared_with_itself_is_no_better(r):
    got = dependent_correlations(r, r, 1.0, 20)
    assert (got.t, got.p_one_sided, got.p_two_sided) == (0, 0.5, 1)


def test_edges():
    perfect = dependent_correlations(0.5, -0.5, 0.5, 20)  # y - z is x: nothing is left to chance
    assert math.isinf(perfect.t) or perfect.t > 1e6
    assert 0 < perfect.p_two_sided < 1e-12
    assert math.isnan(dependent_correlations(0.5, -0.5, -1.0, 20).p_two_sided)
    with pytest.raises(CounterrankError, match="contradict"):
        dependent_correlations(0.9, -0.9, 0.9, 20)
    with pytest.raises(CounterrankError, match="between -1 and 1"):
        dependent_correlations(1.2, 0.1, 0.1, 20)
    with pytest.raises(CounterrankError, match="four cases"):
        dependent_correlations(0.2, 0.1, 0.1, 3)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_calibrated_for_pearson_correlations(rho):
    rng = np.random.default_rng(3)
    n, draws, level = 30, 4000, 0.05
    factor = np.linalg.cholesky([[1, rho, rho], [rho, 1, 0.6], [rho, 0.6, 1]])
    x, y, z = np.moveaxis(rng.normal(size=(draws, n, 3)) @ factor.T, 2, 0)

    def pearson(a, b):
        a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
        return (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))

    statistic = williams(pearson(x, y), pearson(x, z), pearson(y, z), n)
    rejected = np.sum(2 * t.sf(np.abs(statistic), n - 3) <= level)
    low, high = binom.ppf([0.0005, 0.9995], draws, level)
    assert low <= rejected <= high


def test_relative_rmse(golden):
    case = json.loads((golden / "analytic.json").read_text())["relative_rmse"]
    got = relative_rmse(case["ground_truth"], case["estimate"])
    assert got == pytest.approx(case["expected"], abs=1e-12)
