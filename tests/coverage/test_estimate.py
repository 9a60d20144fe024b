"""Estimates from logs on platforms whose truth is known: unbiased, and with honest intervals.

Every platform has users with several dependent sessions. Tolerances come from the Monte Carlo error
of the replications.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import counterrank as cr
from counterrank.simulate import World, platform
from sizes import near, replications

REPLICATIONS = replications(1000, by_day=120)
SESSIONS = 1000
UNBIASED = ("IPS", "SNIPS", "DR", "SNDR")
LABELS = (*UNBIASED, "IPS(clip=2)")
PLACES = {
    # name: world, how it is logged, what is estimated
    "views observed": ({}, {}, ("far", "stochastic")),
    "views latent": ({"examination": "power(eta=1)"}, {"views": "latent"}, ("near", "ideal")),
    "viewed rows only": ({}, {"views": "viewed_only"}, ("far", "random")),
    "sampled lists": (
        {"ranker": "plackett_luce"},
        {"stochastic": "draws", "draws": 8},
        ("stochastic",),
    ),
    "two stages": ({"ranker": "plackett_luce"}, {"given": "context"}, ("far", "two_stage")),
}


def rows_of(place: str) -> dict[tuple[str, str], np.ndarray]:
    """Value, low and high of every replication, by ranker and estimator; the truth beside."""
    options, how, rankers = PLACES[place]
    world = World(**options)
    found: dict[tuple[str, str], list] = {}
    for seed in range(REPLICATIONS):
        sample = platform(world, sessions=SESSIONS, seed=seed, runs=list(rankers), **how)
        result = cr.estimate(
            sample.log,
            {name: sample.runs[name] for name in rankers},
            reward="click",
            position_bias=f"{options.get('examination', 'log2')}@10",
            views="rows" if how.get("views") == "viewed_only" else "auto",
            disjoint="zero",
            context="context",
            estimator=LABELS,
            test="none",
            bounds="none",
        )
        for row in result.estimates:
            found.setdefault((row.system, row.estimator), []).append((row.value, row.low, row.high))
    truth = world.truth()
    return {
        key: np.column_stack([np.array(rows), np.full(len(rows), truth[key[0]]["click"].value)])
        for key, rows in found.items()
    }


@pytest.mark.parametrize("place", PLACES)
def test_estimates_are_unbiased_and_their_intervals_cover(place):
    for (ranker, label), rows in rows_of(place).items():
        value, truth = rows[:, 0], rows[0, 3]
        error = value.std(ddof=1) / sqrt(len(value))
        covered = np.mean((rows[:, 1] <= truth) & (truth <= rows[:, 2]))
        right = near(covered, 0.95, len(value), also=0.02)
        if label in UNBIASED:
            assert abs(value.mean() - truth) < 3 * error, (ranker, label, value.mean(), truth)
        else:  # intervals of clipped values reach over all that clipping can have done
            right |= covered > 0.95
        assert right, (ranker, label, covered)


def test_several_loggers_weighed_together_are_unbiased_and_steadier():
    """The balance heuristic, against weighing each row by the ranker that happened to show it."""
    world = World(examination="power(eta=1)", loggers={"logged": 0.6, "random": 0.4})
    truth = world.truth()["ideal"]["click"].value
    together, apart, covered = [], [], []
    for seed in range(replications(300, by_day=100)):
        sample = platform(world, sessions=600, seed=seed, runs=["logged", "random", "ideal"])
        options = {"reward": "click", "position_bias": "power(eta=1)@10"}
        options |= {"test": "none", "bounds": "none"}
        runs = {"ideal": sample.runs["ideal"]}
        lists = {name: sample.runs[name] for name in ("logged", "random")}
        one = cr.estimate(sample.log, runs, estimator=["IPS"], **options)
        all_of_them = cr.estimate(sample.log, runs, logger=lists, estimator=["IPS"], **options)
        apart.append(one.estimate("ideal", "IPS").value)
        together.append(all_of_them.estimate("ideal", "IPS").value)
        low, high = all_of_them.estimate("ideal", "IPS").interval()
        covered.append(low <= truth <= high)
    error = np.std(together, ddof=1) / sqrt(len(together))
    assert abs(np.mean(together) - truth) < 3 * error
    assert abs(np.mean(covered) - 0.95) < 3 * sqrt(0.95 * 0.05 / len(covered))
    assert np.std(together) < np.std(apart)
