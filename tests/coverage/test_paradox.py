"""Without a paradox the audit stays silent at its stated family-wise error rate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from counterrank.stratified.paradox import audit_pairs, paradoxes
from making import ratios, stratified

SETS, USERS, LEVEL = 1000, 80, 0.95


def false_findings(means, share, weight, seed, *, noise=0.3):
    """Data sets of 1,000 in which the audit finds something.

    ``means`` (strata x systems) are the true values in each stratum; a user's overall value is the
    ``weight``-ed sum of that user's values, as when users' lists mix items of all strata. Users
    have good and bad days that all systems and strata share, and skewed noise.
    """
    rng = np.random.default_rng(seed)
    means, share = np.asarray(means, float), np.asarray(share, float)
    strata, systems = means.shape
    names = [f"s{n}" for n in range(systems)]
    found = in_value = 0
    for _ in range(SETS):
        day = rng.normal(0, 0.2, (1, 1, USERS))
        x = means[:, :, None] + day + noise * (rng.exponential(size=(strata, systems, USERS)) - 1)
        feedback = rng.poisson(20 * share[:, None], (strata, USERS)).astype(float)
        each = {f"Q{q + 1}": ratios(x[q]) for q in range(strata)}
        whole = stratified(x, np.ones((strata, USERS)), feedback)
        own = feedback.sum(axis=1) / feedback.sum()
        holdout = ratios(np.tensordot(weight, x, 1))
        audit = paradoxes([audit_pairs(names, "m", holdout, each, whole, share=own)], level=LEVEL)
        found += bool(audit.paradoxes)
        in_value += any(row.stratified == "reversed" for row in audit.paradoxes)
    return found, in_value


def most(rate):
    """More false findings than this happen once in 1,000 times at the given rate."""
    return binom.ppf(0.999, SETS, rate)


@pytest.mark.parametrize(
    ("means", "share", "weight"),
    [
        pytest.param(np.full((2, 5), 0.5), (0.7, 0.3), (0.5, 0.5), id="all equal"),
        pytest.param(
            [[0.5, 0.55, 0.6, 0.65, 0.7]] * 3, (0.5, 0.3, 0.2), (0.4, 0.3, 0.3), id="one order"
        ),
        pytest.param(
            [[0.5] * 5, [0.3, 0.5, 0.7, 0.9, 1.1]], (0.8, 0.2), (0.5, 0.5),
            id="equal in the majority",
        ),
        pytest.param(
            [[0.5, 0.2], [0.5, 0.5], [0.2, 1.2]], (0.4, 0.3, 0.3), (0.3, 0.3, 0.4),
            id="reversed in less than half",
        ),
        pytest.param(
            [[0.6, 0.2], [0.5, 0.5], [0.5, 0.5], [0.2, 1.6]], (0.25,) * 4, (0.2, 0.2, 0.2, 0.4),
            id="reversed in a quarter, equal in half",
        ),
        pytest.param(
            [[0.8, 0.2], [0.2, 0.8]], (0.8, 0.2), (0.5, 0.5), id="no difference overall"
        ),
    ],
)  # fmt: skip
def test_silent_without_a_paradox(means, share, weight):
    found, value = false_findings(means, share, weight, seed=11)
    assert found <= most(1 - LEVEL)
    assert value <= found


def test_the_level_is_used_at_the_boundary():
    """Equal in the majority, clearly apart overall: one direction errs at half of the level."""
    found, _ = false_findings([[0.5, 0.5], [0.2, 1.4]], (0.8, 0.2), (0.5, 0.5), seed=12)
    low, high = binom.ppf([0.0005, 0.9995], SETS, (1 - LEVEL) / 2)
    assert low <= found <= high


def test_power_on_a_planted_one():
    """The difference is some 5 standard errors in the majority and 11 overall."""
    found, _ = false_findings([[0.75, 0.5], [0.2, 1.2]], (0.8, 0.2), (0.5, 0.5), seed=13)
    assert found >= 0.95 * SETS
