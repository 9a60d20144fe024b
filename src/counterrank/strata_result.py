"""The result of ``strata``: every system under every method, and what follows from that."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from counterrank import trust
from counterrank.arrays import Floats, Ints
from counterrank.compare import Plan
from counterrank.errors import UsageError, nearest
from counterrank.estimates import Estimate, not_kept
from counterrank.moments import Kept, Merged
from counterrank.once import once
from counterrank.policies import Policies
from counterrank.progress import Progress
from counterrank.ranking import Measure, deepest, measure
from counterrank.results.document import as_json, document
from counterrank.results.notebook import Notebook as Result
from counterrank.schema import Input
from counterrank.stratified import (
    HOLDOUT,
    PUBLISHED,
    STRATIFIED,
    Agreement,
    AnyBlend,
    AnyFace,
    Audit,
    Face,
    Grounds,
    MethodComparison,
    MethodRow,
    Paradox,
    Propensities,
    StratumRow,
    Way,
    agreements,
    audited,
    estimated,
    method_rows,
    methods,
    paradoxes,
    users,
    versus,
)
from counterrank.stratified.rows import standard_errors
from counterrank.trust import Diagnosis

OPEN = "open loop"


@dataclass(frozen=True, eq=False)
class OpenLoop:
    """All systems on open-loop feedback; ``place`` says where its users stand in the closed one."""

    units: pl.Series | None
    ways: dict[str, AnyFace]
    place: Ints | None


@dataclass(frozen=True, eq=False, repr=False)
class Stratification(Result):
    """``ways`` holds, for each measure and method, all systems at once; ``units`` are the users."""

    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    units: pl.Series | None
    grounds: Grounds
    ways: dict[str, dict[str, Way]]
    plan: Plan
    policies: Policies
    inputs: tuple[Input, ...]
    orders: dict[str, str]
    open: OpenLoop | None
    kept: Kept
    engine: str
    partitions: int
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
        return methods(self.grounds.cut, self.grounds.propensities, self.measures)

    @property
    def propensities(self) -> Propensities:
        """Where propensities come from."""
        return self.grounds.propensities

    def estimate(
        self, system: str, label: str | Measure, method: str = STRATIFIED
    ) -> Estimate | Merged:
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
        return estimated(way, self.systems.index(system), self.units)

    @once
    def estimates(self) -> list[MethodRow]:
        """Every system's value of every measure under every method, with its interval."""
        rows, closed = [], self.units
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
        return versus(self.systems, self.ways, self.plan, self.units)

    @once
    def strata(self) -> list[StratumRow]:
        """What each stratum holds."""
        return self.grounds.strata

    @once
    def audit(self) -> Audit:
        """Which pairs' overall order most of the feedback contradicts."""
        candidates = []
        for kind in self.measures:
            ways = self.ways[str(kind)]
            holdout, blend = ways[HOLDOUT], ways[STRATIFIED]
            assert isinstance(holdout, AnyFace)
            assert isinstance(blend, AnyBlend)
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
        rest, measures = self.grounds, self.measures
        counts = [row.units for row in self.estimates if row.method == HOLDOUT]
        found: list[Diagnosis | None] = [
            trust.sample_size(min(counts)),
            trust.relevance(rest.ratings),
            trust.no_relevant(rest.ratings, measures, self.policies.no_relevant),
            *(d for place in range(len(self.systems)) for d in self._listed(place)),
            *trust.strata_diagnoses(self.systems, measures, self.ways, self.strata, rest),
            trust.found_paradoxes(self.audit) if len(self.systems) > 1 else None,
        ]
        return [d for d in found if d is not None]

    def _listed(self, place: int) -> list[Diagnosis | None]:
        """What one system's lists say; ties are held against the interval of the holdout value."""
        system, lists = self.systems[place], self.grounds.lists[place]
        cut, sums = deepest(self.measures), lists.ties
        se = [standard_errors(self.ways[str(m)][HOLDOUT])[place] for m in self.measures]
        return [
            trust.coverage(system, lists.coverage, self.policies.missing),
            trust.unjudged_users(system, lists.coverage),
            trust.duplicates(system, lists.coverage),
            trust.short_lists(system, lists, cut),
            trust.judged_share(system, self.grounds.judged[place], cut),
            trust.ties(
                system,
                lists,
                self.measures,
                lambda m: (*_bracket(self.measures[m], sums, m), 2 * 1.96 * float(se[m])),
            ),
        ]

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
            "cut": self.grounds.cut.by,
            "strata": len(self.grounds.cut.names) + len(self.grounds.cut.empty),
            "empty_strata": list(self.grounds.cut.empty),
            "propensity": self.propensities.source,
            "alpha": self.propensities.alpha,
            "xmin": self.propensities.xmin,
            "policies": asdict(self.policies),
            "ranked_by": self.orders,
            "largest_rating": self.grounds.ratings.top,
            "lower_is_better": [str(m) for m in self.measures if m.better == "lower"],
            "interval": self.plan.interval,
            "level": self.plan.level,
            "test": self.plan.test,
            "correction": self.plan.correction,
            "family": self.plan.family,
            "draws": self.plan.resamples if self.plan.interval == "bootstrap" else 0,
            "seed": self.plan.seed,
            "baseline": self.plan.baseline,
            "engine": self.engine,
            "partitions": self.partitions,
            "inference": self.kept.protocol(),
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
        if self.units is None:
            raise not_kept("values per user")
        parts = []
        for label, ways in self.ways.items():
            for method, way in ways.items():
                if isinstance(way, Face):
                    parts += list(self._units(label, method, way))
        return pl.concat(parts, rechunk=True)

    def _units(self, label: str, method: str, way: Face) -> list[pl.DataFrame]:
        kept = users(way)
        assert self.units is not None
        units = self.units.filter(pl.Series(kept))
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


def _bracket(measure: Measure, sums: Floats | None, place: int) -> tuple[float, float]:
    """Least and greatest value that ties allow, from sums of the measure's columns."""
    assert sums is not None
    wide = len(measure.columns(np.zeros(1), np.zeros(1)))
    ends = [float(measure.function(row[:wide] / row[-1])) for row in sums[place]]
    return min(ends), max(ends)
