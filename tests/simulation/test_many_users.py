"""Many users drawn by group: their bootstrap covers as one that draws every user."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from counterrank.stats.draws import BITS, MANY
from counterrank.stats.functions_of_means import mean, ratio
from counterrank.stats.inference import interval
from making import estimates
from one_slot_shop import FULL, tolerance

USERS, DRAWS = 30_000, 500
WAYS = {"bootstrap by group": MANY, "bootstrap by user": sys.maxsize}


def revenue(rng):
    """Log-normal revenue of two rankers, and the clusters, function and truth of both."""
    common = rng.standard_normal(USERS)
    own = [np.exp(0.8 * common + 0.6 * rng.standard_normal(USERS)) for _ in range(2)]
    return own, None, mean, np.exp(0.5)


def weighted(rng):
    """Rewards under weights, as SNIPS has them."""
    reward = rng.random(USERS) < 0.2
    weights = [rng.gamma(0.5, 2.0, USERS) for _ in range(2)]
    return [(w * reward, w) for w in weights], None, ratio, 0.2


def sessions(rng):
    """Sessions of users who differ, 1 to 15 each with many of few."""
    user = np.repeat(np.arange(USERS), np.minimum(rng.geometric(0.3, USERS), 15))
    rate = rng.beta(1.0, 4.0, USERS)[user]
    return [(rng.random(len(user)) < rate).astype(float) for _ in range(2)], user, mean, 0.2


WORLDS = {
    "log-normal revenue, sigma 1": revenue,
    "weights of gamma 0.5": weighted,
    "users of 1 to 15 sessions": sessions,
}


def ends(world, seed: int, draws: int):
    """By each way, of the first ranker's value and of its lift: interval, error and truth."""
    own, clusters, function, truth = world(np.random.default_rng(seed))
    found = []
    for many in WAYS.values():
        a, b = estimates(
            *own, function=function, clusters=clusters, resamples=draws, seed=seed, many=many
        )
        each = [
            (*interval(e, level=0.95, method="bootstrap", resamples=e.resamples), e.se, right)
            for e, right in ((a, truth), (a / b, 1.0))
        ]
        found.append(each)
    return found


def rows(full: bool) -> list[dict]:
    """Worlds of more users than are drawn one by one, drawn both ways."""
    count, found = 1000 if full else 25, []
    for name, world in WORLDS.items():
        both = [ends(world, seed, DRAWS) for seed in range(count)]
        for way, each in zip(WAYS, zip(*both, strict=True), strict=True):
            inside = np.mean([[x[0] <= x[3] <= x[1] for x in own] for own in each], axis=0)
            width = np.array([own[0][1] - own[0][0] for own in each])
            found.append(
                {
                    "condition": f"{USERS:,} users, {name}", "estimator": way,
                    "coverage_value": inside[0], "coverage_lift": inside[1],
                    "replications": count, "width": width,
                }
            )  # fmt: skip
    return found


@pytest.fixture(scope="module")
def table() -> list[dict]:
    return rows(FULL)


def test_users_drawn_by_group_are_covered(table):
    for row in table:
        for name in ("coverage_value", "coverage_lift"):
            off = tolerance(0.95, row["replications"])
            assert row[name] == pytest.approx(0.95, abs=off), row


def test_intervals_by_group_are_as_wide_as_those_by_user(table):
    for group, user in zip(table[::2], table[1::2], strict=True):
        off = group["width"] / user["width"] - 1
        assert abs(off.mean()) <= 4 * off.std() / np.sqrt(len(off))
        assert off.std() <= 0.08  # of both ends of 500 draws it is 0.06


def test_ends_by_group_are_those_by_user_within_their_monte_carlo_error():
    """Of 10,000 draws an end is off by 0.027 se, twice; a variance by groups by a share."""
    once = np.sqrt(0.025 * 0.975 / 10_000) / 0.0584
    off = np.sqrt(2 * once**2 + (1.96 * np.sqrt(0.5 / (1 << BITS))) ** 2)
    for world in WORLDS.values():
        for group, user in zip(*ends(world, 7, 10_000), strict=True):
            assert group[:2] != user[:2]
            assert np.array(group[:2]) == pytest.approx(user[:2], abs=4 * off * user[2])
