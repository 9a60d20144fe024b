"""The result of ``evaluate``: per-unit values, and everything that follows from them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from counterrank import trust
from counterrank.arrays import Bools, Floats
from counterrank.compare import Comparison, Contest, Plan, compare
from counterrank.coverage import Coverage
from counterrank.documents import as_json, document
from counterrank.errors import UsageError
from counterrank.estimates import Estimate
from counterrank.hits import Hits, Pool
from counterrank.inference import intervals
from counterrank.once import once
from counterrank.policies import Policies
from counterrank.progress import Progress
from counterrank.ranking import Judged, Measure, dcg_forms, deepest, measure
from counterrank.results import Result
from counterrank.schema import Input
from counterrank.systems import unit_values
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
    """``values`` is systems x measures x units; NaN marks a unit left out by a policy.

    ``beside`` has more measures (systems x units each), which the diagnoses look at.
    """

    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    pool: Pool
    values: Floats
    coverage: tuple[Coverage, ...]
    hits: tuple[Hits, ...]
    plan: Plan
    policies: Policies
    inputs: tuple[Input, ...]
    orders: dict[str, str]
    beside: dict[Measure, Floats]
    progress: Progress

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

    def estimate(self, system: str, label: str | Measure) -> Estimate:
        """One system's estimate: subtract two of them for a paired difference."""
        if system not in self.systems:
            raise UsageError(
                f'There is no system "{system}".', todo=f"There are: {', '.join(self.systems)}."
            )
        wanted = measure(label)
        if wanted not in self.measures:
            raise UsageError(f'"{wanted}" was not evaluated.', todo="Add it to measures=.")
        place = self.measures.index(wanted)
        x = self.values[self.systems.index(system), place]
        return self._estimate(place, x, ~np.isnan(x))

    @once
    def estimates(self) -> list[Row]:
        """Every system's value of every measure, with its interval."""
        blocks = [self._rows(m) for m in range(len(self.measures))]
        return [row for rows in zip(*blocks, strict=True) for row in rows]

    def _rows(self, m: int) -> list[Row]:
        """One measure's rows; a bootstrap draws once for all systems over the same units."""
        plan, kind = self.plan, self.measures[m]
        own = [self._estimate(m, x, ~np.isnan(x)) for x in self.values[:, m]]
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
        asked = self.plan.test != "none"
        return compare(self.systems, self._contests() if asked else [], self.plan, self.progress)

    @once
    def diagnoses(self) -> list[Diagnosis]:
        """What the numbers rest on."""
        measures = list(self.measures)
        found: list[Diagnosis | None] = [
            trust.sample_size(min(row.units for row in self.estimates)),
            trust.relevance(self.pool, measures),
            trust.no_relevant(self.pool, measures, self.policies.no_relevant),
        ]
        judged = self._all(Judged(k=self.largest_cut))
        for s, (system, hits, seen) in enumerate(
            zip(self.systems, self.hits, self.coverage, strict=True)
        ):
            rows = self.estimates[s * len(measures) : (s + 1) * len(measures)]
            widths = [r.high - r.low for r in rows]
            found += [
                trust.coverage(system, seen, self.policies.missing),
                trust.unjudged_users(system, seen),
                trust.duplicates(system, seen),
                trust.short_lists(system, hits, self.largest_cut),
                trust.judged_share(system, judged[hits.present, s], self.largest_cut),
                trust.ties(system, hits, self.pool, measures, self.values[s], widths),
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
            "ranked_by": self.orders,
            "largest_rating": self.pool.top,
            "lower_is_better": [str(m) for m in self.measures if m.better == "lower"],
            "interval": self.plan.interval,
            "level": self.plan.level,
            "test": self.plan.test,
            "correction": self.plan.correction,
            "family": self.plan.family,
            "draws": self.plan.draws if self.plan.test == "permutation" else self.plan.resamples,
            "seed": self.plan.seed,
            "baseline": self.plan.baseline,
            "engine": "local",
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
            "unit": [self.pool.units] * (systems * kinds),
            "system": [system.new_from_index(s, kinds * units) for s in range(systems)],
            "measure": [kind.new_from_index(m, units) for m in range(kinds)] * systems,
        }
        frame = pl.DataFrame({name: pl.concat(x, rechunk=True) for name, x in columns.items()})
        frame = frame.with_columns(value=pl.Series(self.values.ravel()))
        return frame.filter(pl.col("value").is_not_nan()) if np.isnan(self.values).any() else frame

    def _estimate(self, place: int, x: Floats, kept: Bools) -> Estimate:
        units = self.pool.units if kept.all() else self.pool.units.filter(pl.Series(kept))
        return Estimate.of(x[kept], units, self.measures[place].aggregate(self.pool).kept(kept))

    def _contests(self) -> list[Contest]:
        found = []
        for m, kind in enumerate(self.measures):
            x = self.values[:, m]
            kept: Bools = np.all(~np.isnan(x), axis=0)
            if not kept.any():
                raise UsageError(f"The systems share no user for {kind}.")
            aggregate = kind.aggregate(self.pool).kept(kept)
            scores = np.zeros((x.shape[1], len(self.systems)))
            scores[kept] = np.stack([aggregate.scores(row[kept]) for row in x], axis=1)
            estimates = [self._estimate(m, row, kept) for row in x]
            span = 1.0 if kind.plain_mean else None
            found.append(Contest(str(kind), estimates, scores, kept, span))
        return found

    def _all(self, m: Measure) -> Floats:
        """One measure's values (units x systems), computed now if it was not asked for."""
        if m in self.measures:
            return self.values[:, self.measures.index(m)].T
        if m in self.beside:
            return np.ascontiguousarray(self.beside[m].T)
        one = [unit_values([m], h, self.pool, self.policies)[0] for h in self.hits]
        return np.stack(one, axis=1)

    def _agreements(self) -> list[Diagnosis]:
        """DCG against nDCG in each form asked for, over the users that all systems have."""
        if len(self.systems) < 2:
            return []
        found = []
        for pair in dcg_forms(self.measures):
            total, share = (self._all(m) for m in pair)
            kept = ~np.isnan(total + share).any(axis=1)
            labels = (str(pair[0]), str(pair[1]))
            found.append(trust.agreement(list(self.systems), total[kept], share[kept], labels))
        return found
