"""One bucket of lists and clicks in, sums per list out; buckets merged into sums per user."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np

from counterrank.arrays import AnyInts, Bools, Floats, Ints
from counterrank.conversions.clicked import Clicked
from counterrank.conversions.estimators import OfClicks
from counterrank.conversions.ledger import Ledger
from counterrank.conversions.measures import Weighting
from counterrank.engine import Part
from counterrank.logged import MeanWeight, Weights
from counterrank.once import once

Predict = Callable[["Listing"], Floats]  # cvr of the rows that count
Name = tuple[str, str, str]  # measure, estimator, reward


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
class Sums:
    """What one bucket yields: per list, the columns of every measure, estimator and reward.

    ``unit`` is that of each list, ``length`` its number of rows. ``weights`` and what follows are
    those of the first measure: ``clicks`` listed pairs were clicked, ``earned`` of them brought
    something, ``lowest`` is their least ctr. ``blank``: pairs without a prediction, by what is
    missing: how many, and unit and item of the first.
    """

    unit: Ints
    length: Ints
    columns: dict[Name, Floats]
    weights: Weights
    ctr: Floats
    earned: dict[str, int]
    blank: dict[str, tuple[int, int, int]]


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


def summed_up(part: Part, work: Work) -> Sums:
    """A pure function of a bucket's lists and of what is known about their pairs."""
    at = Listing.of(part, work)
    ledger, p = work.ledger, work.ctr[at.pair]
    h = {reward: predict(at) for reward, predict in work.predict.items()}
    unknown = {"ctr": at.row[np.isnan(p)]}
    unknown |= {r: np.flatnonzero(np.isnan(x)) for r, x in h.items() if np.isnan(x.sum())}
    columns: dict[Name, Floats] = {}
    firsts: list[Weights] = []
    for m in work.measures:
        c = at.worth(m)
        for reward in ledger.reward:
            y = ledger.reward[reward][at.pair]
            rows = at.clicked(c, y, p, h.get(reward))
            every = at.clicked(np.ones(len(c)), y, p, h.get(reward)) if m.form == "share" else None
            for e, found in _found(work, rows, every, reward in work.predict):
                columns[str(m), str(e), reward] = found
            if not firsts:
                firsts.append(Weights.of(rows, *_unsupported(at, c, work), (np.inf,)))
    return Sums(
        unit=part.unit,
        length=part.met.bucket.length,
        columns=columns,
        weights=firsts[0],
        ctr=p,
        earned={name: int(np.count_nonzero(y[at.pair])) for name, y in ledger.reward.items()},
        blank={what: _first(at, row) for what, row in unknown.items() if len(row)},
    )


def nothing(work: Asked, predicted: Collection[str]) -> Sums:
    """The same of no lists at all."""
    none, whole = np.empty(0), np.empty(0, np.int64)
    rows = Clicked(0, whole, none, none, none, none, none, none)
    return Sums(
        unit=whole,
        length=whole,
        columns={
            (str(m), str(e), reward): found
            for m in work.measures
            for reward in work.rewards
            for e, found in _found(
                work, rows, rows if m.form == "share" else None, reward in predicted
            )
        },
        weights=Weights.of(rows, none, none, (np.inf,)),
        ctr=none,
        earned=dict.fromkeys(work.rewards, 0),
        blank={},
    )


def _found(
    work: Asked, rows: Clicked, every: Clicked | None, predicted: bool
) -> Iterator[tuple[OfClicks, Floats]]:
    """The columns of each estimator that can be computed; ``every`` is for the published form."""
    for e in work.estimators:
        if "model" in e.needs and not predicted:
            continue
        own = e.columns(rows)
        if every is None or isinstance(e, MeanWeight):
            yield e, np.column_stack(own)  # weights are diagnosed alike, whatever the form
        elif len(own) == 1:
            yield e, share(own[0], e.columns(every)[0])[:, None]


def share(top: Floats, bottom: Floats) -> Floats:
    """The published form: a share of the user's conversions, cut to 0 to 1; 0 if there are none."""
    part = np.divide(top, bottom, out=np.zeros(len(top)), where=bottom != 0)
    return np.clip(part, 0, 1)


def _unsupported(at: Listing, c: Floats, work: Work) -> tuple[Floats, Floats]:
    """Weight of listed pairs without a row in the funnel, and on items that nobody clicked."""
    ledger, none = work.ledger, np.zeros(at.n)
    if work.pairs == "rows":
        held = np.zeros(len(at.part.met.lists), bool)
        held[at.part.met.row[ledger.held[at.part.judgment]]] = True
        return at.total(np.where(held if at.rows is None else held[at.rows], 0, c)), none
    if work.clicked.all():
        return none, none
    return none, at.total(np.where(work.clicked[ledger.items.at(at.items())], 0, c))


def _first(at: Listing, row: Ints) -> tuple[int, int, int]:
    """How many rows these are; unit and item of the first, by the order of units."""
    first = row[np.argmin(at.part.unit[at.lists[row]])]
    return len(row), int(at.part.unit[at.lists[first]]), int(at.items()[first])
