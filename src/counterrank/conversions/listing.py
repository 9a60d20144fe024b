"""The rows of a bucket's lists that count, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from counterrank.arrays import AnyInts, Bools, Floats, Ints
from counterrank.conversions.clicked import Clicked
from counterrank.conversions.estimators import OfClicks
from counterrank.conversions.ledger import Ledger
from counterrank.conversions.measures import Weighting
from counterrank.engine import Part
from counterrank.once import once

Predict = Callable[["Listing"], Floats]  # cvr of the rows that count


@dataclass(frozen=True)
class Asked:
    """What is to be computed of every run.

    ``pairs`` says whether pairs without a row could have been clicked.
    """

    measures: tuple[Weighting, ...]
    estimators: tuple[OfClicks, ...]
    rewards: tuple[str, ...]
    pairs: str

    @property
    def limit(self) -> int | None:
        """The deepest rank any measure looks at."""
        cuts = [m.depth for m in self.measures]
        return None if None in cuts else max(k for k in cuts if k is not None)


@dataclass(frozen=True)
class Work(Asked):
    """The same, with what a bucket knows of its pairs.

    ``ctr`` is that of each pair of the ledger (NaN: unknown), ``predict`` gives cvr by reward;
    ``clicked`` are the items that somebody clicked, in any bucket.
    """

    ledger: Ledger
    ctr: Floats
    clicked: Bools
    predict: dict[str, Predict]


@dataclass(frozen=True)
class Listing:
    """The rows of one bucket that count, list by list, best first.

    ``rows`` are their places in the bucket (None: all of them), ``lists`` and ``rank`` what they
    are; ``row`` are those of the rows that were clicked, ``pair`` their places in the ledger.
    """

    part: Part
    rows: Ints | None
    lists: Ints
    rank: Ints
    row: Ints
    pair: Ints

    @classmethod
    def of(cls, part: Part, work: Work) -> Listing:
        """Lists of users who count, down to the deepest rank that does."""
        met, hit = part.met, work.ledger.click[part.judgment]
        rank, row, pair = met.order.rank, met.row[hit], part.judgment[hit]
        deeper = work.limit is not None and int(met.depth.max()) > work.limit
        if not deeper and part.unit.min() >= 0:
            return cls(part, None, met.lists, rank, row, pair)
        near = (part.unit >= 0)[met.lists]
        if work.limit is not None:
            near &= rank <= work.limit
        rows = np.flatnonzero(near)
        inside = near[row]
        row = np.searchsorted(rows, row[inside])
        return cls(part, rows, met.lists[rows], rank[rows], row, pair[inside])

    @property
    def n(self) -> int:
        """Number of lists."""
        return len(self.part.unit)

    @once
    def begins(self) -> Ints:
        """Rows at which a list begins."""
        if self.rows is not None:
            return np.flatnonzero(np.diff(self.lists, prepend=-1))
        length = self.part.met.bucket.length
        start: Ints = np.cumsum(length) - length
        return start

    def total(self, x: Floats) -> Floats:
        """Sum of ``x`` over the rows of each list."""
        out = np.zeros(self.n)
        if len(x):
            out[self.lists[self.begins]] = np.add.reduceat(x, self.begins)
        return out

    def worth(self, measure: Weighting) -> Floats:
        """The weight of every row: looked up, as there are far fewer ranks than rows."""
        deepest = int(self.rank.max(initial=0))
        if deepest > len(self.rank) + 1024:
            return measure.at(self.rank)
        c: Floats = measure.curve(deepest)[self.rank]
        return c

    def items(self) -> AnyInts:
        """The item of every row, as the integer its id is stored as."""
        all_ = self.part.met.bucket.item
        return all_ if self.rows is None else all_[self.rows]

    def clicked(self, c: Floats, y: Floats, p: Floats, h: Floats | None) -> Clicked:
        """The arrays of the estimators for rows of weight ``c`` and one reward."""
        return Clicked(
            lists=self.n,
            unit=self.lists[self.row],
            reward=y,
            e=c[self.row],
            e0=p,
            q=np.zeros(len(y)) if h is None else h[self.row],
            views=self.total(c),
            direct=np.zeros(self.n) if h is None else self.total(h * c),
        )
