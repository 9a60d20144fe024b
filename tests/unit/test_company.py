"""What stands above and below an item may change what it earns: the truth stays inside."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.assumptions.contrast import best_above

N, DEPTH, PAGES = 8000, 6, 4
CURVE = np.arange(1, DEPTH + 1) ** -0.7


def factors(worth: np.ndarray, kind: np.ndarray, broken: str, size: float) -> np.ndarray:
    """What each place of each list earns more or less because of the others; lists x ranks."""
    out = np.ones(worth.shape)
    if broken == "contrast":
        best = np.maximum.accumulate(worth, axis=1)[:, :-1]
        out[:, 1:] = np.exp(-size * best / 0.5)
    if broken == "interaction below":
        out[:, :-1] = np.where(kind[:, :-1] == kind[:, 1:], np.exp(-size), 1.0)
    return out


def told(broken: str, size: float, seed: int):
    """A target that puts one kind together, best first: its comparison, truth and diagnostics."""
    rng = np.random.default_rng(seed)
    page, kind = rng.integers(0, PAGES, N), rng.integers(0, 2, (PAGES, DEPTH))
    worth = rng.uniform(0.1, 0.6, (PAGES, DEPTH))
    every = np.arange(N)[:, None]
    order = np.argsort(-worth[page] + rng.normal(0, 0.2, (N, DEPTH)), axis=1)

    def earn(order):
        q, k = worth[page[:, None], order], kind[page[:, None], order]
        return q * factors(q, k, broken, size)

    due = earn(order)
    seen = rng.random((N, DEPTH)) < CURVE
    click = seen & (rng.random((N, DEPTH)) < due)
    new = np.argsort(-(2 * kind[page] + worth[page]), axis=1)
    lift = (CURVE * earn(new)).sum() / (CURVE * due).sum() - 1
    rank = np.broadcast_to(np.arange(1, DEPTH + 1), (N, DEPTH)).ravel()
    session = np.broadcast_to(every, (N, DEPTH)).ravel()
    log = pl.DataFrame(
        {
            "session": session, "user": session // 3, "page": page[session], "rank": rank,
            "item": order.ravel(), "viewed": seen.ravel().astype(int),
            "click": click.ravel().astype(int), "timestamp": 1_700_000_000 + 90 * session,
        }
    )  # fmt: skip
    run = pl.DataFrame({"session": session, "rank": rank, "item": new.ravel()})
    result = cr.estimate(
        log, {"new": run}, reward="click", context="page", position_bias="views", estimator="DR"
    )
    [c] = result.comparisons
    return c, lift, {d.name: d for d in result.diagnostics}


@pytest.mark.parametrize("seed", range(2))
def test_a_sound_log_passes(seed: int) -> None:
    c, lift, said = told("nothing", 0.0, seed)
    assert c.verdict == "pass"
    assert c.lift_bound_low < lift < c.lift_bound_high
    assert "standard error" in said["contrast"].meaning
    assert "right below" in said["interaction below"].meaning


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("broken", "size"), [("contrast", 0.8), ("interaction below", 0.5)])
def test_company_that_matters_is_found_and_allowed_for(broken: str, size: float, seed: int) -> None:
    c, lift, said = told(broken, size, seed)
    assert said[broken].state == "caution"
    assert c.lift_bound_low < lift < c.lift_bound_high
    assert not c.low < (lift * (c.difference / c.lift)) < c.high  # the plain interval does not


def test_the_best_above_is_of_the_same_session() -> None:
    found = best_above(np.array([0, 0, 0, 1, 1]), np.array([0.2, 0.5, 0.1, 0.3, -0.4]))
    assert found.tolist() == pytest.approx([0, 0.2, 0.5, 0, 0.3])
