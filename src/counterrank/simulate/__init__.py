"""Worlds whose truth is known."""

from counterrank.simulate.examination import Cascade, DependentClicks
from counterrank.simulate.judged import JudgedWorld, judged_world
from counterrank.simulate.latent import REWARDS
from counterrank.simulate.paradox import ParadoxWorld, paradox_world
from counterrank.simulate.rankers import RANKERS
from counterrank.simulate.sample import Plan, Sample, platform
from counterrank.simulate.truth import Known
from counterrank.simulate.world import World

__all__ = [
    "RANKERS", "REWARDS", "Cascade", "DependentClicks", "JudgedWorld", "Known", "ParadoxWorld",
    "Plan", "Sample", "World", "judged_world", "paradox_world", "platform",
]  # fmt: skip
