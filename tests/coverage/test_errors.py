"""Bias and variance on platforms whose truth is known: which estimator errs least, and which clip.

The full table is made by ``studies/estimator_errors.py``; here are its claims, on fewer logs.
"""

from __future__ import annotations

import numpy as np
import pytest

import counterrank as cr
from counterrank.simulate import World, platform
from sizes import replications as replicated

TARGETS = ("near", "far", "random", "ideal")


def squared_errors(world, sessions, replications, **options):
    """Squared relative errors by target and label, one for each log."""
    truth = world.truth()
    found = {}
    for seed in range(replications):
        sample = platform(world, sessions=sessions, seed=seed, runs=list(TARGETS))
        result = cr.estimate(
            sample.log,
            sample.runs,
            reward="click",
            position_bias=f"{world.examination}@10",
            context="context",
            test="none",
            bounds="none",
            **options,
        )
        values = {(r.system, r.estimator): r.value for r in result.estimates}
        values |= {(r.system, f"{r.estimator} {r.clip:g}"): r.value for r in result.tables["sweep"]}
        for name in TARGETS if result.tables["sweep"] else ():
            choice = next(c for c in result.tables["choices"] if c.system == name)
            values[name, "chosen"] = choice.value
        for key, value in values.items():
            off = value / truth[key[0]]["click"].value - 1
            found.setdefault(key, []).append(off**2)
    return {key: np.array(errors) for key, errors in found.items()}


SIZES = [
    (250, replicated(300, by_day=100)),
    (1000, replicated(200, by_day=60)),
    (4000, replicated(100, by_day=20)),
]


@pytest.mark.parametrize(("sessions", "replications"), SIZES)
def test_doubly_robust_beats_importance_weights_at_every_size(sessions, replications):
    errors = squared_errors(World(), sessions, replications, estimator=["IPS", "DR"])
    for name in TARGETS:
        less = errors[name, "IPS"] - errors[name, "DR"]  # paired: the same logs
        assert less.mean() > 0, name
    pooled = sum(errors[name, "IPS"] - errors[name, "DR"] for name in TARGETS)
    assert pooled.mean() > 2 * pooled.std(ddof=1) / np.sqrt(replications)


def test_the_chosen_clip_is_nearly_as_good_as_the_best_fixed_one():
    """Readers who leave early make the tenth rank 500 times less seen than the first."""
    ratios = []
    world, count = World(examination="geometric(p=0.5)"), replicated(60, by_day=24)
    for sessions in (250, 1000, 4000):
        errors = squared_errors(world, sessions, count, estimator=["IPS"], sweep="clip")
        for name in TARGETS:
            fixed = [e.mean() for (n, label), e in errors.items() if n == name and "IPS " in label]
            ratios.append(np.sqrt(errors[name, "chosen"].mean() / min(fixed)))
    assert np.mean(ratios) <= 1.2
    plain = np.sqrt(errors["random", "IPS"].mean())
    assert np.sqrt(errors["random", "chosen"].mean()) < plain  # clipping did help
