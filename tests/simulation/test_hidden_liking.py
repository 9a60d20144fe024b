"""Clicks or views by a hidden liking that also sells: fitted chances mislead and never pass.

A shop of its own: some pairs are liked, which neither users nor items show. People click (or are
shown) what is liked more often, where it is ``hidden``, and buy it more often in any case.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from one_slot_shop import FULL, Tally, holds, tolerance

ITEMS, TOP, USERS = 30, 5, 1500
CHARM, WORTH = np.random.default_rng(3).uniform(0.6, 1.4, (2, ITEMS))
SEEN, CTR = np.array([0.9, 0.7, 0.6, 0.5, 0.4]), 0.5
LIKED = 0.3  # of the pairs
# the roles of a table that tell whether a pair was there to be sold, and with which chance
KINDS = {
    "clicks": ("click", "ctr", {"measure": f"CG@{TOP}"}),
    "views": ("shown", "exposure", {"position_bias": f"table({','.join(map(str, SEEN))})"}),
}


def lists(rng, n):
    """The new ranker knows what sells, the old one nothing."""
    noise = rng.normal(size=(n, ITEMS))
    return {
        name: np.argsort(-x, axis=1)[:, :TOP]
        for name, x in {"old": noise, "new": noise + 3 * WORTH}.items()
    }


@cache
def truth(kind):
    """Conversions if all that is listed were clicked, or sales."""
    worth = WORTH * (LIKED * 0.6 + (1 - LIKED) * 0.1) * (1 if kind == "clicks" else CTR)
    seen = np.ones(TOP) if kind == "clicks" else SEEN
    found = lists(np.random.default_rng(0), 300_000)
    return {name: float((seen * worth[x]).sum(axis=1).mean()) for name, x in found.items()}


def shop(seed, kind, hidden):
    """A funnel with the chances by which it came about, and predictions that are right."""
    rng = np.random.default_rng(seed)
    liked = rng.random((USERS, ITEMS)) < LIKED
    chance = CHARM * np.where(liked, 0.6, 0.15) if hidden else CHARM * np.full(liked.shape, 0.285)
    there = rng.random(liked.shape) < chance
    click = there & (rng.random(liked.shape) < (1 if kind == "clicks" else CTR))
    sold = click & (rng.random(liked.shape) < WORTH * np.where(liked, 0.6, 0.1))
    user, item = np.indices(liked.shape).reshape(2, -1)
    event, role, _ = KINDS[kind]
    table = pl.DataFrame(
        {"user": user, "item": item, "ctr": CTR, "cvr": 0.25 * WORTH[item],
         "click": click.ravel() * 1, "conversion": sold.ravel() * 1}
    ).with_columns(
        pl.Series(event, there.ravel() * 1), pl.Series(role, chance.ravel())
    )  # fmt: skip
    rank, u = np.tile(np.arange(1, TOP + 1), USERS), np.repeat(np.arange(USERS), TOP)
    return table, {
        name: pl.DataFrame({"user": u, "item": x.ravel(), "rank": rank})
        for name, x in lists(rng, USERS).items()
    }


def rows(full: bool) -> list[dict]:
    """Fitted chances with and without a hidden liking, and logged ones; diagnosed is no pass."""
    found = []
    for kind, (_, role, options) in KINDS.items():
        for hidden, fitted in ((True, True), (False, True), (True, False)):
            how = f"chances of {kind} {'fitted' if fitted else 'logged'}"
            condition = f"{'hidden liking' if hidden else 'no hidden liking'}, {how}"
            tallies, true = {e: Tally(condition, e) for e in ("IPS", "DR")}, truth(kind)
            for seed in range(1000 if full else 30):
                table, runs = shop(seed, kind, hidden)
                models = {role: "rates", "cvr": "rates"} if fitted else {}
                result = cr.funnel(
                    table.drop(models), runs, baseline="old", estimator=["IPS", "DR"],
                    **models, **options,
                )  # fmt: skip
                lifts = {c.estimator: c for c in result.comparisons}
                for r in result.estimates:
                    if r.system == "new":
                        c = lifts[r.estimator]
                        tallies[r.estimator].add(
                            r.low <= true["new"] <= r.high,
                            c.lift_low <= true["new"] / true["old"] - 1 <= c.lift_high,
                            r.verdict != "pass",
                        )
            found += [one.row() for one in tallies.values()]
    return found


@pytest.fixture(scope="module")
def table() -> list[dict]:
    return rows(FULL)


def test_fitted_chances_never_pass(table):
    for row in table:
        if "fitted" in row["condition"]:
            assert row["diagnosed"] == 1, row
        if row["condition"].startswith("hidden") and "fitted" in row["condition"]:
            assert row["coverage_value"] < 0.5, row


def test_logged_chances_cover_and_pass_whatever_is_hidden(table):
    for row in table:
        if "logged" in row["condition"]:
            assert row["diagnosed"] <= 0.05 + tolerance(0.05, row["replications"]), row
        if not row["condition"].startswith("hidden") or "logged" in row["condition"]:
            assert holds({**row, "diagnosed": 0}), row
