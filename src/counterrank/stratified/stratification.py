"""All systems under all methods, and what follows: comparisons, audit, agreement, diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from counterrank.core.arrays import Bools, Floats
from counterrank.core.errors import InputError
from counterrank.core.faults import Faults
from counterrank.core.parallel import Progress
from counterrank.data.schema import Input
from counterrank.diagnostics import judged_lists
from counterrank.diagnostics import strata_diagnostics as diagnosed
from counterrank.diagnostics.diagnostic import Diagnostic
from counterrank.metrics import Measure, deepest, measure
from counterrank.results.result import Result
from counterrank.stats.functions_of_means import mean
from counterrank.stats.moments import Moments, Pair
from counterrank.stats.units import Estimate, Functions, Key, Units
from counterrank.stratified.feedback import Scheme
from counterrank.stratified.paradox import Audit, audit_pairs, paradoxes
from counterrank.stratified.propensity_strata import RULES
from counterrank.stratified.request import LEAST, RESAMPLES, StrataRequest
from counterrank.stratified.stratified_value import (
    HOLDOUT,
    IPS,
    OPEN_LOOP,
    SNIPS,
    STRATIFIED,
    Method,
    Methods,
    greatest_value,
)
from counterrank.stratified.stratum_lists import StratumLists, judged_key, weights_key

if TYPE_CHECKING:
    from counterrank.stratified.open_loop import Agreement, MethodPair


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
class Stratification:
    """``lists`` of all users under the methods of a scheme, and what is asked of them."""

    request: StrataRequest
    scheme: Scheme
    methods: Methods
    lists: StratumLists

    @classmethod
    def of(
        cls, request: StrataRequest, scheme: Scheme, methods: Methods, lists: StratumLists
    ) -> Stratification:
        """All partitions together, unless there is nothing to say or a policy forbids it."""
        policies, counts = request.policies, lists.counts
        allowed = ["nothing to find in strata"] * (policies.no_relevant != "error")
        lists.faults.refuse(allowed)
        allowed = ["judged user without list"] * (policies.missing != "error")
        allowed += ["user not judged"] * (policies.unjudged != "error")
        for own in (*lists.systems.values(), *lists.open_systems.values()):
            Faults(own.faults).refuse(allowed)
        if not sum(count for kind, count in counts.patterns.items() if kind):
            raise InputError(
                "No user has a list of every system.",
                todo="Count users without a list as 0 (--missing zero), or evaluate systems apart.",
            )
        for row, m in enumerate(request.measures):
            if not counts.something[row]:
                raise InputError(
                    f"No user with a list of every system has anything to find for {m}.",
                    todo="Count users without a list as 0 (--missing zero), or check rel=.",
                )
        found = cls(request, scheme, methods, lists)
        return replace(found, lists=replace(lists, units=found._over_filled_strata()))

    def _over_filled_strata(self) -> Units | Moments:
        """The table, where stratified values are over users with feedback in strata that count.

        That nobody has anything to find in a stratum is known only of all partitions.
        """
        table, counts = self.lists.units, self.lists.counts
        for m in self.request.measures:
            filled, keys = self.filled(m), self.keys(STRATIFIED, m)
            if filled.all():
                continue
            if isinstance(table, Units):
                rows = np.array(table.columns[keys[0]][2 * len(filled) :])
                mask: Bools = np.any(rows[filled], axis=0)
                table = replace(table, masks=table.masks | dict.fromkeys(keys, mask))
            else:
                block = table.blocks[keys]
                root = block.root.among(counts.with_feedback(self.filled(m)))
                table = Moments(table.blocks | {keys: replace(block, root=root)})
        return table

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of all systems."""
        return tuple(self.lists.systems)

    def filled(self, m: Measure) -> Bools:
        """Strata in which anybody has anything to find."""
        return self.lists.counts.filled(self.request.measures.index(m))

    def known(self, m: Measure) -> list[Method]:
        """The methods by which there are values of a measure."""
        some = dict(zip(self.methods.within, self.filled(m), strict=True))
        return [method for method in self.methods.of(m) if some.get(method, True)]

    def keys(self, method: Method, m: Measure) -> tuple[Key, ...]:
        """All systems under one method."""
        return method.keys(self.systems, m)

    def estimates(self, method: Method, m: Measure) -> list[Estimate]:
        """All systems under one method, over the same users."""
        function = self.methods.function(m, method)
        return [self.lists.units.estimate(key, function) for key in self.keys(method, m)]

    def result(
        self,
        protocol: Mapping[str, Any],
        inputs: Mapping[str, Input],
        progress: Progress,
        more: Mapping[str, Any],
    ) -> Result:
        """Everything there is to say; ``protocol`` is what the engine adds, ``more`` are tables."""
        request, groups = self.request, self.methods.groups(self.systems, self.request.open_loop)
        functions: Functions = {
            key: self.methods.function(m, method) for m, method, keys in groups for key in keys
        }
        audit, agreement = self.audit(), self.agreement()
        several = zip(request.measures, self.lists.counts.something.tolist(), strict=True)
        return Result.of(
            "strata",
            self.lists.units,
            functions=functions,
            groups=self.compared(),
            plan=request.plan,
            diagnostics=self.diagnostics(audit),
            protocol={**self.protocol(), **protocol},
            inputs=inputs,
            tables={
                "strata": self.strata(),
                "paradoxes": audit.paradoxes,
                "agreement": agreement,
                **({"agreement_pairs": self.agreement_pairs()} if agreement else {}),
                **more,
            },
            notes={"audit": audit},
            counts={key: n for m, n in several for key in self.keys(STRATIFIED, m)},
            family=request.family,
            per_unit=self.per_unit,
            parse=measure.label,
            default=STRATIFIED.estimator,
            progress=progress,
        )

    def compared(self) -> list[list[Pair]]:
        """The pairs under each measure and method."""
        pairs = self.request.plan.pairs(self.systems)
        groups = []
        for m in self.request.measures:
            for method in self.known(m):
                own = dict(zip(self.systems, self.keys(method, m), strict=True))
                groups.append([(own[a], own[b]) for a, b in pairs])
        return groups

    def per_unit(self, table: Units, key: Key) -> Floats | None:
        """Values of users that average to the method's; a sum of strata's means has none."""
        if key.estimator in (STRATIFIED.estimator, OPEN_LOOP.estimator):
            return None
        x, base = table.columns[key]
        geometric = [str(m) for m in self.request.measures if m.mean == "geometric"]
        if key.measure in geometric or not len(x):
            return np.exp(x)
        return x / np.mean(base)

    def strata(self) -> list[StratumRow]:
        """What each stratum holds."""
        cut, counts = self.scheme.strata, self.lists.counts
        return [
            StratumRow(
                name=name,
                low=float(cut.low[q]),
                high=float(cut.high[q]),
                share=float(counts.rows[q] / counts.rows.sum()),
                users=int(counts.users[q]),
                items=int(np.count_nonzero(counts.items[q])),
                ratings=int(counts.rows[q]),
            )
            for q, name in enumerate(cut.names)
        ]

    def audit(self) -> Audit:
        """Which pairs' overall order most of the feedback contradicts."""
        share = self.lists.counts.rows / self.lists.counts.rows.sum()
        candidates = [
            audit_pairs(
                self.systems,
                str(m),
                self.estimates(HOLDOUT, m),
                {own.name: self.estimates(own, m) for own in self.known(m) if own.segment},
                self.estimates(STRATIFIED, m),
                share=share[self.filled(m)],
                better=m.better,
            )
            for m in self.request.measures
        ]
        plan = self.request.plan
        return paradoxes(candidates, correction=plan.correction, level=plan.level)

    def agreement(self) -> list[Agreement]:
        """How well each method orders the systems as open-loop feedback does, if there is any."""
        if not self.request.open_loop or len(self.systems) < LEAST:
            return []
        from counterrank.stratified.open_loop import agreements

        draws = min(RESAMPLES, self.request.draws(len(self.systems)).resamples)
        found, level = [], self.request.plan.level
        for m in self.request.measures:
            found += agreements(str(m), *self._orders(m), level=level, draws=draws)
        return found

    def agreement_pairs(self) -> list[MethodPair]:
        """The published test of every two methods' agreement with the open loop."""
        from counterrank.stratified.open_loop import method_pairs

        measures = self.request.measures
        return [pair for m in measures for pair in method_pairs(str(m), *self._orders(m))]

    def _orders(self, m: Measure) -> tuple[list[Estimate], dict[str, list[Estimate]]]:
        """All systems by the open loop, and by each method."""
        methods = {method.name: self.estimates(method, m) for method in self.known(m)}
        return self.estimates(OPEN_LOOP, m), methods

    def diagnostics(self, audit: Audit) -> list[Diagnostic]:
        """What the numbers rest on."""
        lists, measures = self.lists, self.request.measures
        known, counts = self.scheme.propensities, lists.counts
        unknown = counts.unknown / int(counts.rows.sum())
        found: list[Diagnostic | None] = [
            judged_lists.sample_size(int(counts.counted[:, 0].min())),
            judged_lists.relevance(lists.ratings),
            judged_lists.no_relevant(lists.ratings, measures, self.request.policies.no_relevant),
            *(d for system in self.systems for d in self._of_lists(system)),
            diagnosed.empty_bins(self.scheme.strata.empty, len(counts.rows)),
            diagnosed.known_propensities(known.source, unknown),
            diagnosed.counted_propensities(known.source, guessed=known.source in RULES),
        ]
        if known.rule and known.support:
            fit, reason = known.support.p, known.support.reason
            found.append(diagnosed.power_law_fit(known.rule, fit, reason))
        found += diagnosed.gravest_each([d for m in measures for d in self._of_strata(m)])
        if len(self.systems) > 1:
            proven = len(audit.paradoxes)
            found.append(diagnosed.found_paradoxes(proven, audit.tested, audit.unproven))
        return [d for d in found if d is not None]

    def _of_lists(self, system: str) -> list[Diagnostic | None]:
        """What one system's lists say; ties are held against the interval of the holdout value."""
        lists, measures = self.lists.systems[system], self.request.measures
        units, cut = self.lists.units, deepest(measures)
        functions = [self.methods.function(m, HOLDOUT) for m in measures]
        own = [
            units.estimate(HOLDOUT.keys([system], m)[0], function)
            for m, function in zip(measures, functions, strict=True)
        ]

        def bracket(place: int) -> tuple[float, float, float]:
            assert lists.ties is not None
            # sums of partitions differ in their last digits, and so would what is printed
            ends = [round(float(functions[place](sums)), 12) for sums in lists.ties[place]]
            return min(ends), max(ends), 2 * 1.96 * own[place].se

        return [
            judged_lists.coverage(system, lists.coverage, self.request.policies.missing),
            judged_lists.unjudged_users(system, lists.coverage),
            judged_lists.duplicates(system, lists.coverage),
            judged_lists.short_lists(system, lists, cut),
            judged_lists.judged_share(system, units.estimate(judged_key(system), mean).value, cut),
            judged_lists.ties(system, lists, measures, bracket),
        ]

    def _of_strata(self, m: Measure) -> list[Diagnostic]:
        """What the strata and the weights say of one measure."""
        counts, row = self.lists.counts, self.request.measures.index(m)
        filled = self.filled(m)
        weight = counts.rows_there / counts.rows_there[filled].sum()
        whole = np.array([e.value for e in self.estimates(STRATIFIED, m)])
        each = [
            diagnosed.StratumValues(
                stratum.name,
                stratum.share,
                stratum.items,
                float(weight[q]),
                int(counts.counted[row, 1 + q]),
                np.array([e.value for e in self.estimates(self.methods.within[q], m)]),
            )
            for q, stratum in enumerate(self.strata())
        ]
        each.sort(key=lambda stratum: stratum.users == 0)  # those without a value last
        found = [diagnosed.stratum_users(str(m), stratum) for stratum in each]
        for stratum in each if m.better == "higher" else []:
            alone = np.count_nonzero(filled) == 1
            few = diagnosed.few_items(str(m), self.systems, stratum, whole, alone=alone)
            found += [] if few is None else [few]
        sums = (self.lists.units.estimate(weights_key(m), f) for f in (mean, lambda m: m[..., 1]))
        total, squares = (e.value * e.n for e in sums)
        count, most = int(counts.weighty[row]), float(counts.heaviest[row])
        found += diagnosed.inverse_weights(total, squares, count, most)
        return found + self._out_of_range(m)

    def _out_of_range(self, m: Measure) -> list[Diagnostic]:
        """Weighted values that the measure cannot have."""
        most = greatest_value(m, self.scheme.top, len(self.scheme.items))
        found = [
            diagnosed.within_range(str(m), system, method.estimator, e.value, most)
            for method in (IPS, SNIPS)
            for system, e in zip(self.systems, self.estimates(method, m), strict=True)
        ]
        return [d for d in found if d is not None]

    def protocol(self) -> dict[str, Any]:
        """All choices behind the numbers, but for where they were computed."""
        request, known, cut = self.request, self.scheme.propensities, self.scheme.strata
        plan, measures = request.plan, request.measures
        return {
            "unit": "user",
            "measures": {str(m): m.about.formula for m in measures},
            "methods": [method.name for method in self.methods.all],
            "cut": cut.by,
            "strata": len(cut.names) + len(cut.empty),
            "empty_strata": list(cut.empty),
            **known.protocol,
            **({"per": request.per} if request.per != "user" else {}),
            "policies": asdict(request.policies),
            "ranked_by": {system: own.order for system, own in self.lists.systems.items()},
            "largest_rating": self.lists.ratings.top,
            "lower_is_better": [str(m) for m in measures if m.better == "lower"],
            **plan.protocol(
                family=plan.family, draws=plan.resamples if plan.interval == "bootstrap" else 0
            ),
        }
