"""The demonstration: rankers of a simulated feed estimated from its log, then the truth beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from counterrank.api.estimate import estimate
from counterrank.core.parallel import Progress, quiet
from counterrank.data.runs import Runs
from counterrank.position.models import PositionBias
from counterrank.results.result import Result
from counterrank.simulate import World

REWARD = "dwell"  # seconds watched
LEADING, USUAL = "DR", "nDCG"  # what a decision should read, and what is often read
ESTIMATORS = ("DR", "SNIPS", "IPS", USUAL)
CANDIDATES = ("far", "random", "short_form", "long_form")


def feed() -> World:
    """A short-video feed where a quarter of the contexts is for long videos.

    ``short_form`` is right in most sessions, ``long_form`` where most of the time is watched.
    """
    return World(examination="geometric(p=0.8)", user_contexts="any", length_spread=1.0, seed=5)


def estimate_feed(
    log: object, runs: Runs, position_bias: PositionBias | str, *, progress: Progress = quiet
) -> Result:
    """What the candidates would have earned. Only the log and the runs are looked at."""
    return estimate(
        log,
        runs,
        reward=REWARD,
        position_bias=position_bias,
        context="context",
        estimator=ESTIMATORS,
        progress=progress,
    )


def best_by(result: Result, label: str) -> str:
    """The candidate that looks best by an estimator."""
    rows = [r for r in result.estimates if r.estimator == label]
    return str(max(rows, key=lambda r: r.value).system)


@dataclass(frozen=True)
class TruthRow:
    """An estimate with its interval beside the truth; ``inside`` is yes or no."""

    system: str
    estimator: str
    measure: str
    estimate: float
    low: float
    high: float
    truth: float
    inside: str


def reveal(found: Result, truth: Mapping[str, float]) -> Result:
    """The estimates and, for each system, the truth that they did not know.

    ``truth`` has their rows, ``revealed`` says who would have picked what; ``loss`` is the share
    of the reward that is lost if nDCG's choice goes live instead of DR's.
    """
    rows = [
        TruthRow(
            r.system, r.estimator, r.measure, r.value, r.low, r.high, truth[r.system],
            "yes" if r.low <= truth[r.system] <= r.high else "no",
        )
        for r in found.estimates
        if r.estimator not in found.protocol["scales"]
    ]  # fmt: skip
    usual, ours = best_by(found, USUAL), best_by(found, LEADING)
    loss = 1 - truth[usual] / truth[ours]
    told = (
        f"By {USUAL} you would have picked {usual}: {abs(loss):.0%}"
        f" {'less' if loss > 0 else 'more'} watch time than {ours}, which {LEADING} picks."
    )
    if usual == ours:
        told = f"{USUAL} and {LEADING} pick the same ranker, {ours}."
    return replace(
        found,
        tables={**found.tables, "truth": rows, "revealed": told},
        notes={**found.notes, "loss": loss},
    )
