"""One stretch of lists and clicks in, sums per list out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats, Ints
from counterrank.conversions.clicked import Clicked
from counterrank.conversions.estimators import OfClicks
from counterrank.conversions.listing import Asked, Listing, Work
from counterrank.diagnostics.weights import WeightStatistics
from counterrank.engine import Part
from counterrank.ope.estimators.ips import MeanWeight

Name = tuple[str, str, str]  # measure, estimator, reward


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
    weights: WeightStatistics
    ctr: Floats
    earned: dict[str, int]
    blank: dict[str, tuple[int, int, int]]


def summed_up(part: Part, work: Work) -> Sums:
    """A pure function of a bucket's lists and of what is known about their pairs."""
    at = Listing.of(part, work)
    ledger, p = work.ledger, work.ctr[at.pair]
    h = {reward: predict(at) for reward, predict in work.predict.items()}
    unknown = {"ctr": at.row[np.isnan(p)]}
    unknown |= {r: np.flatnonzero(np.isnan(x)) for r, x in h.items() if np.isnan(x.sum())}
    columns: dict[Name, Floats] = {}
    firsts: list[WeightStatistics] = []
    for m in work.measures:
        c = at.worth(m)
        for reward in ledger.reward:
            y = ledger.reward[reward][at.pair]
            rows = at.clicked(c, y, p, h.get(reward))
            every = at.clicked(np.ones(len(c)), y, p, h.get(reward)) if m.form == "share" else None
            for e, found in _found(work, rows, every, reward in work.predict):
                columns[str(m), str(e), reward] = found
            if not firsts:
                firsts.append(_weights(rows, *_unsupported(at, c, work)))
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
        weights=_weights(rows, none, none),
        ctr=none,
        earned=dict.fromkeys(work.rewards, 0),
        blank={},
    )


def _weights(rows: Clicked, unlogged: Floats, unknown: Floats) -> WeightStatistics:
    return WeightStatistics.of(
        rows.weight,
        rows.seen,
        views=rows.views,
        places=rows.place,
        unlogged=unlogged,
        unknown=unknown,
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
    return none, at.total(np.where(work.clicked[ledger.items.lookup(at.items())], 0, c))


def _first(at: Listing, row: Ints) -> tuple[int, int, int]:
    """How many rows these are; unit and item of the first, by the order of units."""
    first = row[np.argmin(at.part.unit[at.lists[row]])]
    return len(row), int(at.part.unit[at.lists[first]]), int(at.items()[first])
