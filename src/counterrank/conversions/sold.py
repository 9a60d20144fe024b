"""What every run would have sold, from a bucket of users, and from all buckets together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.arrays import Floats, Ints
from counterrank.conversions.chances import Chances
from counterrank.conversions.ledger import Ledger, Rules
from counterrank.conversions.listing import Asked, Predict, Work
from counterrank.conversions.predicted import Fits, of_ledger, of_run
from counterrank.conversions.reading import Tables
from counterrank.conversions.totals import Group, added, totals
from counterrank.conversions.valued import Key, Valued, valued
from counterrank.core.faults import Faults
from counterrank.core.merge import merge
from counterrank.coverage import Coverage
from counterrank.data.ids import argsort_ids
from counterrank.engine import Bucket
from counterrank.funnels import prediction
from counterrank.moments import Draws, Sums
from counterrank.schema import Table

CLICKS = 3  # users with 0, 1 and 2 clicks are counted


@dataclass(frozen=True)
class Sale:
    """All that a bucket must be told.

    ``cvr`` says for each run and reward where its prediction is: model, run, or funnel; ``fits``
    are the models, if there are any. A ctr below ``floor`` is raised to it. ``keep`` is units or
    moments: whether columns of all users come back, or only their sums, with ``draws`` of them.
    """

    asked: Asked
    rules: Rules
    cvr: dict[str, dict[str, str]]
    fits: Fits | None
    floor: float
    ties: str
    duplicates: str
    keep: str
    draws: Draws


@dataclass(frozen=True)
class Sold:
    """Every run by ``units``, users in the order of their ids; ``idle``: users by few clicks.

    Where only sums are kept there are no units, columns are without rows, and ``sums`` are theirs.
    """

    users: int
    units: pl.Series
    idle: Ints
    runs: dict[str, Valued]
    sums: dict[Group, Sums]

    @property
    def columns(self) -> dict[Key, Floats]:
        """Those of every system, measure, estimator and reward."""
        return {
            (system, *name): columns
            for system, part in self.runs.items()
            for name, columns in part.columns.items()
        }

    def __add__(self, other: Sold) -> Sold:
        """Both together."""
        return gathered([self, other])

    def only_sums(self, draws: Draws) -> Sold:
        """Without what there is of every user."""
        return replace(
            self,
            units=self.units.clear(),
            runs={
                system: replace(part, columns={name: x[:0] for name, x in part.columns.items()})
                for system, part in self.runs.items()
            },
            sums=totals(self.columns, self.units, draws),
        )


def sold(bucket: Bucket, sale: Sale) -> Sold:
    """A pure function of a bucket of users."""
    tables, ledger = Tables.of(bucket), Ledger.of(bucket, sale.rules)
    fits, asked = sale.fits, sale.asked
    if fits is not None:
        fits = fits.among(ledger.pool.units)
    chance = ledger.ctr
    if fits is not None and fits.clicks is not None:
        chance = fits.ctr(ledger)
    if chance is None:
        chance = np.full(len(ledger.click), np.nan)
    work = Work(
        measures=asked.measures,
        estimators=asked.estimators,
        rewards=asked.rewards,
        pairs=asked.pairs,
        ledger=ledger,
        ctr=np.maximum(chance, sale.floor),
        clicked=sale.rules.census.clicked,
        predict={},
    )
    done = {}
    for run in sale.rules.census.runs:
        table = tables.runs.get((run.table, run.system)) or _without_rows(bucket.tables[run.table])
        own = replace(work, predict=_predict(sale, run.system, ledger, fits))
        done[run.system] = valued(
            table, own, ties=sale.ties, duplicates=sale.duplicates, keep=sale.keep
        )
    found = Sold(ledger.pool.n, ledger.pool.units, _few_clicks(ledger), done, {})
    return found if sale.keep == "units" else found.only_sums(sale.draws)


def few_clicks(bucket: Bucket, rules: Rules) -> Ints:
    """How many users of a bucket have 0, 1 and 2 clicks."""
    return _few_clicks(Ledger.of(bucket, rules))


def _few_clicks(ledger: Ledger) -> Ints:
    clicks = np.bincount(ledger.pool.unit[ledger.click], minlength=ledger.pool.n)
    return np.bincount(np.minimum(clicks, CLICKS), minlength=CLICKS)[:CLICKS]


def _without_rows(table: Table) -> Table:
    return replace(table, frame=table.frame.clear())


def _predict(sale: Sale, system: str, ledger: Ledger, fits: Fits | None) -> dict[str, Predict]:
    """Where the predicted cvr of each reward comes from."""
    out: dict[str, Predict] = {}
    for reward, place in sale.cvr[system].items():
        if place == "model":
            assert fits is not None
            out[reward] = fits.cvr(reward, ledger)
        elif place == "run":
            out[reward] = of_run(prediction(reward, sale.asked.rewards))
        else:
            out[reward] = of_ledger(ledger.cvr[reward])
    return out


def gathered(parts: Sequence[Sold]) -> Sold:
    """The users of all buckets in the order of their ids."""
    if len(parts) == 1:
        return parts[0]
    units = pl.concat([part.units for part in parts])
    by = argsort_ids(units)
    return Sold(
        users=sum(part.users for part in parts),
        units=units.gather(by),
        idle=np.sum([part.idle for part in parts], axis=0),
        runs={system: _merged([p.runs[system] for p in parts], by) for system in parts[0].runs},
        sums=added([part.sums for part in parts]),
    )


def _merged(parts: Sequence[Valued], by: Ints) -> Valued:
    """One run of all buckets."""

    def rows(columns: Sequence[Floats]) -> Floats:
        return np.concatenate(columns)[by]

    return Valued(
        columns={name: rows([p.columns[name] for p in parts]) for name in parts[0].columns},
        weights=merge([part.weights for part in parts]),
        ctr=Chances.merged([part.ctr for part in parts]),
        earned={name: sum(part.earned[name] for part in parts) for name in parts[0].earned},
        heaviest=max(part.heaviest for part in parts),
        coverage=Coverage.merged([part.coverage for part in parts]),
        faults=Faults.merge([part.faults for part in parts]),
    )
