"""The demonstration: rankers of a simulated feed estimated from its log, then the truth beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import polars as pl

from counterrank.api.estimate import estimate
from counterrank.core.progress import Progress, quiet
from counterrank.data.runs import Runs
from counterrank.documents.document import as_json
from counterrank.position.model_file import PositionModel
from counterrank.results.notebook import Notebook
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


def estimated(
    log: object, runs: Runs, position_bias: PositionModel | str, *, progress: Progress = quiet
) -> Result:
    """What the candidates would have earned. Only the log and the runs are looked at."""
    return estimate(
        log,
        runs,
        rewards=REWARD,
        position_bias=position_bias,
        contexts="context",
        estimators=ESTIMATORS,
        progress=progress,
    )


def picked(result: Result, label: str) -> str:
    """The candidate that looks best by an estimator."""
    rows = [r for r in result.estimates if r.estimator == label]
    return str(max(rows, key=lambda r: r.value).system)


@dataclass(frozen=True)
class TruthRow:
    """An estimate with its interval beside the truth; ``inside`` is yes or no."""

    system: str
    measure: str
    reward: str
    estimate: float
    low: float
    high: float
    truth: float
    inside: str


@dataclass(frozen=True, eq=False)
class Revealed(Notebook):
    """An estimation and, for each system, the truth that it did not know."""

    estimation: Result
    truth: Mapping[str, float]

    @cached_property
    def rows(self) -> list[TruthRow]:
        """Every estimate of the reward beside the truth."""
        return [
            TruthRow(
                system=r.system,
                measure=r.estimator,
                reward=r.measure,
                estimate=r.value,
                low=r.low,
                high=r.high,
                truth=self.truth[r.system],
                inside="yes" if r.low <= self.truth[r.system] <= r.high else "no",
            )
            for r in self.estimation.estimates
            if r.estimator != USUAL
        ]

    @property
    def loss(self) -> float:
        """The share of the reward that is lost if nDCG's choice is shipped instead of DR's."""
        usual, ours = picked(self.estimation, USUAL), picked(self.estimation, LEADING)
        return 1 - self.truth[usual] / self.truth[ours]

    def sentence(self) -> str:
        """Who would have shipped what, and what it would have cost."""
        usual, ours = picked(self.estimation, USUAL), picked(self.estimation, LEADING)
        if usual == ours:
            return f"{USUAL} and {LEADING} pick the same ranker, {ours}."
        less = "less" if self.loss > 0 else "more"
        return (
            f"By {USUAL} you would have shipped {usual}: {abs(self.loss):.0%} {less} watch time"
            f" than {ours}, which {LEADING} picks."
        )

    def to_dict(self) -> dict[str, Any]:
        """The estimation's document, and the truth under keys of its own."""
        return {
            **self.estimation.to_dict(),
            "truth": [asdict(row) for row in self.rows],
            "revealed": self.sentence(),
        }

    def to_json(self) -> str:
        """The whole document as text."""
        return as_json(self.to_dict())

    def by_unit(self) -> pl.DataFrame:
        """Per-session contributions."""
        return self.estimation.by_unit()
