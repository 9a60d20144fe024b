"""The result of ``strata``: every system under every method, and what follows from that."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from counterrank import trust
from counterrank.arrays import Ints
from counterrank.compare import Plan
from counterrank.documents import as_json, document
from counterrank.errors import UsageError, nearest
from counterrank.estimates import Estimate
from counterrank.judged import Ratings
from counterrank.once import once
from counterrank.policies import Policies
from counterrank.progress import Progress
from counterrank.ranking import Measure, measure
from counterrank.results import Result
from counterrank.schema import Input
from counterrank.stratified import (
    HOLDOUT,
    PUBLISHED,
    STRATIFIED,
    Agreement,
    Audit,
    Blend,
    Face,
    Layout,
    MethodComparison,
    MethodRow,
    Paradox,
    Propensities,
    agreements,
    audited,
    estimated,
    method_rows,
    methods,
    paradoxes,
    users,
    versus,
)
from counterrank.trust import Diagnosis

OPEN = "open loop"


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


@dataclass(frozen=True, eq=False)
class OpenLoop:
    """All systems on open-loop feedback; ``place`` says where its users stand in the closed one."""

    units: pl.Series
    ways: dict[str, Face]
    place: Ints


@dataclass(frozen=True, eq=False, repr=False)
class Stratification(Result):
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
    open: OpenLoop | None
    progress: Progress

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
            raise UsageError(
                f'There is no system "{system}".', todo=f"There are: {', '.join(self.systems)}."
            )
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
        rows, closed = [], self.layout.pool.units
        for label, ways in self.ways.items():
            for method in self.methods:
                way = ways.get(method)
                if way is None and method == PUBLISHED:
                    continue  # only some measures have it
                rows += method_rows(self.systems, label, method, way, self.plan, closed)
            if self.open is not None:
                way = self.open.ways[label]
                rows += method_rows(self.systems, label, OPEN, way, self.plan, self.open.units)
        return rows

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
            holdout, blend = ways[HOLDOUT], ways[STRATIFIED]
            assert isinstance(holdout, Face)
            assert isinstance(blend, Blend)
            share = np.array([row.share for row in self.strata if row.name in ways])
            candidates.append(
                audited(
                    self.systems, str(kind), holdout, blend.faces, blend, better=kind.better,
                    share=share,
                )
            )  # fmt: skip
        word = self.plan.correction
        return paradoxes(candidates, correction=word, level=self.plan.level)

    @property
    def paradoxes(self) -> list[Paradox]:
        """The proven paradoxes, the worst decision first."""
        return self.audit.paradoxes

    @once
    def agreement(self) -> list[Agreement]:
        """How well each method orders the systems as open-loop feedback does, if there is any."""
        if self.open is None or len(self.systems) < 4:
            return []
        return [
            row
            for label, ways in self.ways.items()
            for row in agreements(
                label,
                self.open.ways[label],
                list(ways.values()),
                place=self.open.place,
                level=self.plan.level,
                seed=self.plan.seed,
                progress=self.progress,
            )
        ]

    @once
    def diagnoses(self) -> list[Diagnosis]:
        """What the numbers rest on."""
        measures = list(self.measures)
        ratings = Ratings.of(self.layout.pool, measures)
        counts = [row.units for row in self.estimates if row.method == HOLDOUT]
        found: list[Diagnosis | None] = [
            trust.sample_size(min(counts)),
            trust.relevance(ratings),
            trust.no_relevant(ratings, measures, self.policies.no_relevant),
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
            "lower_is_better": [str(m) for m in self.measures if m.better == "lower"],
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
            further={
                "strata": strata,
                "paradoxes": [asdict(p) for p in self.paradoxes],
                "agreement": [asdict(a) for a in self.agreement],
            },
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
