"""Worlds whose truth is known."""

from counterrank.simulate.behaviour import Cascade, DependentClicks
from counterrank.simulate.judged_worlds import (
    JudgedWorld,
    ParadoxWorld,
    judged_world,
    paradox_world,
)
from counterrank.simulate.latent import REWARDS
from counterrank.simulate.rankers import RANKERS, SPECIALISTS
from counterrank.simulate.sample import Sample, SamplePlan, platform
from counterrank.simulate.shop import FunnelSample, FunnelWorld, funnel_world
from counterrank.simulate.truth import Known
from counterrank.simulate.world import World

__all__ = [
    "RANKERS", "REWARDS", "SPECIALISTS", "Cascade", "DependentClicks", "FunnelSample",
    "FunnelWorld", "JudgedWorld", "Known", "ParadoxWorld", "SamplePlan", "Sample", "World",
    "funnel_world", "judged_world", "paradox_world", "platform",
]  # fmt: skip
