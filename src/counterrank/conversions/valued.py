"""One run in one bucket: what its lists are worth by every measure and estimator, user by user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from counterrank.arrays import Floats, Ints
from counterrank.conversions.chances import Chances
from counterrank.conversions.gather import Name, Sums, nothing, summed_up
from counterrank.conversions.listing import Work
from counterrank.core.faults import Fault, Faults
from counterrank.core.merge import merge
from counterrank.coverage import Coverage
from counterrank.diagnostics.weights import WeightStatistics
from counterrank.engine import walked
from counterrank.ope.estimators.ips import MeanWeight
from counterrank.schema import Table

Key = tuple[str, str, str, str]  # system, measure, estimator, reward


@dataclass(frozen=True)
class Valued:
    """One run: per-user columns of every measure, estimator and reward, and what they rest on.

    ``ctr`` is that of the listed pairs that were clicked, ``earned`` how many of them brought
    something; ``heaviest`` is the weight of the clicks of one user. ``faults``: listed pairs
    without a ctr or a predicted reward, users without a list or with one that lacks items.
    """

    columns: dict[Name, Floats]
    weights: WeightStatistics
    ctr: Chances
    earned: dict[str, int]
    heaviest: float
    coverage: Coverage
    faults: Faults


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
        weights=merge([part.weights for part in parts]),
        ctr=Chances.of(np.concatenate([part.ctr for part in parts]), keep),
        earned={name: sum(part.earned[name] for part in parts) for name in work.rewards},
        heaviest=0.0 if weight is None else float(weight[:, 0].max(initial=0)),
        coverage=coverage,
        faults=Faults((*_blank(work, run.name, parts), *_short(work, run.name, depth))),
    )


def _blank(work: Work, table: str, parts: list[Sums]) -> Iterator[Fault]:
    """Listed pairs without a prediction."""
    ledger = work.ledger
    for column in ("ctr", *work.predict):
        blank = [part.blank[column] for part in parts if column in part.blank]
        if blank:
            _, unit, item = min(blank, key=lambda found: found[1])
            count = sum(count for count, _, _ in blank)
            first = {
                "user": ledger.pool.units[unit],
                "item": ledger.items.names[int(ledger.items.lookup(np.array([item]))[0])],
            }
            what = "clicked pair without ctr" if column == "ctr" else "pair without cvr"
            yield Fault(what, table, column, count, first=first)


def _short(work: Work, table: str, depth: Ints) -> Iterator[Fault]:
    """Users without a list, and without a ranking of all items."""
    units, items, n = work.ledger.pool.units, len(work.clicked), len(depth)

    def ranked(place: int) -> dict[str, Any]:
        return {"user": units[place], "depth": int(depth[place])}

    short = np.flatnonzero(depth < items)
    yield Fault.at("not all items", table, short, ranked, of=n, items=items)
    none = np.flatnonzero(depth == 0)
    yield Fault.at("funnel user without list", table, none, lambda i: {"id": units[i]}, of=n)
