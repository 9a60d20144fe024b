"""The pass over partitions in which clicked pairs meet the lists: contributions of every user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import numpy as np

from counterrank.conversions.click_models import ClickChances, PartitionClicks, Predictors
from counterrank.conversions.conversion_estimators import ClickedRows, measure_columns
from counterrank.conversions.funnel_arrays import FunnelTables, FunnelTotals, few_clicks
from counterrank.conversions.request import COLUMN, FunnelRequest
from counterrank.core.arrays import AnyInts, Floats, Ints
from counterrank.core.faults import Fault, Faults
from counterrank.core.merge import by_key, merge
from counterrank.core.parallel import cached_property
from counterrank.data.funnels import prediction
from counterrank.data.schema import Table
from counterrank.diagnostics.weights import WeightStatistics
from counterrank.engine import Partition
from counterrank.matching.hits import Coverage, Part, map_lists
from counterrank.ope.estimators.ips import MeanWeight
from counterrank.stats.draws import Draws
from counterrank.stats.moments import Moments
from counterrank.stats.moments import Table as UnitTable
from counterrank.stats.units import Columns, Key, Units, join_columns, once_each


@dataclass(frozen=True)
class ListedRows:
    """The rows of a block of lists that count, list by list, best first.

    ``rows`` are their places in the block (None: all of them), ``lists`` and ``rank`` what they
    are; ``row`` are those of the rows that were clicked, ``pair`` their places among the pairs.
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
        limit, met, hit = work.request.limit, part.match, work.arrays.pairs.click[part.judgment]
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

    def clicked(self, c: Floats, y: Floats, p: Floats, h: Floats | None) -> ClickedRows:
        """What estimators read, for rows of weight ``c`` and one reward."""
        return ClickedRows(
            lists=self.n,
            unit=self.lists[self.row],
            reward=y,
            e=c[self.row],
            e0=p,
            q=np.zeros(len(y)) if h is None else h[self.row],
            views=self.total(c),
            direct=np.zeros(self.n) if h is None else self.total(h * c),
        )

    def cvr(self, work: PartitionClicks, reward: str) -> Floats:
        """The predicted reward of every row: by the model, the run, or the funnel; NaN: unknown."""
        column = prediction(reward, work.request.rewards)
        if work.request.cvr != COLUMN:
            assert work.predictors is not None
            model = work.predictors.rewards[reward]
            return model.at(self.part.unit[self.lists], work.arrays.items.lookup(self.items))
        if column in self.part.frame.columns:
            h: Floats = self.select(self.part.column(column))
            return h
        h = np.full(len(self.part.match.lists), np.nan)
        h[self.part.match.row] = work.arrays.pairs.cvr[reward][self.part.judgment]
        return np.asarray(self.select(h))

    def unsupported(self, c: Floats, work: PartitionClicks) -> tuple[Floats, Floats]:
        """Weight of listed pairs without a row in the funnel, and on items that nobody clicked."""
        none, met = np.zeros(self.n), self.part.match
        if work.request.pairs == "rows":
            has_row = np.zeros(len(met.lists), bool)
            has_row[met.row[work.arrays.pairs.has_row[self.part.judgment]]] = True
            return self.total(np.where(self.select(has_row), 0, c)), none
        if work.is_clicked.all():
            return none, none
        item = work.arrays.items.lookup(self.items)
        return none, self.total(np.where(work.is_clicked[item], 0, c))

    def first(self, row: Ints) -> tuple[int, int, int]:
        """How many rows these are; unit and item of the first, by the order of units."""
        first = row[np.argmin(self.part.unit[self.lists[row]])]
        return len(row), int(self.part.unit[self.lists[first]]), int(self.items[first])


@dataclass(frozen=True)
class ListEvidence:
    """What the numbers of one system rest on, by the first measure.

    ``ctr`` is that of the listed pairs that were clicked, ``conversions`` how many of them brought
    something; ``heaviest_user`` is the weight of the clicks of one user. ``faults``: listed pairs
    without a ctr or a predicted reward, users without a list or with one that lacks items.
    """

    weights: WeightStatistics
    ctr: ClickChances
    conversions: dict[str, int]
    heaviest_user: Annotated[float, max]
    coverage: Coverage
    faults: Faults


@dataclass(frozen=True)
class FunnelContributions:
    """What one partition yields, and what all of them merge to.

    ``few_clicks`` are the numbers of users with 0, 1 and 2 clicks.
    """

    users: int
    units: UnitTable
    few_clicks: Ints
    lists: dict[str, ListEvidence]


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
    lists = {}
    for run in FunnelTables.of(request, part).runs:
        of_run, lists[run.system] = _of_run(work, run, hold=inference == "units")
        columns |= {key._replace(system=run.system): own for key, own in of_run.items()}
    units = Units(work.arrays.pairs.units, columns, draws=draws)
    table: UnitTable = units
    if inference == "moments":
        table = Moments.of(units, request.functions(), request.groups())
    return FunnelContributions(len(units.ids), table, few_clicks(request, totals, part), lists)


Blank = tuple[int, int, int]


def _first_blank(cases: list[Blank]) -> Blank:
    _, unit, item = min(cases, key=lambda case: case[1])
    return sum(count for count, _, _ in cases), unit, item


@dataclass(frozen=True)
class BlockSums:
    """What blocks of lists yield: per list, the columns of every measure, reward and estimator.

    ``unit`` is that of each list, ``length`` its number of rows. ``blank``: pairs without a
    prediction, by what is missing: how many, and unit and item of the first.
    """

    unit: Annotated[Ints, np.concatenate]
    length: Annotated[Ints, np.concatenate]
    columns: Annotated[dict[Key, Columns], join_columns]
    weights: WeightStatistics
    ctr: Annotated[Floats, np.concatenate]
    conversions: dict[str, int]
    blank: Annotated[dict[str, Blank], by_key(_first_blank)] = field(default_factory=dict)

    @classmethod
    def none(cls, request: FunnelRequest) -> BlockSums:
        """Those of no lists at all."""
        rows, nothing, whole = ClickedRows.none(), np.empty(0), np.empty(0, np.int64)
        columns = {key: (nothing,) * width for key, width in request.widths.items()}
        weights = WeightStatistics.of(rows, nothing, nothing)
        return cls(whole, whole, columns, weights, nothing, dict.fromkeys(request.rewards, 0))


def _of_block(work: PartitionClicks, part: Part) -> BlockSums:
    """A pure function of a block of lists and of what is known about their pairs."""
    listed, request = ListedRows.of(part, work), work.request
    reward = {name: y[listed.pair] for name, y in work.arrays.pairs.reward.items()}
    p = work.ctr[listed.pair]
    h = {r: listed.cvr(work, r) for r in request.rewards} if request.needs_cvr else {}
    unknown = {"ctr": listed.row[np.isnan(p)]}
    unknown |= {r: np.flatnonzero(np.isnan(x)) for r, x in h.items() if np.isnan(x.sum())}
    columns: dict[Key, Columns] = {}
    weights: WeightStatistics | None = None
    for m in request.measures:
        c = m.of_rows(listed.rank)
        for name, y in reward.items():
            rows = every = listed.clicked(c, y, p, h.get(name))
            if m.form == "share":
                every = listed.clicked(np.ones(len(c)), y, p, h.get(name))
            for e in request.computed:
                own = measure_columns(e, m, rows, every)
                if own is not None:
                    columns[Key("", str(m), str(e), name)] = own
            weights = weights or WeightStatistics.of(rows, *listed.unsupported(c, work))
    assert weights is not None
    return BlockSums(
        unit=part.unit,
        length=part.match.block.length,
        columns=columns,
        weights=weights,
        ctr=p,
        conversions={name: int(np.count_nonzero(y)) for name, y in reward.items()},
        blank={what: listed.first(row) for what, row in unknown.items() if len(row)},
    )


def _of_run(
    work: PartitionClicks, run: Table, *, hold: bool
) -> tuple[dict[Key, Columns], ListEvidence]:
    """One system's lists: columns of all users, 0 for those without a list, and evidence."""
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
    return columns, ListEvidence(
        weights=whole.weights,
        ctr=ClickChances.of(whole.ctr, hold=hold),
        conversions=whole.conversions,
        heaviest_user=float(weight.max(initial=0)),
        coverage=coverage,
        faults=Faults((*_unpredicted(work, run.name, whole.blank), *_short(work, run.name, depth))),
    )


def _unpredicted(work: PartitionClicks, table: str, blank: dict[str, Blank]) -> Iterator[Fault]:
    """Listed pairs without a prediction."""
    items = work.arrays.items
    for column in ("ctr", *work.request.rewards):
        if column in blank:
            count, unit, item = blank[column]
            first = {
                "user": work.arrays.pool.units[unit],
                "item": items.names[int(items.lookup(np.array([item]))[0])],
            }
            what = "clicked pair without ctr" if column == "ctr" else "pair without cvr"
            yield Fault(what, table, column, count, first=first)


def _short(work: PartitionClicks, table: str, depth: Ints) -> Iterator[Fault]:
    """Users without a list, and without a ranking of all items."""
    units, items, n = work.arrays.pool.units, len(work.is_clicked), len(depth)

    def ranked(place: int) -> dict[str, Any]:
        return {"user": units[place], "depth": int(depth[place])}

    short = np.flatnonzero(depth < items)
    yield Fault.at("not all items", table, short, ranked, of=n, items=items)
    none = np.flatnonzero(depth == 0)
    yield Fault.at("funnel user without list", table, none, lambda i: {"id": units[i]}, of=n)
