"""The result of ``strata``: every system under every method, and what follows from that."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from counterrank import trust
from counterrank.compare import Plan
from counterrank.documents import as_json, document
from counterrank.errors import UsageError, nearest
from counterrank.estimates import Estimate
from counterrank.inference import intervals
from counterrank.once import once
from counterrank.policies import Policies
from counterrank.ranking import Measure, measure
from counterrank.schema import Input
from counterrank.stratified import (
    STRATIFIED,
    Audit,
    Blend,
    Face,
    Layout,
    MethodComparison,
    Paradox,
    Propensities,
    audited,
    estimated,
    methods,
    paradoxes,
    users,
    versus,
)
from counterrank.trust import Diagnosis


@dataclass(frozen=True)
class MethodRow:
    """One system's value of one measure under one method."""

    system: str
    measure: str
    method: str
    value: float
    se: float
    low: float
    high: float
    level: float
    units: int


@dataclass(frozen=True)
class StratumRow:
    """One stratum: its propensities from ``low`` to ``high``, and what feedback it holds."""

    name: str
    low: float
    high: float
    share: float
    users: int
    items: int
    ratings: int


@dataclass(frozen=True, eq=False, repr=False)
class Stratification:
    """``ways`` holds, for each measure and method, all systems at once."""

    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    layout: Layout
    propensities: Propensities
    ways: dict[str, dict[str, Face | Blend]]
    plan: Plan
    policies: Policies
    inputs: tuple[Input, ...]
    orders: dict[str, str]
    listed: tuple[Diagnosis, ...]

    def __repr__(self) -> str:
        """The estimates and what they rest on; comparisons are computed only when asked for."""
        wide = max(map(len, self.systems))
        kinds = max(map(len, self.methods))
        lines = [
            f"{r.measure:<12} {r.system:<{wide}} {r.method:<{kinds}} {r.value:9.4f}"
            f"   {r.level:.0%} {r.low:.4f} .. {r.high:.4f}   {r.units:,} users"
            for r in self.estimates
        ]
        lines += [p.sentence for p in self.paradoxes]
        loud = [d for d in self.diagnoses if d.verdict != "pass"]
        lines += [f"{d.verdict}: {d.name}, {d.subject}: {d.meaning}" for d in loud]
        lines += ["" if loud else "every diagnosis passes"]
        return "\n".join(line for line in lines if line)

    @property
    def methods(self) -> tuple[str, ...]:
        """All methods: holdout, IPS, SNIPS, stratified, then each stratum."""
        return methods(self.layout)

    def estimate(self, system: str, label: str | Measure, method: str = STRATIFIED) -> Estimate:
        """One system's estimate: subtract two of them for a paired difference."""
        if system not in self.systems:
            raise UsageError(f'There is no system "{system}".', todo=f"There are: {self.systems}.")
        wanted = str(measure(label))
        if wanted not in self.ways:
            raise UsageError(f'"{wanted}" was not evaluated.', todo="Add it to measures=.")
        if method not in self.ways[wanted]:
            raise UsageError(
                f'There is no method "{method}" for {wanted}.',
                found=nearest(method, self.methods),
                todo=f"Methods are: {', '.join(self.ways[wanted])}.",
            )
        way = self.ways[wanted][method]
        return estimated(way, self.systems.index(system), self.layout.pool.units)

    @once
    def estimates(self) -> list[MethodRow]:
        """Every system's value of every measure under every method, with its interval."""
        return [
            row
            for label, ways in self.ways.items()
            for method in self.methods
            for row in self._rows(label, method, ways.get(method))
        ]

    def _rows(self, label: str, method: str, way: Face | Blend | None) -> list[MethodRow]:
        """All systems; a stratum in which nobody has anything to find has no value."""
        plan, none = self.plan, float("nan")
        if way is None:
            blank = (label, method, none, none, none, none, plan.level, 0)
            return [MethodRow(system, *blank) for system in self.systems]
        own = [estimated(way, s, self.layout.pool.units) for s in range(len(self.systems))]
        ends = intervals(
            own, level=plan.level, method=plan.interval, seed=plan.seed, draws=plan.resamples
        )
        counted = self._counted(way)
        return [
            MethodRow(
                system, label, method, e.value, e.se, float(low), float(high), plan.level, counted
            )
            for system, e, (low, high) in zip(self.systems, own, ends, strict=True)
        ]

    def _counted(self, way: Face | Blend) -> int:
        """Users with something to find, in any stratum for the stratified value."""
        faces = way.faces if isinstance(way, Blend) else [way]
        return int(np.any([users(face) for face in faces], axis=0).sum())

    @once
    def comparisons(self) -> list[MethodComparison]:
        """Every comparison of the plan, under every method."""
        return versus(self.systems, self.ways, self.plan, self.layout.pool.units)

    @once
    def strata(self) -> list[StratumRow]:
        """What each stratum holds."""
        layout, rows = self.layout, []
        for q, name in enumerate(layout.strata.names):
            kept, size = layout.kept[q], layout.pools[q].size
            rows.append(
                StratumRow(
                    name=name,
                    low=float(layout.strata.low[q]),
                    high=float(layout.strata.high[q]),
                    share=float(kept.mean()),
                    users=int(np.count_nonzero(size)),
                    items=len(np.unique(self.propensities.item[kept])),
                    ratings=int(size.sum()),
                )
            )
        return rows

    @once
    def audit(self) -> Audit:
        """Which pairs' overall order most of the feedback contradicts."""
        candidates = []
        for kind in self.measures:
            ways = self.ways[str(kind)]
            blend = ways[STRATIFIED]
            assert isinstance(blend, Blend)
            holdout = ways["holdout"]
            assert isinstance(holdout, Face)
            candidates.append(
                audited(self.systems, str(kind), holdout, blend.faces, blend, better=kind.better)
            )
        word = self.plan.correction
        return paradoxes(candidates, correction=word, level=self.plan.level)

    @property
    def paradoxes(self) -> list[Paradox]:
        """The proven paradoxes, the worst decision first."""
        return self.audit.paradoxes

    @once
    def diagnoses(self) -> list[Diagnosis]:
        """What the numbers rest on."""
        pool, measures = self.layout.pool, list(self.measures)
        counts = [row.units for row in self.estimates if row.method == "holdout"]
        found: list[Diagnosis | None] = [
            trust.sample_size(min(counts)),
            trust.relevance(pool, measures),
            trust.no_relevant(pool, measures, self.policies.no_relevant),
            *self.listed,
            *trust.strata_diagnoses(
                self.systems, measures, self.ways, self.layout, self.propensities
            ),
            trust.found_paradoxes(self.audit) if len(self.systems) > 1 else None,
        ]
        return [d for d in found if d is not None]

    @property
    def verdict(self) -> str:
        """The gravest verdict of all diagnoses."""
        return trust.worst(self.diagnoses)

    @property
    def protocol(self) -> dict[str, Any]:
        """All choices behind the numbers."""
        return {
            "unit": "user",
            "measures": {str(m): m.about.formula for m in self.measures},
            "methods": list(self.methods),
            "cut": self.layout.strata.by,
            "strata": len(self.layout.strata.names) + len(self.layout.strata.empty),
            "empty_strata": list(self.layout.strata.empty),
            "propensity": self.propensities.source,
            "alpha": self.propensities.alpha,
            "xmin": self.propensities.xmin,
            "policies": asdict(self.policies),
            "ranked_by": self.orders,
            "largest_rating": self.layout.pool.top,
            "interval": self.plan.interval,
            "level": self.plan.level,
            "test": self.plan.test,
            "correction": self.plan.correction,
            "family": self.plan.family,
            "draws": self.plan.resamples if self.plan.interval == "bootstrap" else 0,
            "seed": self.plan.seed,
            "baseline": self.plan.baseline,
            "engine": "local",
        }

    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain values, in the shape every verb shares."""
        strata = [_renamed(asdict(row)) for row in self.strata]
        return document(
            "strata",
            self.protocol,
            self.inputs,
            estimates=self.estimates,
            comparisons=self.comparisons,
            diagnoses=self.diagnoses,
            further={"strata": strata, "paradoxes": [asdict(p) for p in self.paradoxes]},
        )

    def to_json(self) -> str:
        """The whole result as one JSON document, a row a line; what has no value is null."""
        return as_json(self.to_dict())

    def to_frame(self) -> pl.DataFrame:
        """The estimates as a Polars frame."""
        return pl.DataFrame([asdict(row) for row in self.estimates])

    def by_unit(self) -> pl.DataFrame:
        """Per-user values: unit, system, measure, method, value; their mean is the method's value.

        The stratified value has none of its own: it is a sum of the strata's means.
        """
        parts = []
        for label, ways in self.ways.items():
            for method, way in ways.items():
                if isinstance(way, Face):
                    parts += list(self._units(label, method, way))
        return pl.concat(parts, rechunk=True)

    def _units(self, label: str, method: str, way: Face) -> list[pl.DataFrame]:
        kept = users(way)
        units = self.layout.pool.units.filter(pl.Series(kept))
        mean = way.base[kept].mean()
        return [
            pl.DataFrame({"unit": units}).with_columns(
                system=pl.lit(system),
                measure=pl.lit(label),
                method=pl.lit(method),
                value=pl.Series(np.exp(x[kept]) if way.mean == "geometric" else x[kept] / mean),
            )
            for system, x in zip(self.systems, way.top, strict=True)
        ]


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    """``from`` and ``to``, which Python cannot name a field."""
    names = {"low": "from", "high": "to"}
    return {names.get(key, key): value for key, value in row.items()}
