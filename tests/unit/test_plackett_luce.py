"""Rank probabilities of Plackett-Luce rankers against all permutations."""

from __future__ import annotations

from itertools import permutations
from math import exp, factorial

import numpy as np
import pytest

from counterrank.core.errors import InputError
from counterrank.position import (
    rank_probabilities,
)


def by_enumeration(scores):
    """P(item at rank), summed over all orders; items of score minus infinity come last."""
    k = len(scores)
    can = [a for a in range(k) if scores[a] > -np.inf]
    rate = [exp(s - max(scores)) for s in scores]
    at = np.zeros((k, k))
    for front in permutations(can):
        chance, left = 1.0, list(front)
        while left:
            chance *= rate[left[0]] / sum(rate[b] for b in left)
            left.pop(0)
        rest = [a for a in range(k) if a not in can]
        for back in permutations(rest):
            for rank, a in enumerate(front + back):
                at[a, rank] += chance / factorial(len(rest))
    return at


@pytest.mark.parametrize("k", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("spread", [0, 1, 5, 15])
def test_equals_the_sum_over_all_orders(k, spread):
    scores = spread * np.random.default_rng(k).normal(size=(3, k)) + 100
    if k > 3:
        scores[1, 1] = scores[1, 3] = -np.inf
    found = rank_probabilities(scores, k)
    for row, at in zip(scores, found, strict=True):
        assert at == pytest.approx(by_enumeration(list(row)), abs=1e-11)


@pytest.mark.parametrize(("k", "ranks"), [(40, 40), (400, 10), (1000, 3)])
def test_long_lists(k, ranks):
    """Equal scores give equal chances; otherwise every rank holds one item."""
    assert rank_probabilities(np.zeros((1, k)), ranks) == pytest.approx(1 / k, abs=1e-11)
    scores = 3 * np.random.default_rng(0).normal(size=(2, k))
    at = rank_probabilities(scores, ranks)
    assert at.sum(axis=1) == pytest.approx(1, abs=1e-9)
    rate = np.exp(scores)
    assert at[:, :, 0] == pytest.approx(rate / rate.sum(axis=1, keepdims=True), abs=1e-11)


def test_blocks_of_lists_change_nothing(monkeypatch):
    from counterrank.position import plackett_luce

    scores = np.random.default_rng(1).normal(size=(20, 6))
    whole = rank_probabilities(scores, 4)
    monkeypatch.setattr(plackett_luce, "CELLS", 1)
    assert rank_probabilities(scores, 4) == pytest.approx(whole, abs=1e-13)


def test_refuses_what_is_no_score():
    for wrong in ([[1.0, np.nan]], [[np.inf, 0.0]], [[-np.inf, -np.inf]], [1.0, 2.0]):
        with pytest.raises(InputError):
            rank_probabilities(np.array(wrong), 1)
