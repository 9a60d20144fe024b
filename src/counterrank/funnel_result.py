"""The result of ``funnel``: what each recommender would have sold, and everything that follows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import polars as pl

from counterrank.compare import Plan
from counterrank.conversions import Key, Weighting, conversion_estimator, weighting
from counterrank.diagnostics.diagnosis import Diagnosis, worst
from counterrank.diagnostics.weights import WeightRow
from counterrank.errors import UsageError
from counterrank.estimates import Uncertain
from counterrank.inference import intervals
from counterrank.lifts import Lift, lifts
from counterrank.results.document import as_json, document
from counterrank.results.notebook import Notebook as Result
from counterrank.schema import Input


@dataclass(frozen=True)
class SaleRow:
    """One run's value by one estimator; ``exposure`` is the weight of ranks, DCG@10 or other.

    ``verdict`` is the gravest of its diagnoses.
    """

    system: str
    measure: str
    exposure: str
    reward: str
    value: float
    se: float
    low: float
    high: float
    level: float
    units: int
    verdict: str


@dataclass(frozen=True)
class _Sides:
    measure: str
    exposure: str
    reward: str
    system: str
    baseline: str


@dataclass(frozen=True)
class SaleLift(Lift, _Sides):
    """``system`` minus ``baseline``, by one estimator and exposure."""


@dataclass(frozen=True, eq=False, repr=False)
class FunnelEstimation(Result):
    """Estimates by system, exposure, estimator and reward."""

    systems: tuple[str, ...]
    exposures: tuple[Weighting, ...]
    rewards: tuple[str, ...]
    found: dict[Key, Uncertain]
    diagnoses: list[Diagnosis]
    plan: Plan
    protocol: dict[str, Any]
    inputs: tuple[Input, ...]
    weights: list[WeightRow]

    def __repr__(self) -> str:
        wide = max(len(row.system) for row in self.estimates)
        lines = [
            f"{r.reward:<10} {r.exposure:<8} {r.measure:<8} {r.system:<{wide}} {r.value:10.5f}"
            f"   {r.level:.0%} {r.low:.5f} .. {r.high:.5f}   {r.verdict}"
            for r in self.estimates
        ]
        lines += [f"{d.verdict}: {d.name}, {d.subject}: {d.meaning}" for d in self.loud]
        return "\n".join(lines)

    @property
    def loud(self) -> list[Diagnosis]:
        """Diagnoses that do not pass."""
        return [d for d in self.diagnoses if d.verdict != "pass"]

    @property
    def verdict(self) -> str:
        """The gravest verdict of all diagnoses."""
        return worst(self.diagnoses)

    def verdict_of(self, system: str, label: str = "") -> str:
        """The gravest verdict about a run, and about the funnel as a whole."""
        about = {system, "funnel"} | ({f"{system}, {label}"} if label else set())
        return worst(d for d in self.diagnoses if d.subject in about)

    def estimate(
        self, system: str, label: str, exposure: str | Weighting = "", reward: str = ""
    ) -> Uncertain:
        """One estimate: subtract two of them for a paired difference, divide for a lift."""
        worth = str(weighting(exposure)) if exposure else str(self.exposures[0])
        key = (system, worth, str(conversion_estimator(label)), reward or self.rewards[0])
        if key not in self.found:
            raise UsageError(
                f"There is no estimate {' / '.join(key)}.",
                todo=f"Systems are {', '.join(self.systems)}; exposures are"
                f" {', '.join(map(str, self.exposures))}.",
            )
        return self.found[key]

    @cached_property
    def estimates(self) -> list[SaleRow]:
        """Every value with its interval."""
        plan = self.plan
        ends = intervals(
            list(self.found.values()),
            level=plan.level,
            method=plan.interval,
            seed=plan.seed,
            draws=plan.resamples,
        )
        return [
            SaleRow(
                system=system,
                measure=label,
                exposure=worth,
                reward=reward,
                value=e.value,
                se=e.se,
                low=float(low),
                high=float(high),
                level=plan.level,
                units=e.n,
                verdict=self.verdict_of(system, label),
            )
            for ((system, worth, label, reward), e), (low, high) in zip(
                self.found.items(), ends, strict=True
            )
        ]

    @cached_property
    def comparisons(self) -> list[SaleLift]:
        """Each run against the baseline, paired by user."""
        plan, base = self.plan, self.plan.baseline
        assert base is not None
        mine = {
            (worth, label, reward, system): (e, self.found[base, worth, label, reward])
            for (system, worth, label, reward), e in self.found.items()
            if system != base and plan.test != "none"
        }
        return [
            SaleLift(
                measure=label,
                exposure=worth,
                reward=reward,
                system=system,
                baseline=base,
                **vars(lift),
            )
            for (worth, label, reward, system), lift in zip(
                mine, lifts(list(mine.values()), plan), strict=True
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain values, in the shape every verb shares."""
        return document(
            "funnel",
            self.protocol,
            self.inputs,
            estimates=self.estimates,
            comparisons=self.comparisons,
            diagnoses=self.diagnoses,
            further={"weights": [asdict(row) for row in self.weights]},
        )

    def to_json(self) -> str:
        """The whole result as one JSON document."""
        return as_json(self.to_dict())

    def to_frame(self) -> pl.DataFrame:
        """The estimates as a Polars frame."""
        return pl.DataFrame([asdict(row) for row in self.estimates])

    def by_unit(self) -> pl.DataFrame:
        """Per-user contributions, whose mean is the value."""
        return pl.concat(
            pl.DataFrame({"unit": e.units, "value": e.value + e.influence}).select(
                "unit",
                pl.lit(system).alias("system"),
                pl.lit(label).alias("measure"),
                pl.lit(worth).alias("exposure"),
                pl.lit(reward).alias("reward"),
                "value",
            )
            for (system, worth, label, reward), e in self.found.items()
        )
