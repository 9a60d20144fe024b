"""The pass over partitions in which clicked pairs meet the lists: contributions of every user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import numpy as np

from counterrank.conversions.click_models import Predictors
from counterrank.conversions.clicks import FunnelTables, FunnelTotals
from counterrank.conversions.conversion_estimators import ClickedRows, measure_columns
from counterrank.conversions.listed_rows import ListedRows, PartitionClicks
from counterrank.conversions.request import FunnelRequest
from counterrank.core.arrays import Floats, Ints
from counterrank.core.faults import Fault, Faults
from counterrank.core.merge import merge
from counterrank.data.schema import Table
from counterrank.diagnostics.weights import WeightStatistics
from counterrank.engine import Partition
from counterrank.matching.hits import Coverage, Part, map_lists
from counterrank.ope.estimators.ips import MeanWeight
from counterrank.stats.draws import Draws
from counterrank.stats.moments import Moments
from counterrank.stats.moments import Table as UnitTable
from counterrank.stats.units import Columns, Key, Units

STEPS, OCTAVES = 128, 64  # bins of half a percent, down to 2^-64


@dataclass(frozen=True)
class ClickChances:
    """The ctr of clicked pairs: the ``values``, or where they are too many ``counts`` by size."""

    count: int
    smallest: Annotated[float, min]
    values: Annotated[Floats, np.concatenate]
    counts: Ints

    @classmethod
    def of(cls, ctr: Floats, *, hold: bool) -> ClickChances:
        """Those of one partition; ``hold`` all values or only counts."""
        known = ctr[~np.isnan(ctr)]
        least = float(known.min(initial=np.inf))
        if hold:
            return cls(len(known), least, known, np.empty(0, np.int64))
        bin_ = np.clip(-np.log2(known) * STEPS, 0, STEPS * OCTAVES - 1).astype(np.int64)
        return cls(len(known), least, np.empty(0), np.bincount(bin_, minlength=STEPS * OCTAVES))

    @property
    def median(self) -> float:
        """The usual ctr; from counts, to half a percent."""
        if len(self.values):
            return float(np.median(self.values))
        half = int(np.searchsorted(np.cumsum(self.counts), self.count / 2))
        return float(2.0 ** (-(half + 0.5) / STEPS))


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
        found, lists[run.system] = _of_run(work, run, hold=inference == "units")
        columns |= {key._replace(system=run.system): own for key, own in found.items()}
    units = Units(work.arrays.pairs.units, columns, draws=draws)
    table: UnitTable = units
    if inference == "moments":
        table = Moments.of(units, request.functions(), request.groups())
    return FunnelContributions(len(units.ids), table, work.arrays.few_clicks(), lists)


@dataclass(frozen=True)
class BlockSums:
    """What a block of lists yields: per list, the columns of every measure, reward and estimator.

    ``unit`` is that of each list, ``length`` its number of rows. ``blank``: pairs without a
    prediction, by what is missing: how many, and unit and item of the first.
    """

    unit: Ints
    length: Ints
    columns: dict[Key, Columns]
    weights: WeightStatistics
    ctr: Floats
    conversions: dict[str, int]
    blank: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    @classmethod
    def none(cls, request: FunnelRequest) -> BlockSums:
        """Those of no lists at all."""
        rows, nothing, whole = ClickedRows.none(), np.empty(0), np.empty(0, np.int64)
        columns = {key: (nothing,) * width for key, width in request.widths.items()}
        weights = _weights(rows, nothing, nothing)
        return cls(whole, whole, columns, weights, nothing, dict.fromkeys(request.rewards, 0))


def _weights(rows: ClickedRows, unlogged: Floats, unknown: Floats) -> WeightStatistics:
    """Clicks are what views are in a log; lists have no logged places to compare with."""
    return WeightStatistics.of(
        rows.weight,
        rows.seen,
        views=rows.views,
        places=rows.place,
        unlogged=unlogged,
        unknown=unknown,
    )


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
            weights = weights or _weights(rows, *listed.unsupported(c, work))
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
    blocks = blocks or [BlockSums.none(request)]
    unit = np.concatenate([block.unit for block in blocks])
    known = unit >= 0
    in_order = np.array_equal(unit, np.arange(pool.n))
    done: dict[tuple[int, ...], Floats] = {}

    def by_user(pieces: tuple[Floats, ...] | tuple[Ints, ...]) -> Floats:
        """Values of lists as values of all users; what several keys share stays shared."""
        name = tuple(map(id, pieces))
        if name not in done:
            whole: Floats = np.concatenate(pieces).astype(float, copy=False)
            done[name] = whole if in_order else np.zeros(pool.n)
            if not in_order:
                done[name][unit[known]] = whole[known]
        return done[name]

    columns = {
        key: tuple(map(by_user, zip(*(block.columns[key] for block in blocks), strict=True)))
        for key in blocks[0].columns
    }
    depth = by_user(tuple(block.length for block in blocks)).astype(np.int64)
    first = Key("", str(request.measures[0]), str(MeanWeight()), request.rewards[0])
    weight = columns[first][0] if first in columns else np.zeros(1)
    return columns, ListEvidence(
        weights=merge([block.weights for block in blocks]),
        ctr=ClickChances.of(np.concatenate([block.ctr for block in blocks]), hold=hold),
        conversions={r: sum(block.conversions[r] for block in blocks) for r in request.rewards},
        heaviest_user=float(weight.max(initial=0)),
        coverage=coverage,
        faults=Faults((*_unpredicted(work, run.name, blocks), *_short(work, run.name, depth))),
    )


def _unpredicted(work: PartitionClicks, table: str, blocks: list[BlockSums]) -> Iterator[Fault]:
    """Listed pairs without a prediction."""
    items = work.arrays.items
    for column in ("ctr", *work.request.rewards):
        blank = [block.blank[column] for block in blocks if column in block.blank]
        if blank:
            _, unit, item = min(blank, key=lambda case: case[1])
            first = {
                "user": work.arrays.pool.units[unit],
                "item": items.names[int(items.lookup(np.array([item]))[0])],
            }
            what = "clicked pair without ctr" if column == "ctr" else "pair without cvr"
            yield Fault(what, table, column, sum(count for count, _, _ in blank), first=first)


def _short(work: PartitionClicks, table: str, depth: Ints) -> Iterator[Fault]:
    """Users without a list, and without a ranking of all items."""
    units, items, n = work.arrays.pool.units, len(work.is_clicked), len(depth)

    def ranked(place: int) -> dict[str, Any]:
        return {"user": units[place], "depth": int(depth[place])}

    short = np.flatnonzero(depth < items)
    yield Fault.at("not all items", table, short, ranked, of=n, items=items)
    none = np.flatnonzero(depth == 0)
    yield Fault.at("funnel user without list", table, none, lambda i: {"id": units[i]}, of=n)
