"""The pass over partitions in which known outcomes meet the lists: contributions of every user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Annotated, Any

import numpy as np

from counterrank.conversions.click_models import ClickChances, PartitionClicks, Predictors
from counterrank.conversions.conversion_estimators import (
    ConversionMeasure,
    ObservedRows,
    measure_columns,
)
from counterrank.conversions.funnel_arrays import FunnelTables, FunnelTotals, few_observed
from counterrank.conversions.request import COLUMN, FunnelRequest
from counterrank.core.arrays import AnyInts, Bools, Floats, Ints, divide, sum_by
from counterrank.core.faults import Fault, Faults
from counterrank.core.merge import by_key, merge
from counterrank.core.parallel import cached_property
from counterrank.data.funnels import prediction
from counterrank.data.schema import Table
from counterrank.diagnostics.weights import WeightStatistics
from counterrank.engine import Partition
from counterrank.matching.hits import Coverage, Part, map_lists
from counterrank.nuisance.base import FittedModel
from counterrank.ope.estimators.ips import MeanWeight
from counterrank.ope.setting import Slopes
from counterrank.position.models import PositionModel
from counterrank.stats.draws import Draws
from counterrank.stats.moments import Moments
from counterrank.stats.moments import Table as UnitTable
from counterrank.stats.units import Columns, Functions, Key, Units, join_columns, once_each

STEP = 1e-4  # of a parameter of a position model; columns are its products, so any would do


@dataclass(frozen=True)
class ListedRows:
    """The rows of a block of lists that count, list by list, best first.

    ``rows`` are their places in the block (None: all of them), ``lists`` and ``rank`` what they
    are; ``row`` are those of the rows with a known outcome, ``pair`` their places among the pairs.
    """

    part: Part
    rows: Ints | None
    lists: Ints
    rank: Ints
    row: Ints
    pair: Ints

    @classmethod
    def of(cls, part: Part, work: PartitionClicks) -> ListedRows:
        """Lists of users who count, down to the deepest rank that does."""
        limit, met = work.request.limit, part.match
        hit = work.arrays.pairs.observed[part.judgment]
        rank, row, pair = met.order.rank, met.row[hit], part.judgment[hit]
        deeper = limit is not None and int(met.depth.max()) > limit
        if not deeper and part.unit.min() >= 0:
            return cls(part, None, met.lists, rank, row, pair)
        near = (part.unit >= 0)[met.lists]
        if limit is not None:
            near &= rank <= limit
        rows = np.flatnonzero(near)
        inside = near[row]
        row = np.searchsorted(rows, row[inside])
        return cls(part, rows, met.lists[rows], rank[rows], row, pair[inside])

    @property
    def n(self) -> int:
        """Number of lists."""
        return len(self.part.unit)

    @cached_property
    def begins(self) -> Ints:
        """Rows at which a list begins."""
        if self.rows is not None:
            return np.flatnonzero(np.diff(self.lists, prepend=-1))
        length = self.part.match.block.length
        start: Ints = np.cumsum(length) - length
        return start

    def total(self, x: Floats) -> Floats:
        """Sum of ``x`` over the rows of each list."""
        out = np.zeros(self.n)
        if len(x):
            out[self.lists[self.begins]] = np.add.reduceat(x, self.begins)
        return out

    def select(self, x: Any) -> Any:
        """Of a column of the whole block, the rows that count."""
        return x if self.rows is None else x[self.rows]

    @property
    def items(self) -> AnyInts:
        """The item of every row, as the integer its id is stored as."""
        items: AnyInts = self.select(self.part.match.block.item)
        return items

    def observed(
        self, c: Floats, y: Floats, p: Floats, seen: Floats, h: Floats | None
    ) -> ObservedRows:
        """What estimators read, for rows of weight ``c`` and one reward."""
        return ObservedRows(
            lists=self.n,
            unit=self.lists[self.row],
            reward=y,
            e=c[self.row],
            e0=p,
            q=np.zeros(len(y)) if h is None else h[self.row],
            seen=seen,
            views=self.total(c),
            direct=np.zeros(self.n) if h is None else self.total(h * c),
        )

    def predicted(
        self, work: PartitionClicks, column: str, model: FittedModel | None, given: Floats | None
    ) -> Floats:
        """The prediction of every row: by the model, the run, or as ``given``; NaN: unknown."""
        if model is not None:
            return model.at(self.part.unit[self.lists], work.arrays.items.lookup(self.items))
        if column in self.part.frame.columns:
            return np.asarray(self.select(self.part.column(column)))
        h = np.full(len(self.part.match.lists), np.nan)
        if given is not None:
            h[self.part.match.row] = given[self.part.judgment]
        return np.asarray(self.select(h))

    def ctr(self, work: PartitionClicks) -> Floats:
        """The predicted chance of a click when seen, of every row."""
        model = None if work.predictors is None else work.predictors.clicks
        return self.predicted(work, "ctr", model, work.arrays.pairs.ctr)

    def cvr(self, work: PartitionClicks, reward: str) -> Floats:
        """The predicted reward of a click, of every row."""
        column, own = prediction(reward, work.request.rewards), work.predictors
        model = None if own is None else own.rewards.get(reward)
        return self.predicted(work, column, model, work.arrays.pairs.cvr.get(reward))

    def unsupported(self, c: Floats, work: PartitionClicks) -> tuple[Floats, Floats]:
        """Weight of listed pairs without a row in the funnel, and on items never observed."""
        none, met = np.zeros(self.n), self.part.match
        if work.request.pairs == "rows":
            has_row = np.zeros(len(met.lists), bool)
            has_row[met.row[work.arrays.pairs.has_row[self.part.judgment]]] = True
            return self.total(np.where(self.select(has_row), 0, c)), none
        if work.is_met.all():
            return none, none
        return none, self.total(np.where(work.is_met[work.arrays.items.lookup(self.items)], 0, c))

    def first(self, row: Ints) -> tuple[int, int, int]:
        """How many rows these are; unit and item of the first, by the order of units."""
        first = row[np.argmin(self.part.unit[self.lists[row]])]
        return len(row), int(self.part.unit[self.lists[first]]), int(self.items[first])


@dataclass(frozen=True)
class ListEvidence:
    """What the numbers of one system rest on, by the first measure.

    ``chance`` is that of the listed pairs with an outcome, ``conversions`` how many of them brought
    something; ``heaviest_user`` is the weight of the pairs of one user, ``deepest`` the length of
    the longest list. ``faults``: listed pairs without a chance or a prediction, users without a
    list or with one that lacks items. ``slopes`` are those of all columns by the parameters of a
    learned position model, added up over users.
    """

    weights: WeightStatistics
    chance: ClickChances
    conversions: dict[str, int]
    heaviest_user: Annotated[float, max]
    coverage: Coverage
    faults: Faults
    deepest: Annotated[int, max]
    slopes: dict[Key, Floats]


@dataclass(frozen=True)
class FunnelContributions:
    """What one partition yields, and what all of them merge to.

    ``few_observed`` are the numbers of users with 0, 1 and 2 pairs with an outcome.
    """

    users: int
    units: UnitTable
    few_observed: Ints
    lists: dict[str, ListEvidence]

    def functions(self, request: FunnelRequest) -> Functions:
        """What every key is a function of, the error of a learned position model included."""
        plain = request.functions()
        if not request.learned:
            return plain
        from counterrank.ope.curve_error import covariance_root

        sums = {
            key._replace(system=system): x
            for system, own in self.lists.items()
            for key, x in own.slopes.items()
        }
        root = covariance_root([request.measures[0].model])
        return Slopes(sums, dict.fromkeys(sums, self.users)).functions(plain, root)


def list_contributions(
    request: FunnelRequest,
    totals: FunnelTotals,
    predictors: Predictors | None,
    draws: Draws,
    inference: str,
    part: Partition,
) -> FunnelContributions:
    """Columns per user of every system, measure, estimator and reward; or their moments."""
    work = PartitionClicks.of(request, totals, predictors, part)
    columns: dict[Key, Columns] = {}
    runs, lists, base = FunnelTables.of(request, part).runs, {}, None
    for run in sorted(runs, key=lambda run: run.system != request.plan.baseline):
        of_run, swings, lists[run.system] = _of_run(work, run, hold=inference == "units")
        base = swings if base is None else base
        of_run |= _swing_columns(work, swings, base)
        columns |= {key._replace(system=run.system): own for key, own in of_run.items()}
    lists = {run.system: lists[run.system] for run in runs}
    units = Units(work.arrays.pairs.units, columns, draws=draws)
    table: UnitTable = units
    if inference == "moments":
        table = Moments.of(units, request.functions(), request.groups())
    return FunnelContributions(len(units.ids), table, few_observed(request, totals, part), lists)


def _swing_columns(
    work: PartitionClicks, own: dict[Key, Floats], base: dict[Key, Floats]
) -> dict[Key, Columns]:
    """Sums per user of what rises and falls, of a system's pairs and of those less the baseline's.

    Swings are those of each pair: a pair that both list moves their difference once.
    """
    unit, n, none = work.arrays.pairs.unit, len(work.arrays.pairs.units), np.zeros(1)
    out: dict[Key, Columns] = {}
    nothing = np.zeros(n)
    for m, reward in product(work.request.measures, work.request.rewards):
        for swing in work.request.swings_of(m):
            kind = Key("", str(m), str(replace(swing, part="rises", versus="nobody")), reward)
            s, less = own.get(kind, none), swing.versus == "baseline"
            if less and own is base:
                out[kind._replace(estimator=str(swing))] = (nothing,)
                continue
            s = s - base.get(kind, none) if less else s
            x = np.broadcast_to(swing.signed(s), len(unit))
            out[kind._replace(estimator=str(swing))] = (sum_by(unit, x, n),)
    return out


Blank = tuple[int, int, int]
Lack = tuple[str, str]  # a fault and the column it is of


def _first_blank(cases: list[Blank]) -> Blank:
    _, unit, item = min(cases, key=lambda case: case[1])
    return sum(count for count, _, _ in cases), unit, item


@dataclass(frozen=True)
class BlockSums:
    """What blocks of lists yield: per list, the columns of every measure, reward and estimator.

    ``unit`` is that of each list, ``length`` its number of rows; ``pair`` are the places of the
    pairs with an outcome, ``swings`` what hidden causes could move of each. ``blank``: pairs
    without a prediction, by what is missing: how many, and unit and item of the first.
    ``slopes``: how the columns move with the parameters of a learned position model, added up.
    """

    unit: Annotated[Ints, np.concatenate]
    length: Annotated[Ints, np.concatenate]
    columns: Annotated[dict[Key, Columns], join_columns]
    weights: WeightStatistics
    chance: Annotated[Floats, np.concatenate]
    conversions: dict[str, int]
    pair: Annotated[Ints, np.concatenate]
    swings: Annotated[dict[Key, Floats], by_key(np.concatenate)]
    blank: Annotated[dict[Lack, Blank], by_key(_first_blank)] = field(default_factory=dict)
    slopes: dict[Key, Floats] = field(default_factory=dict)

    @classmethod
    def none(cls, request: FunnelRequest) -> BlockSums:
        """Those of no lists at all."""
        rows, nothing, whole = ObservedRows.none(), np.empty(0), np.empty(0, np.int64)
        columns = {key: (nothing,) * width for key, width in request.widths.items()}
        weights = WeightStatistics.of(rows, nothing, nothing)
        sold = dict.fromkeys(request.rewards, 0)
        return cls(whole, whole, columns, weights, nothing, sold, whole, {})


# what estimators read of each measure and reward
Observed = list[tuple[ConversionMeasure, str, ObservedRows]]


def _of_block(work: PartitionClicks, part: Part) -> BlockSums:
    """A pure function of a block of lists and of what is known about their pairs."""
    listed, request = ListedRows.of(part, work), work.request
    reward = {name: y[listed.pair] for name, y in work.arrays.pairs.reward.items()}
    p, seen = work.chance[listed.pair], work.seen[listed.pair]
    lack = "shown pair without exposure" if request.shows else "clicked pair without ctr"
    unknown: dict[Lack, Ints] = {(lack, request.chance): listed.row[np.isnan(p)]}
    h = {r: listed.cvr(work, r) for r in request.rewards} if request.needs_cvr else {}
    unknown |= {("pair without cvr", r): np.flatnonzero(np.isnan(x)) for r, x in h.items()}
    listing: Floats | float = 1.0
    if request.shows and h:
        ctr = listed.ctr(work)
        unknown["pair without ctr", "ctr"] = np.flatnonzero(np.isnan(ctr))
        h = {r: ctr * x for r, x in h.items()}
    elif request.estimand.basis == "listing":
        listing = listed.select(part.column("ctr"))

    def observed(weights: Sequence[Floats], p: Floats, seen: Floats) -> Observed:
        both = product(zip(request.measures, weights, strict=True), reward)
        return [
            (m, name, listed.observed(c * listing, reward[name], p, seen, h.get(name)))
            for (m, c), name in both
        ]

    def columns(found: Observed) -> dict[Key, Columns]:
        out: dict[Key, Columns] = {}
        for m, name, rows in found:
            every = rows
            if m.form == "share":
                ones = np.ones(len(listed.items))
                every = listed.observed(ones, rows.reward, rows.e0, rows.seen, h.get(name))
            for e in request.computed:
                own = measure_columns(e, m, rows, every)
                if own is not None:
                    out[Key("", str(m), str(e), name)] = own
        return out

    weights = [m.of_rows(listed.rank) for m in request.measures]
    first = listed.observed(weights[0] * listing, np.zeros(len(p)), p, seen, None)
    found = observed(weights, p, seen)
    swings = {
        Key("", str(m), str(swing), name): swing.of(rows)
        for m, name, rows in found
        for swing in request.swing_kinds(m)
    }
    slopes = []
    for number in range(request.learned):
        moved = (observed(*_moved(work, listed, weights, number, way)) for way in (1, -1))
        up, down = map(columns, moved)
        slopes.append({key: _rise(own, down[key], part.unit >= 0) for key, own in up.items()})
    return BlockSums(
        unit=part.unit,
        length=part.match.block.length,
        columns=columns(found),
        weights=WeightStatistics.of(first, *listed.unsupported(weights[0] * listing, work)),
        chance=p,
        conversions={name: int(np.count_nonzero(y)) for name, y in reward.items()},
        pair=listed.pair,
        swings=swings,
        blank={what: listed.first(row) for what, row in unknown.items() if len(row)},
        slopes={key: np.stack([x[key] for x in slopes], axis=1) for key in (slopes or [{}])[0]},
    )


def _moved(
    work: PartitionClicks, listed: ListedRows, weights: list[Floats], number: int, way: int
) -> tuple[list[Floats], Floats, Floats]:
    """Weights, chances and views with one parameter of the position model a step up or down.

    A fitted exposure is the chance that a pair is shown times that of its being seen.
    """
    request, by = work.request, way * STEP
    p, seen = work.chance[listed.pair], work.seen[listed.pair]
    near = [
        c + by * m.model.slopes(listed.rank)[number]
        for m, c in zip(request.measures, weights, strict=True)
    ]
    if work.arrays.pairs.rank is None:
        return near, p, seen
    assert isinstance(request.position, PositionModel)
    rank = work.arrays.pairs.rank[listed.pair]
    there = seen + by * request.position.slopes(rank)[number]
    return near, p if request.exposure == COLUMN else p * divide(there, seen, 1.0), there


def _rise(up: Columns, down: Columns, counted: Bools) -> Floats:
    """The slope of each column, added up over the lists that count."""
    return np.array([np.sum((a - b)[counted]) for a, b in zip(up, down, strict=True)]) / (2 * STEP)


def _of_run(
    work: PartitionClicks, run: Table, *, hold: bool
) -> tuple[dict[Key, Columns], dict[Key, Floats], ListEvidence]:
    """One system's lists: columns of all users, 0 for those without a list; swings; evidence."""
    request, pool = work.request, work.arrays.pool
    blocks, coverage = map_lists(
        run, pool, partial(_of_block, work), ties=request.ties, duplicates=request.duplicates
    )
    whole = merge(blocks or [BlockSums.none(request)])
    known = whole.unit >= 0
    in_order = np.array_equal(whole.unit, np.arange(pool.n))

    @once_each
    def by_user(x: Any) -> Any:
        """Values of lists as values of all users; what several keys share stays shared."""
        if in_order:
            return x
        out = np.zeros(pool.n, x.dtype)
        out[whole.unit[known]] = x[known]
        return out

    columns = {key: tuple(map(by_user, own)) for key, own in whole.columns.items()}
    depth = by_user(whole.length)
    first = Key("", str(request.measures[0]), str(MeanWeight()), request.rewards[0])
    weight = columns[first][0] if first in columns else np.zeros(1)
    pairs = len(work.arrays.pairs.unit)
    swings = {key: sum_by(whole.pair, s, pairs) for key, s in whole.swings.items()}
    evidence = ListEvidence(
        weights=whole.weights,
        chance=ClickChances.of(whole.chance, hold=hold),
        conversions=whole.conversions,
        heaviest_user=float(weight.max(initial=0)),
        coverage=coverage,
        faults=Faults((*_unpredicted(work, run.name, whole.blank), *_short(work, run.name, depth))),
        deepest=int(whole.length.max(initial=0)),
        slopes=whole.slopes,
    )
    return columns, swings, evidence


def _unpredicted(work: PartitionClicks, table: str, blank: dict[Lack, Blank]) -> Iterator[Fault]:
    """Listed pairs without a chance or a prediction."""
    items = work.arrays.items
    for (what, column), (count, unit, item) in blank.items():
        first = {
            "user": work.arrays.pool.units[unit],
            "item": items.names[int(items.lookup(np.array([item]))[0])],
        }
        yield Fault(what, table, column, count, first=first)


def _short(work: PartitionClicks, table: str, depth: Ints) -> Iterator[Fault]:
    """Users without a list, and without a ranking of all items."""
    units, items, n = work.arrays.pool.units, len(work.is_met), len(depth)

    def ranked(place: int) -> dict[str, Any]:
        return {"user": units[place], "depth": int(depth[place])}

    short = np.flatnonzero(depth < items)
    yield Fault.at("not all items", table, short, ranked, of=n, items=items)
    none = np.flatnonzero(depth == 0)
    yield Fault.at("funnel user without list", table, none, lambda i: {"id": units[i]}, of=n)
