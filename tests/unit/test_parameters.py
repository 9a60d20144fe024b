"""Parameters of assumptions: spreads by brute force, what a horizon means, what views can tell."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.assumptions.own_slopes import ScoreTerms, ridge
from worlds.feed import Feed

CONTEXTS = ["page", "user_kind", "device"]


def scores(rng, users, effects, spread, sessions=4000, depth=1.0):
    """Poisson scores of effects that differ by ``spread``, and a log that has their users."""
    effect = rng.normal(0, spread, effects)
    of, session = rng.integers(0, effects, sessions), np.arange(sessions)
    z, mu = rng.choice([-depth, depth], sessions), rng.choice([0.1, 0.5], sessions)
    reward = rng.poisson(mu * np.exp(effect[of] * z))
    log: Any = SimpleNamespace(
        rows=SimpleNamespace(cluster=rng.integers(0, users, sessions)), clusters=users
    )
    return log, ScoreTerms(session, of, (reward - mu) * z, mu * z**2)


def test_a_spread_is_what_pairs_of_users_have_in_common():
    """All pairs of users one by one, and one standard error more."""
    log, terms = scores(np.random.default_rng(1), 12, 5, 0.4, sessions=200)
    user = log.rows.cluster
    S, H = (np.zeros((5, 12)) for _ in "SH")
    for k in range(200):
        S[terms.of[k], user[k]] += terms.score[k]
        H[terms.of[k], user[k]] += terms.information[k]
    noise = np.sum(terms.score**2) / H.sum()
    top = bottom = 0.0
    by_user = np.zeros(12)
    for p in range(5):
        W = (H[p].sum() + noise / 0.1**2) ** -2
        for u in range(12):
            for v in range(12):
                if u != v:
                    top += W * S[p, u] * S[p, v]
                    bottom += W * H[p, u] * H[p, v]
                    by_user[u] += W * S[p, u] * S[p, v]
    se = np.sqrt(2 * np.sum(by_user**2))
    own = ridge(log, terms, 5, 0.0, 0.1)
    assert own.z == pytest.approx(top / se)
    assert own.spread == pytest.approx(np.sqrt((max(top, 0) + se) / bottom))


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.3])
def test_what_spreads_leave_open_is_seldom_too_narrow(spread):
    """Over logs, 1.96 posterior errors hold effects as often as they say, at any spread."""
    outside = []
    for seed in range(60):
        rng = np.random.default_rng([7, seed])
        log, terms = scores(rng, 500, 40, spread)
        own = ridge(log, terms, 40, 0.3, 0.1)
        truth = np.random.default_rng([7, seed]).normal(0, spread, 40)
        error = np.sqrt(own.noise / (own.information + own.noise * own.spread**-2))
        slope = rng.normal(size=40)  # a target that moves with every effect
        off = abs(slope @ (own.effect - truth)) / np.sqrt(slope**2 @ error**2)
        outside.append(off > 1.96)
    assert np.mean(outside) <= 0.05 + 2.33 * np.sqrt(0.05 * 0.95 / 60)


def test_what_no_two_users_saw_leaves_the_spread_unknown():
    log, terms = scores(np.random.default_rng(2), 1, 5, 0.4, sessions=100)
    own = ridge(log, terms, 5, 0.3, 0.1)
    assert own.spread == np.inf
    assert own.allowing(0.1).spread == 0.1
    assert own._replace(spread=0.2).allowing(0.1).spread == 0.2


def test_no_sentence_tells_a_size_of_what_nothing_tells():
    """Lists that never change, and rewards that are all 0: sizes were infinite per cent."""
    n, rank = 50, np.tile([1, 2, 3], 50)
    log = pl.DataFrame(
        {"session": np.repeat(np.arange(n), 3), "user": np.repeat(np.arange(n) // 2, 3),
         "item": rank, "rank": rank, "viewed": 1, "click": (np.arange(3 * n) % 7 == 0) * 1}
    )  # fmt: skip
    for frame in (log, log.with_columns(click=0)):
        result = cr.estimate(
            frame, {"same": log.select("session", "item", "rank")}, reward="click",
            position_bias="log2",
        )  # fmt: skip
        text = " ".join(d.meaning for d in result.diagnostics)
        assert not re.search(r"(inf|nan|\d{4,})%", text)
        assert "by nothing this log shows" in text


@pytest.fixture(scope="module")
def trended():
    """A log whose lifts change from day to day."""
    feed = Feed(seed=2, hidden_worth=1.0, drift=1.5, days=14)
    week = feed.log(6_000, horizon=7)
    call = {"reward": "click", "position_bias": feed.position_bias, "context": CONTEXTS}
    return week, call | {"estimator": "DR"}


def believed(week, call, **more):
    run = {"hidden_up": week.runs["hidden_up"]}
    result = cr.estimate(week.log, run, **call, **more)
    audit = next(d for d in result.diagnostics if d.name == "drift")
    return result.comparisons[0], audit


def test_a_claim_is_about_the_mean_over_the_horizon(trended):
    """At horizon h a trend moves a lift by (h + T) / 2 days of it; what the log tells stays."""
    week, call = trended
    parts = [believed(week, call, horizon=h)[1].meaning for h in (0, 7)]
    size = [float(p.split("it may be ")[1].split("%")[0]) for p in parts]
    assert size[1] / size[0] == pytest.approx((7 + 14) / 14, rel=0.02)
    values = [believed(week, call, horizon=h)[1].value for h in (0, 7)]
    assert values[0] == pytest.approx(values[1], rel=0.01)


def test_what_is_allowed_stands_for_a_trend_that_may_be_chance(trended):
    week, call = trended
    day = pl.col("session").hash(1) % 14
    still = week.log.drop("timestamp", strict=False).with_columns(day=day.cast(pl.Int64))
    free, _ = believed(SimpleNamespace(log=still, runs=week.runs), call)
    none, audit = believed(SimpleNamespace(log=still, runs=week.runs), call, allow={"drift": 0.0})
    assert none.lift_bound_high - none.lift_bound_low < free.lift_bound_high - free.lift_bound_low
    assert audit.state == "pass"
    assert "as you allow" in audit.meaning


def test_views_that_may_be_lost_are_assumed_where_readers_skip(trended):
    week, call = trended
    result = cr.estimate(week.log, {"a": week.runs["better"]}, **call | {"position_bias": "views"})
    views = next(d for d in result.diagnostics if d.name == "lost views")
    assert views.state == "assumed"
