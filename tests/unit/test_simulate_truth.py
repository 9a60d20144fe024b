"""The truth of small worlds, once more in plain Python."""

from __future__ import annotations

from itertools import permutations, product
from math import exp, sqrt

import numpy as np
import pytest

from counterrank.core.errors import UsageError
from counterrank.simulate import RANKERS, World
from counterrank.simulate.behaviour import FACTOR_CHANCE

SMALL = {"contexts": 2, "items": 9, "sets": 2, "candidates": 4, "slots": 3, "seed": 5}
WORLDS = {
    "position": {},
    "power": {"examination": "power(eta=1)"},
    "table that rises": {"examination": "table(0.5,0.9,0.1)"},
    "by context": {"examination": ("geometric(p=0.6)", "table(0.9,0.5,0.2)")},
    "days": {"days": 3, "drift": 0.9, "traffic": 1.0},
    "trust": {"trust": 0.7},
    "carry over": {"carry_over": 0.8},
    "interaction": {"interaction": 0.9},
    "missing support": {"missing_support": 0.6},
    "cascading": {"cascading": 0.6},
    "cascade": {"examination": "cascade"},
    "dependent clicks": {"examination": "dependent_clicks(0.7,0.2)"},
    "plackett luce": {"ranker": "plackett_luce", "temperature": 0.5, "missing_support": 0.5},
    "everything": {
        "days": 2, "drift": 0.5, "cascading": 0.5, "trust": 0.5, "interaction": 0.5,
        "carry_over": 0.5, "missing_support": 0.5, "ranker": "plackett_luce",
    },
}  # fmt: skip


def lists(ranker, x, s):
    """All lists of places a ranker may show, with their chances."""
    score, n = ranker.score[x, s], ranker.slots
    can = [k for k in range(len(score)) if score[k] > -np.inf]
    if not ranker.stochastic:
        return [(sorted(can, key=lambda k: -score[k])[:n], 1.0)]
    rate = {k: exp(score[k] / ranker.temperature) for k in can}
    out = []
    for order in permutations(can, n):
        chance, left = 1.0, sum(rate.values())
        for k in order:
            chance *= rate[k] / left
            left -= rate[k]
        out.append((list(order), chance))
    return out


def clicks(world, d, x, items, appetite):
    """Expected clicks of a list: every user, and every way the session can go."""
    total = 0.0
    hidden = world.latent
    patience, leaving = world.reading.patience[x], world.reading.leaving
    for factor, share in zip(world.users.factors, FACTOR_CHANCE, strict=True):
        there = 1.0  # chance that no click has ended the session
        for r, a in enumerate(items):
            p = hidden.click[d, x, a] * factor * appetite
            p *= 1 - world.trust * (1 - 1 / sqrt(r + 1))
            if r and hidden.category[a] == hidden.category[items[r - 1]]:
                p *= 1 - world.interaction
            total += share * there * patience[r] * p
            there *= 1 - leaving[r] * p
    return total


def by_loops(world, name):
    hidden, ranker = world.latent, world.rankers[name]
    value = 0.0
    for x in range(world.contexts):
        shown = []
        for s in range(world.sets):
            for places, chance in lists(ranker, x, s):
                items = [hidden.sets[x, s, k] for k in places]
                quality = [hidden.quality[x, a] for a in items]
                patience = world.reading.patience[x]
                rich = sum(c * q for c, q in zip(patience, quality, strict=True))
                rich /= sum(patience) * max(hidden.quality[x])
                shown.append((items, ranker.chance[x, s] * chance, rich))
        before = shown if world.carry_over else [(None, 1.0, 0.0)]
        for (items, chance, _), (_, earlier, rich) in product(shown, before):
            for d in range(world.days):
                weight = hidden.busy[d] * hidden.shares[d, x] * chance * earlier
                value += weight * clicks(world, d, x, items, 1 - world.carry_over * rich)
    return value


@pytest.mark.parametrize("options", WORLDS.values(), ids=WORLDS)
def test_truth_is_the_sum_over_everything_that_can_happen(options):
    world = World(**SMALL, **options)
    truth = world.truth()
    assert list(truth) == list(RANKERS)
    for name in ("logged", "random", "stochastic", "two_stage"):
        known = truth[name]["click"]
        error = 1e-10 + 4 * known.se
        assert known.value == pytest.approx(by_loops(world, name), abs=error)
        assert known.per_impression == pytest.approx(known.value / world.slots)
        assert (known.se == 0) == known.exact
    only_sampled = world.reading.leaves or world.interaction
    assert truth["stochastic"]["click"].exact == (not only_sampled)
    assert truth["far"]["click"].exact


def test_truth_by_day_adds_up():
    world = World(days=4, drift=0.8, cascading=0.4)
    days = [world.truth(day=d) for d in range(4)]
    for name, rewards in world.truth().items():
        for reward, known in rewards.items():
            values = [day[name][reward].value for day in days]
            assert world.latent.busy @ values == pytest.approx(known.value)
            assert len(set(values)) == 4
            assert (days[1][name][reward].se > 0) == (name == "stochastic")
    with pytest.raises(UsageError, match="days are 0 to 3"):
        world.truth(day=4)


def test_no_drift_and_no_traffic_make_all_days_alike():
    world = World(days=3, drift=0, traffic=0)
    assert world.truth(day=0) == world.truth(day=2)
    assert World(days=3, drift=0.5, traffic=0).truth(day=0) == world.truth(day=0)


def test_value_per_view_is_the_ratio_of_expectations():
    world = World(examination="power(eta=1)")
    views = float(np.sum(1 / np.arange(1, 11)))
    for rewards in world.truth().values():
        for known in rewards.values():
            assert known.per_view == pytest.approx(known.value / views)


def test_better_rankers_are_worth_more():
    value = {name: rewards["click"].value for name, rewards in World().truth().items()}
    assert value["random"] < value["logged"] < value["near"] < value["ideal"]
    assert max(value, key=value.get) == "ideal"


def test_probabilities_stay_below_one():
    world = World(days=30, drift=1, user_spread=1)
    assert world.latent.click.max() * world.users.factors.max() < 1
    assert world.latent.like.max() * world.users.factors.max() < 1
