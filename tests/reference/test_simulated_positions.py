"""The simulated platform: what is learnt is what was built in, and what breaks it is said."""

from __future__ import annotations

import numpy as np
import pytest

import counterrank as cr
from counterrank.position import exposure
from counterrank.simulate import World, platform

RANKS = np.arange(1, 11)
METHODS = ("views", "depth", "harvest", "em")


def learnt(label, method, sessions=20_000, **options):
    log = platform(World(examination=label, seed=3), sessions=sessions, seed=1).log
    return cr.exposure(log, method=method, reward="click", context=["context"], **options)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("label", ["power(eta=1)", "geometric(p=0.7)"])
def test_the_curve_of_the_platform_is_found(label, method):
    """Nine ranks of eight results, one seed: at 99.99 % any miss is one in a hundred."""
    frame = learnt(label, method, level=0.9999).to_frame()
    truth = exposure(label).at(RANKS)
    assert np.all((frame["low"].to_numpy() <= truth) & (truth <= frame["high"].to_numpy()))


@pytest.mark.parametrize("method", METHODS)
def test_a_cascade_is_noticed_by_every_method(method):
    verdict = {d.name: d.state for d in learnt("cascade", method, 5000).diagnostics}
    assert verdict["click above"] == "fail"
    verdict = {d.name: d.state for d in learnt("log2", method, 5000).diagnostics}
    assert verdict["click above"] == "pass"


def test_a_saved_model_serves_an_estimate(tmp_path):
    """From log to curve to value, with the platform's own truth inside the interval."""
    sample = platform(World(examination="power(eta=1)", seed=3), sessions=20_000, seed=2)
    log = sample.log.drop("viewed", "exposure", strict=False)
    path = tmp_path / "pbm.json"
    path.write_text(cr.exposure(log, method="harvest", reward="click",
                                      context=["context"], model="power").to_json())  # fmt: skip
    found = cr.estimate(
        log, {"near": sample.runs["near"]}, estimator=["IPS"], reward=["click"],
        position_bias=path, level=0.999,
    )  # fmt: skip
    row = next(e for e in found.estimates if e.system == "near")
    assert row.low <= sample.truth["near"]["click"].value <= row.high
