"""Table 2 and Figure 1 of Jeunen et al. (2024) in miniature, on simulated weeks."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.simulate import World, platform

VARIANTS = {
    "log, C": "DCG",
    "log, Q": "DCG(label=debiased)",
    "pbm, C": "DCG(discount=learnt)",
    "pbm, Q": "DCG(discount=learnt,label=debiased)",
    "nDCG": "nDCG(discount=learnt,label=debiased)",
}
CLIPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 2048, 4096, float("inf"))


def of_sessions(run, log):
    return run.join(log.select("session").unique(), on="session", how="semi")


@pytest.fixture(scope="module")
def correlations():
    """Pearson's r over days between what an A/B arm earned and each offline variant, by week.

    Every week is another platform: half the users see the new ranker, and the log of the others
    says what it would have earned. The position model is learnt from that log.
    """
    days, weeks = 7, 8
    found = {name: [] for name in VARIANTS}
    for week in range(weeks):
        world = World(examination="power(eta=1)", days=days, drift=1.0, traffic=1.0,
                      arms={"ideal": 0.5}, seed=week)  # fmt: skip
        sample = platform(world, sessions=60_000 * days, seed=week, runs=["ideal"])
        control = sample.log.filter(pl.col("arm") == "control")
        model = cr.exposure(control, method="views").model
        online, offline = [], {name: [] for name in VARIANTS}
        for day in range(days):
            arm = sample.log.filter((pl.col("arm") == "ideal") & (pl.col("day") == day))
            online.append(arm["click"].sum() / arm["session"].n_unique())
            log = control.filter(pl.col("day") == day).drop("exposure")
            result = cr.estimate(
                log,
                {"new": of_sessions(sample.runs["ideal"], log)},
                reward="click",
                position_bias=model,
                estimator=list(VARIANTS.values()),
                test="none",
                bounds="none",
            )
            for name, label in VARIANTS.items():
                offline[name].append(result.estimate("new", label).value)
        for name, values in offline.items():
            found[name].append(np.corrcoef(online, values)[0, 1])
    return {name: np.array(r) for name, r in found.items()}


def test_the_learnt_debiased_dcg_follows_the_online_metric_best(correlations):
    mean = {name: r.mean() for name, r in correlations.items()}
    assert max(mean, key=mean.get) == "pbm, Q"
    assert min(mean, key=mean.get) == "nDCG"
    for other in ("log, C", "pbm, C", "nDCG"):
        gain = correlations["pbm, Q"] - correlations[other]  # paired: the same weeks
        assert gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain)), other


def test_sensitivity_rises_with_the_clip_and_falls_without_one():
    """Share of real improvements found at 99 %: 5 days x 4 rewards on each of several platforms."""
    found = {(kind, m): [] for kind in ("DCG", "nDCG") for m in CLIPS}
    rewards = ("click", "like", "dwell", "conversion")
    least = NormalDist().inv_cdf(0.995)
    for seed in range(6):
        world = World(examination="geometric(p=0.6)", days=5, drift=0.3, slots=20, items=300,
                      seed=seed)  # fmt: skip
        sample = platform(world, sessions=10_000, seed=seed, runs=["logged", "ideal"])
        truth = sample.truth
        assert all(truth["ideal"][r].value > truth["logged"][r].value for r in rewards)
        for day in range(5):
            log = sample.log.filter(pl.col("day") == day).drop("exposure", "viewed")
            runs = {"old": of_sessions(sample.runs["logged"], log),
                    "new": of_sessions(sample.runs["ideal"], log)}  # fmt: skip
            labels = {
                key: f"{key[0]}(discount=learnt,label=debiased,clip={key[1]})" for key in found
            }
            result = cr.estimate(
                log,
                runs,
                reward=rewards,
                position_bias="geometric(p=0.6)@20",
                estimator=list(labels.values()),
                test="none",
                bounds="none",
            )
            for key, label in labels.items():
                for reward in rewards:
                    gain = result.estimate("new", label, reward) - result.estimate(
                        "old", label, reward
                    )
                    found[key].append(gain.value > least * gain.se)
    share = {key: np.mean(hits) for key, hits in found.items()}
    best = max(CLIPS, key=lambda m: share["DCG", m])
    assert 1 < best < float("inf")
    assert share["DCG", best] > share["DCG", 1] + 0.2
    assert share["DCG", best] > share["DCG", float("inf")]
    assert all(share["DCG", m] >= share["nDCG", m] for m in CLIPS)
