r"""Simulated weeks: A/B tests on two feeds whose truth is known (Jeunen et al. 2024, Sec. 6).

In half of the contexts users scroll far, in the other half not, and the traffic between them moves
from day to day. The first-level feed has a scroll model (beta-geometric) and a click may end the
session, as it opens the second-level feed; that one has an exponential model. Curves are learned
from the control's log. Likes are explicit rewards, clicks implicit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np
import polars as pl

from counterrank.api.assess_online import assess_online
from counterrank.api.estimate import estimate
from counterrank.api.exposure import exposure
from counterrank.assess.online import Cases, online_row, pool_rewards
from counterrank.core.arrays import Floats
from counterrank.ope.estimators import estimator
from counterrank.ope.request import LIVE, LOGGED
from counterrank.simulate import World, platform
from counterrank.stats.correlation import pearson

SLOTS = 30
CONTROL = "control"
REWARDS = {"like": "explicit", "click": "implicit"}
SIGNALS = ("like", "click", "dwell", "conversion")  # of Fig. 1
CLIPS = (*(2.0**j for j in range(10)), 2048.0, 4096.0, float("inf"))
DCGS = {
    "log, C": "DCG",
    "log, Q": "DCG(label=debiased,clip={clip})",
    "pbm, C": "DCG(discount=learnt)",
    "pbm, Q": "DCG(discount=learnt,label=debiased,clip={clip})",
}
NDCG = "nDCG(discount=learnt,label=debiased,clip={clip})"
VARIANTS = {**DCGS, "nDCG": NDCG}
BEST, PLAIN, EARNED = "pbm, Q", "log, C", "nDCG, sessions with a reward"


@dataclass(frozen=True)
class Feed:
    """A feed: its days, how far users read in each half of the contexts, and its clip.

    ``model`` is the family that is fitted to the curve, ``cascading`` how often a click ends the
    session. ``printed`` is r of the five variants by reward and ranker, ``tails`` its p. ``arm`` is
    the ranker that is tried out.
    """

    name: str
    days: int
    examination: tuple[str, ...]
    model: Literal["geometric", "beta_geometric"]
    clip: float
    cascading: float
    printed: Mapping[tuple[str, str], Sequence[str]]
    tails: Mapping[tuple[str, str], Sequence[str]]
    arm: str = "near"


ROWS = tuple(product(("explicit", "implicit"), ("R_0", "R_t")))
FIRST = Feed(
    "1st-level", 6, ("beta_geometric(a=8,b=1)", "beta_geometric(a=1.5,b=1.5)"), "beta_geometric",
    float("inf"), 0.3,
    dict(zip(ROWS, (("0.97", "0.96", "0.97", "0.98", "-0.91"),
                    ("0.86", "0.86", "0.87", "0.91", "-0.80"),
                    ("0.57", "0.70", "0.57", "0.70", "-0.80"),
                    ("0.05", "0.17", "0.05", "0.17", "-0.32")), strict=True)),
    dict(zip(ROWS, (("<0.01", "<0.01", "<0.01", "<0.01", "0.01"),
                    ("0.03", "0.03", "0.03", "0.01", "0.06"),
                    ("0.24", "0.12", "0.24", "0.12", "0.06"),
                    ("0.92", "0.73", "0.92", "0.75", "0.55")), strict=True)),
)  # fmt: skip
SECOND = Feed(
    "2nd-level", 5, ("geometric(p=0.85)", "geometric(p=0.5)"), "geometric", 200.0, 0.0,
    dict(zip(ROWS, (("0.75", "0.71", "0.77", "0.79", "-0.42"),
                    ("0.28", "0.25", "0.38", "0.49", "-0.34"),
                    ("0.10", "0.58", "0.48", "0.85", "-0.93"),
                    ("0.55", "0.88", "0.70", "0.88", "-0.77")), strict=True)),
    dict(zip(ROWS, (("0.14", "0.18", "0.13", "0.11", "0.48"),
                    ("0.65", "0.68", "0.53", "0.40", "0.57"),
                    ("0.88", "0.30", "0.41", "0.07", "0.02"),
                    ("0.34", "0.05", "0.19", "0.05", "0.13")), strict=True)),
)  # fmt: skip
FEEDS = (FIRST, SECOND)
STRONG = replace(SECOND, arm="ideal")  # Fig. 1: improvements that are beyond doubt
TRIED = {  # what is changed, to see what it explains
    "as above": (FIRST, SECOND),
    "users of all contexts read alike": (
        replace(FIRST, examination=("beta_geometric(a=2.5,b=1)",)),
        replace(SECOND, examination=("geometric(p=0.7)",)),
    ),
    "clicks do not end sessions": (replace(FIRST, cascading=0.0),),
    "every click ends the session": (replace(FIRST, cascading=1.0),),
}


@dataclass(frozen=True)
class Week:
    """A log of viewed rows with days and arms, what the arm would have shown, the learned curve."""

    log: pl.DataFrame
    run: pl.DataFrame
    curve: Any
    arm: str

    @classmethod
    def simulated(cls, feed: Feed, seed: int, sessions: int) -> Week:
        """One week of a feed; ``seed`` draws the platform and its users."""
        world = World(
            days=feed.days, arms={feed.arm: 0.5}, examination=feed.examination, slots=SLOTS,
            candidates=SLOTS + 10, cascading=feed.cascading, traffic=1.0, seed=seed,
        )  # fmt: skip
        sample = platform(world, sessions=sessions, seed=seed, runs=[feed.arm], views="viewed_only")
        log = sample.log.drop("exposure")  # which no platform knows
        own = log.filter(pl.col("arm") == CONTROL)
        curve = exposure(own, method="depth", model=feed.model, length=SLOTS)
        return cls(log, sample.runs[feed.arm], curve.notes["model"], feed.arm)

    @property
    def rankers(self) -> dict[str, str]:
        """The paper's names of the arms."""
        return {CONTROL: "R_0", self.arm: "R_t"}

    def assessed(self, rewards: Sequence[str], labels: Sequence[str], **more: Any) -> Any:
        """What ``assess online`` says of it."""
        return assess_online(
            self.log, {self.arm: self.run}, reward=rewards, position_bias=self.curve,
            estimator=labels, control=CONTROL, views="rows", **more,
        )  # fmt: skip

    def where_earned(self, cases: Sequence[Any], reward: str) -> dict[str, tuple[Floats, Floats]]:
        """By ranker and day, a measure over the control's sessions that earned something, and what
        was earned: other sessions count 0, so the first is the mean over all by their share."""
        own = self.log.filter(pl.col("arm") == CONTROL).group_by("day", "session").agg(
            some=pl.col(reward).sum() > 0
        )  # fmt: skip
        share = own.group_by("day").agg(pl.col("some").mean()).sort("day")["some"].to_numpy()
        offline, online, effect, online_effect = np.array(
            [(x.offline, x.online, x.effect, x.online_effect) for x in cases]
        ).T
        return {self.arm: (offline / share, online),
                CONTROL: ((offline - effect) / share, online - online_effect)}  # fmt: skip

    def own_logs(self, rewards: Sequence[str], labels: Sequence[str]) -> list[Cases]:
        """Cases in which each ranker is measured on its own log, where its lists were shown."""
        days = sorted(self.log["day"].unique())
        shape = (2, len(days), len(rewards), len(labels) + 1, 2)
        found = np.zeros(shape)  # value and standard error; what was earned comes last
        for (a, arm), (d, day) in product(enumerate(self.rankers), enumerate(days)):
            log = self.log.filter(pl.col("arm") == arm, pl.col("day") == day).drop("arm")
            result = estimate(
                log, {"shown": log.select("session", "item", "rank")}, reward=rewards,
                estimator=labels, position_bias=self.curve, views="rows", test="none",
            )  # fmt: skip
            for r, reward in enumerate(rewards):
                each = [("shown", label) for label in labels] + [(LOGGED, LIVE)]
                values = (result.estimate(*who, reward) for who in each)
                found[a, d, r] = [(x.value, x.se) for x in values]
        gap, se = found[1, ..., 0] - found[0, ..., 0], np.hypot(found[0, ..., 1], found[1, ..., 1])
        when, who = tuple(map(str, days)), (self.arm,) * len(days)
        return [
            Cases(label, reward, when, who, found[1, :, r, k, 0], found[1, :, r, -1, 0],
                  gap[:, r, k], se[:, r, k], gap[:, r, -1], se[:, r, -1], series=True)
            for r, reward in enumerate(rewards)
            for k, label in enumerate(labels)
        ]  # fmt: skip


def week_correlations(feed: Feed, seed: int, sessions: int) -> list[list[Any]]:
    """Pearson's r over days of every variant with what was earned: reward, ranker, variant, r."""
    week = Week.simulated(feed, seed, sessions)
    labels = {name: str(estimator(x.format(clip=feed.clip))) for name, x in VARIANTS.items()}
    named = {label: name for name, label in labels.items()}
    found = week.assessed(list(REWARDS), list(labels.values()))
    rows = [[REWARDS[r.reward], week.rankers[r.system], named[r.measure], r.value]
            for r in found.tables["systems"]]  # fmt: skip
    for reward, kind in REWARDS.items():
        cases = [x for x in found.tables["cases"]
                 if (x.measure, x.reward) == (labels["nDCG"], reward)]  # fmt: skip
        rows += [[kind, week.rankers[ranker], EARNED, pearson(*pair)]
                 for ranker, pair in week.where_earned(cases, reward).items()]  # fmt: skip
    return rows


def week_calls(seed: int, sessions: int, own: str = "no") -> list[list[Any]]:
    """Fig. 1 of one week: measure, clip, share called, same sign, mean p, effects that are real.

    With ``own`` each ranker is measured on its own log, otherwise both on the control's.
    """
    labels = {
        str(estimator(label.format(clip=clip))): (name, clip)
        for name, label in (("DCG", DCGS[BEST]), ("nDCG", NDCG))
        for clip in CLIPS
    }
    week = Week.simulated(STRONG, seed, sessions)
    if own == "yes":
        cases = pool_rewards(week.own_logs(SIGNALS, list(labels)))
        rows = [online_row(case, 0.99, "online") for case in cases]
    else:
        found = week.assessed(list(SIGNALS), list(labels), level=0.99, truth="online")
        rows = [row for row in found.tables["correlations"] if row.reward == "all"]
    return [[*labels[r.measure], r.sensitivity, r.sign_agreement, r.mean_p, r.effects]
            for r in rows if r.effects]  # fmt: skip
