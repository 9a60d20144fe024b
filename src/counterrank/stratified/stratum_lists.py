r"""The pass over lists: every method of every list is a ratio of columns :math:`\bar x / \bar b`.

:math:`b` says how much a user counts, which no system changes: all systems share these columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.core.arrays import Bools, Floats, Ints, divide, sum_by
from counterrank.core.faults import Fault, Faults
from counterrank.core.parallel import map_threads, workers
from counterrank.data.ids import positions, sort_ids
from counterrank.data.runs import Policies, RunTables
from counterrank.data.schema import Table
from counterrank.diagnostics.judged_lists import ListStatistics, RatingStatistics
from counterrank.engine.partitions import Partition
from counterrank.matching.hits import Hits, break_ties, find_hits
from counterrank.matching.pool import Pool
from counterrank.metrics import Judged, Measure, deepest, unscaled
from counterrank.stats.draws import Draws
from counterrank.stats.moments import Block, Moments
from counterrank.stats.units import Columns, Key, Units, once_each
from counterrank.stratified.feedback import Scheme, StratumCounts, WeightedFeedback
from counterrank.stratified.request import StrataRequest
from counterrank.stratified.stratified_value import (
    HOLDOUT,
    IPS,
    OPEN_LOOP,
    PUBLISHED,
    SNIPS,
    STRATIFIED,
    Methods,
    inverse_labels,
    mean_user_weight,
    published_values,
    weighted_values,
)


def judged_key(system: str) -> Key:
    """Of the share of a system's lists that is judged."""
    return Key(system, "judged share")


def weights_key(measure: Measure) -> Key:
    """Of the sums of the weights of what there is to find, and of their squares."""
    return Key("judgments", str(measure), "weights")


@dataclass(frozen=True, eq=False)
class StratumLists:
    """All methods of some users, or of all, as columns or as moments, and what they rest on."""

    units: Units | Moments
    counts: StratumCounts
    ratings: RatingStatistics
    systems: dict[str, ListStatistics]
    open_systems: dict[str, ListStatistics]
    faults: Faults


def stratify_lists(
    request: StrataRequest,
    scheme: Scheme,
    methods: Methods,
    runs: RunTables,
    open_runs: RunTables,
    draws: Draws,
    inference: str,
    part: Partition,
) -> StratumLists:
    """Every method of every list of a partition; ``inference`` is by units or by moments."""
    feedback = _Feedback(scheme.weigh(part), methods, request.policies, request.per)
    open_pool = scheme.open_pool(part)
    systems = _in_threads(runs.lists(part.tables), feedback.judge)
    there = _there(systems, feedback.pool, request.policies)
    units = feedback.units(systems, there, draws)
    open_systems: list[_Judged] = []
    faults = feedback.faults("judged")
    if open_pool is not None:
        truth = _Truth(open_pool, request.measures, request.policies, per=request.per)
        lists = (open_runs if request.own_lists else runs).lists(part.tables)
        open_systems = _in_threads(lists, truth.judge)
        own = [s for s in open_systems if s.system in {x.system for x in systems}]
        units = join_units(units, truth.units(own, draws))
        faults += truth.faults("open-loop")
    names = [s.system for s in systems]
    groups = [keys for _, _, keys in methods.groups(names, open_pool is not None)]
    groups += [(key,) for key in units.columns if key.estimator in ("weights", "mean")]
    blocks = {keys: Block.of(units, keys) for keys in groups if inference == "moments"}
    return StratumLists(
        Moments(blocks) if blocks else units,
        feedback.counts(there, len(scheme.items)),
        RatingStatistics.of(feedback.pool, request.measures, list(~feedback.defined[:, 0])),
        {s.system: s.lists for s in systems},
        {s.system: s.lists for s in open_systems},
        Faults(tuple(faults)),
    )


@dataclass(frozen=True, eq=False)
class _Judged:
    """One system: its ``scores`` (measures x users each), who has a list, counts of its lists."""

    system: str
    scores: list[Floats]
    present: Bools
    judged: Floats
    lists: ListStatistics


class _Truth:
    """Judgments that lists are held against: all of a partition, then those of each stratum."""

    def __init__(
        self,
        pool: Pool,
        measures: Sequence[Measure],
        policies: Policies,
        *strata: Pool,
        per: str = "user",
    ) -> None:
        pools, self.per = (pool, *strata), per
        self.pool, self.measures, self.policies = pool, measures, policies
        self.depth = deepest(measures)
        self.defined = np.array([[m.defined(own) for own in pools] for m in measures])
        self.bases = [self._base(row, m, pools) for row, m in enumerate(measures)]

    def _base(self, row: int, m: Measure, pools: Sequence[Pool]) -> list[Floats]:
        """How much each user counts: 1 or 0 or, for a ratio of means, what it adds below."""
        below = [m.base(pool) for pool in pools]
        bases = [np.ones(self.pool.n) if x is None else x for x in below]
        defined = self.defined[row].copy()
        if self.policies.no_relevant != "skip":
            defined[0] = True  # a stratum's mean is over users with something to find there
        return [x * there for x, there in zip(bases, defined, strict=True)]

    def faults(self, whose: str) -> list[Fault]:
        """Users with nothing to find."""
        pool = self.pool
        return [
            Fault.at(
                "nothing to find in strata", whose, np.flatnonzero(~self.defined[row, 0]),
                lambda u: {"id": pool.units[u]}, of=pool.n, column=str(m), top=pool.top,
            )
            for row, m in enumerate(self.measures)
        ]  # fmt: skip

    def judge(self, run: Table, threads: int) -> _Judged:
        """One system's lists."""
        hits, lists = self.find(run, threads)
        x = self.divide(unscaled(self.measures, hits, self.pool, threads=threads), self.pool)
        return _Judged(run.system, [x], hits.present, x[0], lists)

    def divide(self, x: Floats, pool: Pool) -> Floats:
        r"""Values of users or, per item, :math:`x / |S_u|` with the user's judged items."""
        return x if self.per == "user" else divide(x, pool.size.astype(float), 0.0)

    def find(self, run: Table, threads: int) -> tuple[Hits, ListStatistics]:
        """The hits of one run as deep as any measure looks."""
        ties, duplicates = self.policies.ties, self.policies.duplicates
        hits, seen = find_hits(
            run, self.pool, ties=ties, duplicates=duplicates, limit=self.depth, threads=threads
        )
        return hits, ListStatistics.of(run, self.pool, hits, seen, self.depth)

    def units(self, systems: Sequence[_Judged], draws: Draws) -> Units:
        """All systems by all measures."""
        there = _there(systems, self.pool, self.policies)
        columns, masks = {}, {}
        for row, m in enumerate(self.measures):
            base = _counting(self.bases[row][0], there)
            mask = base > 0
            keys = OPEN_LOOP.keys([s.system for s in systems], m)
            for key, s in zip(keys, systems, strict=True):
                columns[key], masks[key] = _pair(m, s.scores[0][row], base, mask), mask
        return Units(self.pool.units, columns, masks, draws=draws)


class _Feedback(_Truth):
    """The feedback of a partition, weighed and cut."""

    def __init__(
        self, feedback: WeightedFeedback, methods: Methods, policies: Policies, per: str
    ) -> None:
        pool, self.weight = feedback.pool, feedback.weight
        self.within = [feedback.code == q for q in range(len(methods.strata))]
        whole = len(self.within) == 1  # one stratum is all there is, to the last bit
        self.pools = [pool if whole else pool.only(own) for own in self.within]
        super().__init__(pool, methods.measures, policies, *self.pools, per=per)
        self.feedback, self.methods = feedback, methods
        self.labels = inverse_labels(methods.published, pool, self.weight)
        self.rows = np.stack([own.size for own in self.pools])

    def judge(self, run: Table, threads: int) -> _Judged:
        """One system's lists: aligned once, masked for each stratum, and the hits let go."""
        hits, lists = self.find(run, threads)
        scores = self._scores(hits, threads)
        judged = unscaled([Judged(k=self.depth)], hits, self.pool)[0]
        lists = self._bracket(lists, hits, scores[0])
        return _Judged(run.system, scores, hits.present, judged, lists)

    def _scores(self, hits: Hits, threads: int) -> list[Floats]:
        """Per-user values (measures x users), not scaled yet, by what is looked at.

        That is all feedback, all of it weighted, with labels (if there are any), each stratum.
        """
        whole = unscaled(self.measures, hits, self.pool, threads=threads)
        weighted = weighted_values(self.measures, hits, self.pool, self.weight, threads=threads)
        scores = [self.divide(x, self.pool) for x in (whole, weighted)]
        if self.labels:
            scores.append(published_values(self.measures, hits, self.labels))
        for which, pool in zip(self.within, self.pools, strict=True):
            own = hits if pool is self.pool else hits.only(which)
            scores.append(self.divide(unscaled(self.measures, own, pool, threads=threads), pool))
        return scores

    def _bracket(self, lists: ListStatistics, hits: Hits, x: Floats) -> ListStatistics:
        """The counts with sums of the holdout columns (measures x worst and best x columns)."""
        sums = np.empty((len(self.measures), 2, 2))
        for end in (0, 1):
            if lists.tied:
                best = break_ties(hits, best=end == 1)
                x = self.divide(unscaled(self.measures, best, self.pool), self.pool)
            for row, m in enumerate(self.measures):
                base = self.bases[row][0]
                sums[row, end] = [column.sum() for column in _pair(m, x[row], base, base > 0)]
        return replace(lists, ties=sums)

    def units(  # type: ignore[override]
        self, systems: Sequence[_Judged], there: Bools, draws: Draws
    ) -> Units:
        """All systems by all measures and methods, and what diagnostics ask beside them."""
        pool, weight, methods = self.pool, self.weight, self.methods
        names = [s.system for s in systems]
        feedback = [_counting(row.astype(float), there) for row in self.rows]
        anywhere: Bools = np.any(feedback, axis=0)
        columns: dict[Key, Columns] = {judged_key(s.system): (s.judged,) for s in systems}
        masks = {judged_key(s.system): s.present for s in systems}
        for row, m in enumerate(self.measures):
            whole, *within = (_counting(base, there) for base in self.bases[row])
            mask, *each = (base > 0 for base in (whole, *within))
            a = mean_user_weight(m, pool, weight)
            snips = whole * (a > 0) if m.mean == "geometric" else whole * a
            weighed = snips > 0
            w = np.where(m.gains(pool) > 0, weight, 0.0)
            columns[weights_key(m)] = tuple(sum_by(pool.unit, x, pool.n) for x in (w, w**2))
            keys = {method: method.keys(names, m) for method in methods.of(m)}
            for place, s in enumerate(systems):
                scores = (x[row] for x in s.scores)
                own = {HOLDOUT: (_pair(m, next(scores), whole, mask), mask)}
                x = next(scores)
                own[IPS] = _pair(m, x, whole, mask), mask
                if m.mean == "geometric":  # divided user by user, not as a whole
                    x = np.divide(x, a, out=np.zeros_like(x), where=a > 0)
                own[SNIPS] = _pair(m, x, snips, weighed), weighed
                if methods.published:
                    x = next(scores)
                    if m in methods.published:
                        own[PUBLISHED] = _pair(m, x, whole, mask), mask
                pairs = [
                    _pair(m, x, b, there) for x, b, there in zip(scores, within, each, strict=True)
                ]
                own[STRATIFIED] = (*(x for pair in pairs for x in pair), *feedback), anywhere
                own |= dict(zip(methods.within, zip(pairs, each, strict=True), strict=True))
                for method, (pair, counts) in own.items():
                    key = keys[method][place]
                    columns[key], masks[key] = pair, counts
        masks = {key: mask for key, mask in masks.items() if not mask.all()}
        return Units(pool.units, columns, masks, draws=draws)

    def counts(self, there: Bools, items: int) -> StratumCounts:
        """What adds up; the catalogue has so many ``items``."""
        pool, weight, rows = self.pool, self.weight, self.rows
        found = np.zeros((len(rows), items), bool)
        found[self.feedback.code, self.feedback.item] = True
        weights = [weight[m.gains(pool) > 0] for m in self.measures]
        bases = [[(base > 0) & there for base in own] for own in self.bases]
        within = [np.any(own[1:], axis=0) for own in bases]
        kind = (1 << np.arange(len(rows))) @ (rows > 0) * there
        kinds, count = np.unique(kind, return_counts=True)
        return StratumCounts(
            rows=rows.sum(axis=1),
            rows_there=(rows * there).sum(axis=1),
            users=np.count_nonzero(rows, axis=1),
            items=found,
            unknown=int(np.count_nonzero(weight == 0)),
            weighty=np.array([np.count_nonzero(w) for w in weights]),
            heaviest=np.array([w.max(initial=0.0) for w in weights]),
            counted=np.array([[np.count_nonzero(base) for base in own] for own in bases]),
            something=np.array([np.count_nonzero(x) for x in within]),
            patterns=dict(zip(kinds.astype(int).tolist(), count.tolist(), strict=True)),
        )


def _in_threads(lists: Sequence[Table], judge: Callable[[Table, int], _Judged]) -> list[_Judged]:
    """Every system, several at a time."""
    team = max(min(workers(), len(lists)), 1)
    threads = 1 if team > 1 else workers()
    return map_threads(lambda run: judge(run, threads), lists, team)


def _there(systems: Sequence[_Judged], pool: Pool, policies: Policies) -> Bools:
    """Users that count for every system."""
    there = np.ones(pool.n, bool)
    if policies.missing == "skip":
        there &= np.all([s.present for s in systems], axis=0)
    return there


def _counting(base: Floats, there: Bools) -> Floats:
    return base if there.all() else base * there


def _pair(m: Measure, x: Floats, base: Floats, mask: Bools) -> Columns:
    """What a user adds above and below the line; above nothing, where nobody counts below."""
    if m.mean == "geometric":
        x = np.log(np.maximum(x, m.floor))
    return x if mask.all() else x * mask, base


def join_units(a: Units, b: Units) -> Units:
    """One table with the columns of two: a unit that one lacks does not count for its keys."""
    ids = sort_ids(pl.concat([a.ids, b.ids]).unique())
    columns: dict[Key, Columns] = {}
    masks: dict[Key, Bools] = {}
    for table in (a, b):
        place = positions(table.ids, ids)

        def spread(x: npt.NDArray[Any], place: Ints = place) -> npt.NDArray[Any]:
            out = np.zeros(len(ids), x.dtype)
            out[place] = x
            return out

        put = once_each(spread)
        columns |= {key: tuple(map(put, own)) for key, own in table.columns.items()}
        masks |= {key: put(table.mask(key)) for key in table.columns}
    return Units(ids, columns, masks, draws=a.draws)
