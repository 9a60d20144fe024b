"""One run in one bucket: what its lists are worth by every measure and estimator, user by user."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from operator import add

import numpy as np
import polars as pl

from counterrank.arrays import Floats, Ints
from counterrank.conversions.chances import Chances
from counterrank.conversions.gather import Name, Sums, nothing, summed_up
from counterrank.conversions.listing import Work
from counterrank.coverage import Coverage
from counterrank.engine import walked
from counterrank.logged import MeanWeight, Weights
from counterrank.schema import Table

Key = tuple[str, str, str, str]  # system, measure, estimator, reward


@dataclass(frozen=True)
class Lack:
    """How many pairs or users lack something, and the first: its user, and its item or depth."""

    count: int
    user: pl.Series
    at: str | int


@dataclass(frozen=True)
class Valued:
    """One run: per-user columns of every measure, estimator and reward, and what they rest on.

    ``ctr`` is that of the listed pairs that were clicked, ``earned`` how many of them brought
    something; ``heaviest`` is the weight of the clicks of one user. ``blank``: listed pairs without
    a ctr or a prediction of a reward; ``short``: users without a ``list``, or whose list does not
    hold ``all`` items.
    """

    columns: dict[Name, Floats]
    weights: Weights
    ctr: Chances
    earned: dict[str, int]
    heaviest: float
    coverage: Coverage
    blank: dict[str, Lack]
    short: dict[str, Lack]


def valued(run: Table, work: Work, *, ties: str, duplicates: str, keep: str) -> Valued:
    """Every measure and estimator of one run; ``keep`` says what of it: units or moments."""
    pool = work.ledger.pool
    parts, coverage = walked(
        run, pool, partial(summed_up, work=work), ties=ties, duplicates=duplicates
    )
    parts = parts or [nothing(work, work.predict)]
    n = pool.n
    unit = np.concatenate([part.unit for part in parts])
    known = unit >= 0
    settled = np.array_equal(unit, np.arange(n))

    def spread(pieces: list[Floats] | list[Ints]) -> Floats:
        """Rows of the lists as rows of all users; those without a list have 0."""
        whole: Floats = np.concatenate(pieces).astype(float, copy=False)
        if settled:
            return whole
        out = np.zeros((n, *whole.shape[1:]))
        out[unit[known]] = whole[known]
        return out

    depth = spread([part.length for part in parts]).astype(np.int64)
    columns = {name: spread([p.columns[name] for p in parts]) for name in parts[0].columns}
    weight = columns.get((str(work.measures[0]), str(MeanWeight()), work.rewards[0]))
    return Valued(
        columns=columns,
        weights=reduce(add, [part.weights for part in parts]),
        ctr=Chances.of(np.concatenate([part.ctr for part in parts]), keep),
        earned={name: sum(part.earned[name] for part in parts) for name in work.rewards},
        heaviest=0.0 if weight is None else float(weight[:, 0].max(initial=0)),
        coverage=coverage,
        blank=_blank(work, parts),
        short=_short(work, depth),
    )


def _blank(work: Work, parts: list[Sums]) -> dict[str, Lack]:
    """Listed pairs without a prediction."""
    ledger, out = work.ledger, {}
    for what in ("ctr", *work.predict):
        blank = [part.blank[what] for part in parts if what in part.blank]
        if blank:
            _, unit, item = min(blank, key=lambda found: found[1])
            count = sum(count for count, _, _ in blank)
            name = ledger.items.names[int(ledger.items.lookup(np.array([item]))[0])]
            out[what] = Lack(count, ledger.pool.units[unit : unit + 1], name)
    return out


def _short(work: Work, depth: Ints) -> dict[str, Lack]:
    """Users without a list, and without a ranking of all items."""
    units, out = work.ledger.pool.units, {}
    for what, least in (("list", 1), ("all", len(work.clicked))):
        short = np.flatnonzero(depth < least)
        if len(short):
            first = int(short[0])
            out[what] = Lack(len(short), units[first : first + 1], int(depth[first]))
    return out
