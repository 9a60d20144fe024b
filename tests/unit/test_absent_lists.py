"""Sessions without a list of the target: who chose them; what lifts and margins are shares of."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import counterrank as cr

N, ITEMS = 3000, 6


def world(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A log of two pages, one four times as rich, and a target that re-ranks its lists."""
    rng = np.random.default_rng(seed)
    page = rng.integers(0, 2, N)
    worth = rng.uniform(0.1, 0.3, (2, ITEMS)) * np.array([[0.5], [2.0]])
    order = np.argsort(rng.random((N, ITEMS)), axis=1)
    each = np.repeat(np.arange(N), ITEMS)
    rank = np.tile(np.arange(1, ITEMS + 1), N)
    seen = rng.random(len(each)) < 0.8 ** (rank - 1)
    liked = rng.random(len(each)) < worth[page[each], order.ravel()]
    log = pl.DataFrame(
        {
            "session": each, "user": each // 3, "page": page[each], "item": order.ravel(),
            "rank": rank, "viewed": seen.astype(int), "click": (seen & liked).astype(int),
        }
    )  # fmt: skip
    new = log.select("session", "item").with_columns(
        rank=pl.Series(np.argsort(np.argsort(rng.random((N, ITEMS)), axis=1), axis=1).ravel() + 1)
    )
    return log, new


def absent(log: pl.DataFrame, chosen: str, seed: int) -> list[int]:
    """Sessions to be left out: a third, by what they earned, by page, or by chance."""
    paid = log.group_by("session", "page", maintain_order=True).agg(pl.col("click").sum())
    rng = np.random.default_rng(seed)
    by = {
        "reward": paid["click"].to_numpy() > 0,
        "page": paid["page"].to_numpy() == 1,
        "chance": np.ones(N, bool),
    }[chosen]
    return paid["session"].to_numpy()[by & (rng.random(N) < 1 / 3)].tolist()


def state(seed: int, chosen: str, missing: str) -> str:
    log, new = world(seed)
    run = new.filter(~pl.col("session").is_in(absent(log, chosen, seed)))
    result = cr.estimate(
        log, {"new": run}, reward="click", position_bias="geometric(p=0.8)", context="page",
        estimator="IPS", missing=missing, bounds="none",
    )  # fmt: skip
    [d] = [d for d in result.diagnostics if d.name == "sessions without a list"]
    return d.state


@pytest.mark.parametrize("missing", ["skip", "logged"])
@pytest.mark.parametrize("seed", range(3))
def test_leaving_sessions_out_by_what_they_earned_fails(seed: int, missing: str) -> None:
    assert state(seed, "reward", missing) == "fail"


@pytest.mark.parametrize("chosen", ["page", "chance"])
@pytest.mark.parametrize("seed", range(6))
def test_by_context_or_by_chance_it_does_not(seed: int, chosen: str) -> None:
    assert state(seed, chosen, "skip") == "caution"


def test_margins_are_shares_of_what_was_compared() -> None:
    log, new = world(1)
    rich = log.filter(pl.col("page") == 1)["session"].unique().to_list()
    result = cr.estimate(
        log, {"new": new.filter(pl.col("session").is_in(rich))}, reward="click", missing="skip",
        position_bias="geometric(p=0.8)", context="page", estimator="IPS", bounds="none",
    )  # fmt: skip
    [c] = result.comparisons
    paid = log.filter(pl.col("page") == 1)["click"].sum() / len(rich)
    whole = result.estimate("logged", "OnPolicy").value
    assert whole < 0.8 * paid
    [held] = cr.gate(result).checked[0].requirements
    assert held.size == pytest.approx(paid, rel=1e-9)
    assert c.difference / held.size == pytest.approx(c.lift)
