"""The rows of lists that count, beside what a partition knows of their pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterrank.conversions.click_models import Predictors
from counterrank.conversions.clicks import FunnelTotals
from counterrank.conversions.conversion_estimators import ClickedRows
from counterrank.conversions.funnel_arrays import FunnelArrays
from counterrank.conversions.request import COLUMN, FunnelRequest
from counterrank.core.arrays import AnyInts, Bools, Floats, Ints
from counterrank.core.parallel import cached_property
from counterrank.data.funnels import prediction
from counterrank.engine import Partition
from counterrank.matching.hits import Part


@dataclass(frozen=True)
class PartitionClicks:
    """What a partition knows of its pairs; ``ctr`` is that of each (NaN: unknown)."""

    request: FunnelRequest
    arrays: FunnelArrays
    predictors: Predictors | None
    ctr: Floats
    is_clicked: Bools

    @classmethod
    def of(
        cls,
        request: FunnelRequest,
        totals: FunnelTotals,
        predictors: Predictors | None,
        part: Partition,
    ) -> PartitionClicks:
        arrays = FunnelArrays.of(request, totals, part)
        pairs = arrays.pairs
        own = None if predictors is None else predictors.among(pairs.units)
        ctr = own.ctr(pairs) if own is not None and own.clicks is not None else pairs.ctr
        if ctr is None:
            ctr = np.full(len(pairs.click), np.nan)
        return cls(request, arrays, own, np.maximum(ctr, request.floor), totals.is_clicked)


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
