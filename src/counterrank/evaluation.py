"""The result of ``evaluate``: per-unit values, and everything that follows from them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from counterrank import trust
from counterrank.arrays import Floats
from counterrank.compare import Comparison, Contest, Plan, compare
from counterrank.coverage import Coverage
from counterrank.errors import UsageError
from counterrank.estimates import Uncertain
from counterrank.inference import intervals
from counterrank.judged import (
    Found,
    Gathered,
    Measured,
    UnitSums,
    again,
    bracket,
    tie_bracket,
)
from counterrank.once import once
from counterrank.policies import Policies
from counterrank.progress import Progress
from counterrank.ranking import Judged, Measure, dcg_forms, deepest, measure
from counterrank.results.document import as_json, document
from counterrank.results.notebook import Notebook as Result
from counterrank.schema import Input
from counterrank.trust import Diagnosis


@dataclass(frozen=True)
class Row:
    """One system's value of one measure."""

    system: str
    measure: str
    value: float
    se: float
    low: float
    high: float
    level: float
    units: int


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Result):
    """What was measured, in memory or in buckets, and the plan of the comparisons."""

    gathered: Gathered
    plan: Plan
    progress: Progress

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems' names."""
        return self._measured.systems

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures asked for."""
        return self.gathered.asked.measures

    @property
    def policies(self) -> Policies:
        """What was done with users and rows that do not fit."""
        return self.gathered.asked.policies

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The tables, as far as a result remembers them."""
        return self.gathered.inputs

    @property
    def coverage(self) -> tuple[Coverage, ...]:
        """Who was covered, system by system."""
        return tuple(lists.coverage for lists in self._measured.lists)

    @property
    def units(self) -> pl.Series:
        """The ids of the judged users."""
        return self._measured.per_unit.units

    @property
    def values(self) -> Floats:
        """Systems x measures x units; NaN marks a unit left out by a policy."""
        return self._measured.per_unit.x

    @property
    def found(self) -> Found | None:
        """Judgments and hits, where they are kept."""
        return self._measured.found

    @property
    def _measured(self) -> Measured:
        return self.gathered.measured

    def __repr__(self) -> str:
        """The estimates and what they rest on; comparisons are computed only when asked for."""
        wide = max(map(len, self.systems))
        lines = [
            f"{r.measure:<12} {r.system:<{wide}} {r.value:9.4f}"
            f"   {r.level:.0%} {r.low:.4f} .. {r.high:.4f}   {r.units:,} users"
            for r in sorted(self.estimates, key=lambda r: r.measure)
        ]
        loud = [d for d in self.diagnoses if d.verdict != "pass"]
        lines += [f"{d.verdict}: {d.name}, {d.subject}: {d.meaning}" for d in loud]
        lines += ["" if loud else "every diagnosis passes"]
        return "\n".join(line for line in lines if line)

    def estimate(self, system: str, label: str | Measure) -> Uncertain:
        """One system's estimate: subtract two of them for a paired difference."""
        if system not in self.systems:
            raise UsageError(
                f'There is no system "{system}".', todo=f"There are: {', '.join(self.systems)}."
            )
        wanted = measure(label)
        if wanted not in self.measures:
            raise UsageError(f'"{wanted}" was not evaluated.', todo="Add it to measures=.")
        place = self.measures.index(wanted)
        return self._measured.values.estimate(self.systems.index(system), place, wanted)

    @once
    def estimates(self) -> list[Row]:
        """Every system's value of every measure, with its interval."""
        blocks = [self._rows(m) for m in range(len(self.measures))]
        return [row for rows in zip(*blocks, strict=True) for row in rows]

    def _rows(self, m: int) -> list[Row]:
        """One measure's rows; a bootstrap draws once for all systems over the same units."""
        plan, kind = self.plan, self.measures[m]
        values = self._measured.values
        own: list[Uncertain] = [values.estimate(s, m, kind) for s in range(len(self.systems))]
        alike = [own] if len({e.n for e in own}) == 1 else [[e] for e in own]
        ends = [
            intervals(
                group,
                level=plan.level,
                method=plan.interval,
                seed=plan.seed,
                draws=plan.resamples,
                span=1.0 if kind.plain_mean else None,
            )
            for group in alike
        ]
        return [
            Row(system, str(kind), e.value, e.se, float(low), float(high), plan.level, e.n)
            for system, e, (low, high) in zip(self.systems, own, np.vstack(ends), strict=True)
        ]

    @once
    def comparisons(self) -> list[Comparison]:
        """Every comparison of the plan, over the units that all systems have values for."""
        contests = self._contests() if self.plan.test != "none" else []
        values = self._measured.values
        flips = values.flips if isinstance(values, UnitSums) else None
        return compare(self.systems, contests, self.plan, self.progress, flips)

    @once
    def diagnoses(self) -> list[Diagnosis]:
        """What the numbers rest on."""
        measures = list(self.measures)
        found: list[Diagnosis | None] = [
            trust.sample_size(min(row.units for row in self.estimates)),
            trust.relevance(self._measured.ratings),
            trust.no_relevant(self._measured.ratings, measures, self.policies.no_relevant),
        ]
        for s, (system, lists) in enumerate(zip(self.systems, self._measured.lists, strict=True)):
            rows = self.estimates[s * len(measures) : (s + 1) * len(measures)]
            widths = [r.high - r.low for r in rows]
            found += [
                trust.coverage(system, lists.coverage, self.policies.missing),
                trust.unjudged_users(system, lists.coverage),
                trust.duplicates(system, lists.coverage),
                trust.short_lists(system, lists, self.largest_cut),
                trust.judged_share(system, self._judged_share(s), self.largest_cut),
                trust.ties(system, lists, measures, partial(self._tie_bracket, s), widths),
            ]
        found += self._agreements()
        return [d for d in found if d is not None]

    @property
    def verdict(self) -> str:
        """The gravest verdict of all diagnoses."""
        return trust.worst(self.diagnoses)

    @property
    def largest_cut(self) -> int | None:
        """The deepest rank any measure looks at; None: the whole list."""
        return deepest(self.measures)

    @property
    def protocol(self) -> dict[str, Any]:
        """All choices behind the numbers."""
        return {
            "unit": "user",
            "measures": {str(m): m.about.formula for m in self.measures},
            "policies": asdict(self.policies),
            "ranked_by": dict(zip(self.systems, self._measured.orders, strict=True)),
            "largest_rating": self._measured.ratings.top,
            "lower_is_better": [str(m) for m in self.measures if m.better == "lower"],
            "interval": self.plan.interval,
            "level": self.plan.level,
            "test": self.plan.test,
            "correction": self.plan.correction,
            "family": self.plan.family,
            "draws": self.plan.draws if self.plan.test == "permutation" else self.plan.resamples,
            "seed": self.plan.seed,
            "baseline": self.plan.baseline,
            "engine": self.gathered.engine,
            "partitions": self.gathered.partitions,
            "inference": self.gathered.kept.protocol(),
        }

    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain values, in the shape every verb shares."""
        coverage = [
            {"system": name, **asdict(seen), "missing_users": seen.missing_users}
            for name, seen in zip(self.systems, self.coverage, strict=True)
        ]
        return document(
            "evaluate",
            self.protocol,
            self.inputs,
            estimates=self.estimates,
            comparisons=self.comparisons,
            diagnoses=self.diagnoses,
            further={"coverage": coverage},
        )

    def brief(self) -> dict[str, Any]:
        """The document without comparisons, which take their time."""
        return document(
            "evaluate",
            self.protocol,
            self.inputs,
            estimates=self.estimates,
            diagnoses=self.diagnoses,
        )

    def to_json(self) -> str:
        """The whole result as one JSON document, a row a line; what has no value is null."""
        return as_json(self.to_dict())

    def to_frame(self) -> pl.DataFrame:
        """The estimates as a Polars frame."""
        return pl.DataFrame([asdict(row) for row in self.estimates])

    def by_unit(self) -> pl.DataFrame:
        """Per-unit values: unit, system, measure, value. Units left out have no row."""
        names, labels = list(self.systems), [str(m) for m in self.measures]
        system, kind = (pl.Series(x, dtype=pl.Enum(x)) for x in (names, labels))
        systems, kinds, units = self.values.shape
        columns = {
            "unit": [self.units] * (systems * kinds),
            "system": [system.new_from_index(s, kinds * units) for s in range(systems)],
            "measure": [kind.new_from_index(m, units) for m in range(kinds)] * systems,
        }
        frame = pl.DataFrame({name: pl.concat(x, rechunk=True) for name, x in columns.items()})
        frame = frame.with_columns(value=pl.Series(self.values.ravel()))
        return frame.filter(pl.col("value").is_not_nan()) if np.isnan(self.values).any() else frame

    def _contests(self) -> list[Contest]:
        found = []
        for m, kind in enumerate(self.measures):
            own = self._measured.values.shared(m, kind)
            if not own.estimates:
                raise UsageError(f"The systems share no user for {kind}.")
            span = 1.0 if kind.plain_mean else None
            found.append(Contest(str(kind), own.estimates, own.scores, own.counted, span))
        return found

    def _all(self, m: Measure) -> Floats:
        """One measure's values (units x systems), also of those beside."""
        asked, values = self.gathered.asked, self._measured.per_unit
        if m in self.measures:
            return values.x[:, self.measures.index(m)].T
        if m in asked.beside:
            return np.ascontiguousarray(values.beside[:, asked.beside.index(m)].T)
        assert self.found is not None  # one table of several systems, in memory
        return again(self.found, m, self.policies)

    def _judged_share(self, s: int) -> float:
        """Share of listed items that are judged, mean over the lists of system ``s``."""
        values = self._measured.values
        if isinstance(values, UnitSums):
            return float(values.judged[s]) / self.coverage[s].covered_users
        judged = self._all(Judged(k=self.largest_cut))[values.present[s], s]
        return float(judged.mean())

    def _tie_bracket(self, s: int, m: int) -> tuple[float, float]:
        """The worst and the best that ties allow for a system and a measure."""
        sums = self._measured.lists[s].brackets
        if sums is not None:
            return bracket(self.measures[m], sums[m])
        assert self.found is not None
        kept = ~np.isnan(self.values[s, m])
        return tie_bracket(self.found.hits[s], self.found.pool, self.measures[m], kept)

    def _agreements(self) -> list[Diagnosis]:
        """DCG against nDCG in each form asked for, over the users that all systems have."""
        if len(self.systems) < 2:
            return []
        found = []
        for pair in dcg_forms(self.measures):
            total, share = self._orders(pair)
            labels = (str(pair[0]), str(pair[1]))
            found.append(trust.agreement(list(self.systems), total, share, labels))
        return found

    def _orders(self, pair: tuple[Measure, Measure]) -> list[trust.Ordered]:
        """The systems' means by two measures, and how far apart two of them are."""
        values = self._measured.values
        if isinstance(values, UnitSums):
            places = [self.gathered.asked.both.index(m) for m in pair]
            return [
                trust.Ordered.summed(values.shared(p, m).estimates)
                for p, m in zip(places, pair, strict=True)
            ]
        both = [self._all(m) for m in pair]
        kept = ~np.isnan(both[0] + both[1]).any(axis=1)
        return [trust.Ordered.of(x[kept]) for x in both]
