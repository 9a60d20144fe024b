"""The result of ``estimate``: what each ranker would have earned, and everything that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from counterrank.arrays import Ints
from counterrank.compare import Plan
from counterrank.diagnostics.diagnosis import Diagnosis, worst
from counterrank.errors import UsageError
from counterrank.estimates import Estimate, Uncertain, not_kept
from counterrank.inference import intervals
from counterrank.lifts import Lift, lifts
from counterrank.logged import (
    LOGGED,
    Choice,
    Estimator,
    Key,
    SweepRow,
    WeightRow,
    choice,
    estimator,
)
from counterrank.results.document import as_json, document
from counterrank.results.notebook import Notebook as Result
from counterrank.schema import Input


@dataclass(frozen=True)
class EstimateRow:
    """One ranker's value by one estimator; ``verdict`` is the gravest of its diagnoses."""

    system: str
    measure: str
    reward: str
    value: float
    se: float
    low: float
    high: float
    level: float
    units: int
    clusters: int
    verdict: str


@dataclass(frozen=True)
class _Sides:
    measure: str
    reward: str
    system: str
    baseline: str


@dataclass(frozen=True)
class LiftRow(Lift, _Sides):
    """``system`` minus ``baseline``, by one estimator of one reward."""


@dataclass(frozen=True, eq=False, repr=False)
class Estimation(Result):
    """Estimates by system, estimator and reward; ``logged`` is the ranker that was live.

    ``kept`` holds the sessions that count for each target, as places in the log; where sessions
    are not kept, ``pairs`` are a target's estimate and the baseline's over the sessions both have.
    """

    systems: tuple[str, ...]
    estimators: tuple[Estimator, ...]
    rewards: tuple[str, ...]
    found: Mapping[Key, Uncertain]
    kept: dict[str, Ints]
    pairs: dict[Key, tuple[Uncertain, Uncertain]]
    diagnoses: list[Diagnosis]
    plan: Plan
    protocol: dict[str, Any]
    inputs: tuple[Input, ...]
    sweep: list[SweepRow]
    weights: list[WeightRow]

    def __repr__(self) -> str:
        wide = max(len(row.system) for row in self.estimates)
        lines = [
            f"{r.reward:<10} {r.measure:<14} {r.system:<{wide}} {r.value:10.5f}"
            f"   {r.level:.0%} {r.low:.5f} .. {r.high:.5f}   {r.verdict}"
            for r in self.estimates
        ]
        lines += [f"{d.verdict}: {d.name}, {d.subject}: {d.meaning}" for d in self.loud]
        return "\n".join(lines)

    @property
    def loud(self) -> list[Diagnosis]:
        """Diagnoses that do not pass."""
        return [d for d in self.diagnoses if d.verdict != "pass"]

    def estimate(self, system: str, label: str | Estimator, reward: str = "") -> Uncertain:
        """One estimate: subtract two of them for a paired difference, divide for a lift."""
        key = (system, str(estimator(label)), reward or self.rewards[0])
        if key not in self.found:
            raise UsageError(
                f"There is no estimate {' / '.join(key)}.",
                todo=f"Systems are {', '.join(self.systems)}; {LOGGED} has OnPolicy.",
            )
        return self.found[key]

    @cached_property
    def estimates(self) -> list[EstimateRow]:
        """Every value with its interval."""
        plan = self.plan
        rows = []
        for (system, label, reward), e in self.found.items():
            low, high = intervals(
                [e], level=plan.level, method=plan.interval, seed=plan.seed, draws=plan.resamples
            )[0]
            rows.append(
                EstimateRow(
                    system=system,
                    measure=label,
                    reward=reward,
                    value=e.value,
                    se=e.se,
                    low=float(low),
                    high=float(high),
                    level=plan.level,
                    units=e.n,
                    clusters=e.clusters,
                    verdict=self.verdict_of(system, label),
                )
            )
        return rows

    def verdict_of(self, system: str, label: str = "") -> str:
        """The gravest verdict about a ranker, and about the log as a whole."""
        about = {system, "log"} | ({f"{system}, {label}"} if label else set())
        if system == LOGGED:
            about = {LOGGED}
        return worst(d for d in self.diagnoses if d.subject in about)

    @property
    def verdict(self) -> str:
        """The gravest verdict of all diagnoses."""
        return worst(self.diagnoses)

    @cached_property
    def comparisons(self) -> list[LiftRow]:
        """Each ranker against the baseline, paired by session and clustered by user."""
        plan, base = self.plan, self.plan.baseline or LOGGED
        sides: list[tuple[Key, Uncertain, Uncertain]] = []
        for (system, label, reward), e in self.found.items():
            if system in (base, LOGGED) or plan.test == "none":
                continue
            key = (base, "OnPolicy" if base == LOGGED else label, reward)
            apart = base == LOGGED and estimator(label).total == "no"
            if key in self.found and label != "OnPolicy" and not apart:
                mine, other = self.pairs.get((system, label, reward)) or self._paired(
                    system, e, base, self.found[key]
                )
                sides.append(((system, label, reward), mine, other))
        found = lifts([(a, b) for _, a, b in sides], plan)
        return [
            LiftRow(measure=label, reward=reward, system=system, baseline=base, **vars(lift))
            for ((system, label, reward), _, _), lift in zip(sides, found, strict=True)
        ]

    @cached_property
    def choices(self) -> list[Choice]:
        """For each ranker and reward, the clip and estimator a sweep speaks for."""
        groups = dict.fromkeys((row.system, row.reward) for row in self.sweep)
        return [choice([r for r in self.sweep if (r.system, r.reward) == g]) for g in groups]

    def _paired(
        self, system: str, e: Uncertain, base: str, other: Uncertain
    ) -> tuple[Uncertain, Uncertain]:
        """Both estimates over the sessions both have."""
        if not (isinstance(e, Estimate) and isinstance(other, Estimate)):
            raise not_kept("sessions in common")
        mine, theirs = self.kept[system], self.kept[base]
        if len(mine) == len(theirs) and np.array_equal(mine, theirs):
            return e, other
        both = np.intersect1d(mine, theirs)
        if len(both) == 0:
            raise UsageError(
                f'"{system}" and "{base}" have no session in common.',
                todo="Give both rankers lists for the same sessions.",
            )
        return e.only(np.searchsorted(mine, both)), other.only(np.searchsorted(theirs, both))

    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain values, in the shape every verb shares."""
        return document(
            "estimate",
            self.protocol,
            self.inputs,
            estimates=self.estimates,
            comparisons=self.comparisons,
            diagnoses=self.diagnoses,
            further={
                "weights": [asdict(row) for row in self.weights],
                "sweep": [asdict(row) for row in self.sweep],
                "choices": [asdict(row) for row in self.choices],
            },
        )

    def to_json(self) -> str:
        """The whole result as one JSON document."""
        return as_json(self.to_dict())

    def to_frame(self) -> pl.DataFrame:
        """The estimates as a Polars frame."""
        return pl.DataFrame([asdict(row) for row in self.estimates])

    def by_unit(self) -> pl.DataFrame:
        """Per-session contributions, whose mean is the value: unit, system, measure, value."""
        parts = []
        for (system, label, reward), e in self.found.items():
            parts.append(
                pl.DataFrame({"unit": e.units, "value": e.value + e.influence}).select(
                    "unit",
                    pl.lit(system).alias("system"),
                    pl.lit(label).alias("measure"),
                    pl.lit(reward).alias("reward"),
                    "value",
                )
            )
        return pl.concat(parts)
