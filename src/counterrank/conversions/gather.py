"""One bucket of lists and clicks in, sums per list out; buckets merged into sums per user."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Bools, Floats, Ints, summed
from counterrank.conversions.clicked import Clicked
from counterrank.conversions.estimators import OfClicks
from counterrank.conversions.ledger import Ledger
from counterrank.conversions.measures import Weighting
from counterrank.engine import Part
from counterrank.exposure import Flat
from counterrank.logged import Weights

Predict = Callable[[Part, Bools], Floats]  # cvr of the flagged rows of a bucket
Name = tuple[str, str, str]  # measure, estimator, reward
EVERYTHING = Weighting("flat", Flat())


@dataclass(frozen=True)
class Work:
    """What is to be computed for each run.

    ``ctr`` is that of each pair of the ledger (NaN: unknown), ``predict`` gives cvr by reward;
    ``pairs`` says whether pairs without a row could have been clicked.
    """

    ledger: Ledger
    measures: tuple[Weighting, ...]
    estimators: tuple[OfClicks, ...]
    ctr: Floats
    predict: dict[str, Predict]
    pairs: str

    @property
    def limit(self) -> int | None:
        """The deepest rank any measure looks at."""
        cuts = [m.depth for m in self.measures]
        return None if None in cuts else max(k for k in cuts if k is not None)


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
    """The rows of one bucket: ``near`` ones count; ``row`` and ``pair`` are the clicked ones."""

    part: Part
    near: Bools
    row: Ints
    pair: Ints

    @classmethod
    def of(cls, part: Part, work: Work) -> Listing:
        """Lists of users who count, down to the deepest rank that does."""
        met = part.met
        near = (part.unit >= 0)[met.lists]
        if work.limit is not None and met.depth.max() > work.limit:
            near &= met.order.rank <= work.limit
        hit = work.ledger.click[part.judgment] & near[met.row]
        return cls(part, near, met.row[hit], part.judgment[hit])

    @property
    def n(self) -> int:
        """Number of lists."""
        return len(self.part.unit)

    def total(self, x: Floats) -> Floats:
        """Sum of ``x`` over the rows of each list."""
        return summed(self.part.met.lists, x, self.n)

    def worth(self, measure: Weighting) -> Floats:
        """The weight of every row: looked up, as there are far fewer ranks than rows."""
        rank = self.part.met.order.rank
        deepest = int(rank.max(initial=0))
        many = deepest > len(rank) + 1024
        c = measure.at(rank) if many else measure.curve(deepest)[rank]
        return c * self.near

    def clicked(self, measure: Weighting, y: Floats, p: Floats, h: Floats | None) -> Clicked:
        """The arrays of the estimators for one measure and reward."""
        c = self.worth(measure)
        return Clicked(
            lists=self.n,
            unit=self.part.met.lists[self.row],
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
    h = {}
    for reward, predict in work.predict.items():
        h[reward] = np.zeros(len(at.near))
        h[reward][at.near] = predict(part, at.near)
    unknown = {"ctr": at.row[np.isnan(p)]}
    unknown |= {reward: np.flatnonzero(np.isnan(x)) for reward, x in h.items()}
    columns: dict[Name, Floats] = {}
    for m in work.measures:
        for reward in ledger.reward:
            y = ledger.reward[reward][at.pair]
            rows = at.clicked(m, y, p, h.get(reward))
            whole = at.clicked(EVERYTHING, y, p, h.get(reward)) if m.form == "share" else None
            for e, found in _found(work, rows, whole, reward):
                columns[str(m), str(e), reward] = found
    first = at.clicked(work.measures[0], p, p, None)
    return Sums(
        unit=part.unit,
        length=part.met.bucket.length,
        columns=columns,
        weights=Weights.of(first, *_unsupported(at, work), (float("inf"),)),
        ctr=p,
        earned={name: int(np.count_nonzero(y[at.pair])) for name, y in ledger.reward.items()},
        blank={what: _first(part, row) for what, row in unknown.items() if len(row)},
    )


def _found(
    work: Work, rows: Clicked, whole: Clicked | None, reward: str
) -> Iterator[tuple[OfClicks, Floats]]:
    """The columns of each estimator that can be computed; ``whole`` is for the published form."""
    for e in work.estimators:
        if "model" in e.needs and reward not in work.predict:
            continue
        own = e.columns(rows)
        if whole is None:
            yield e, np.column_stack(own)
        elif len(own) == 1:
            yield e, share(own[0], e.columns(whole)[0])[:, None]


def share(top: Floats, bottom: Floats) -> Floats:
    """The published form: a share of the user's conversions, cut to 0 to 1; 0 if there are none."""
    part = np.divide(top, bottom, out=np.zeros(len(top)), where=bottom != 0)
    return np.clip(part, 0, 1)


def _unsupported(at: Listing, work: Work) -> tuple[Floats, Floats]:
    """Weight of listed pairs without a row in the funnel, and on items that nobody clicked."""
    met, ledger, none = at.part.met, work.ledger, np.zeros(at.n)
    c = at.worth(work.measures[0])
    if work.pairs == "rows":
        c[met.row[ledger.held[at.part.judgment]]] = 0
        return at.total(c), none
    c[ledger.clicked_items[ledger.items.at(met.bucket.item)]] = 0
    return none, at.total(c)


def _first(part: Part, row: Ints) -> tuple[int, int, int]:
    """How many rows these are; unit and item of the first."""
    met = part.met
    return len(row), int(part.unit[met.lists[row[0]]]), int(met.bucket.item[row[0]])
