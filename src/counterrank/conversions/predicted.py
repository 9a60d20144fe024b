"""Where predictions come from: columns of the funnel or of a table, of the run, or a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.arrays import Floats
from counterrank.conversions.census import Census
from counterrank.conversions.ledger import Ledger
from counterrank.conversions.listing import Listing, Predict
from counterrank.conversions.record import COLUMN, FOLDS, Record
from counterrank.data.ids import positions, unify_id_columns
from counterrank.propensity import (
    Encoded,
    Fitted,
    Nuisance,
    encoded,
    fitted,
    refuse_unclicked,
    training,
)
from counterrank.schema import Table


def of_run(column: str) -> Predict:
    """A column of the run."""

    def predict(at: Listing) -> Floats:
        values: Floats = at.part.column(column)
        return values if at.rows is None else values[at.rows]

    return predict


def of_ledger(cvr: Floats) -> Predict:
    """What the funnel or the predictions say of a pair; NaN where they say nothing."""

    def predict(at: Listing) -> Floats:
        h = np.full(len(at.part.met.lists), np.nan)
        h[at.part.met.row] = cvr[at.part.judgment]
        return h if at.rows is None else h[at.rows]

    return predict


@dataclass(frozen=True)
class Fits:
    """The models that predict: of ``clicks``, and of what each reward brings.

    ``units`` are the users they know, in the order of their numbers.
    """

    units: pl.Series
    clicks: Fitted | None
    rewards: dict[str, Fitted]

    def among(self, units: pl.Series) -> Fits:
        """The same for a bucket's users."""
        if units.equals(self.units):
            return self
        if units.dtype.is_integer():  # in order, so that a bucket need not look at all of them
            here = np.searchsorted(self.units.to_numpy(), units.to_numpy())
        else:
            here = positions(units, self.units)
        return Fits(
            units=units,
            clicks=None if self.clicks is None else self.clicks.only(here),
            rewards={reward: model.only(here) for reward, model in self.rewards.items()},
        )

    def ctr(self, ledger: Ledger) -> Floats:
        """The ctr of the clicked pairs; that of the others is not needed."""
        assert self.clicks is not None
        ctr, z = np.full(len(ledger.click), np.nan), ledger.click
        ctr[z] = self.clicks.at(ledger.pool.unit[z], ledger.item[z])
        return ctr

    def cvr(self, reward: str, ledger: Ledger) -> Predict:
        """What the model says of listed pairs."""
        model = self.rewards[reward]

        def predict(at: Listing) -> Floats:
            return model.at(at.part.unit[at.lists], ledger.items.lookup(at.items()))

        return predict


def known(users: pl.Series, census: Census, features: Mapping[str, Table]) -> dict[str, Encoded]:
    """What the tables of features say of every user and item that counts."""
    ids = {"user": users, "item": census.items}
    out = {}
    for of, table in features.items():
        mine, frame = unify_id_columns([ids[of].alias(of).to_frame(), table.frame], of)
        out[of] = encoded(Table(table.source, frame), of, mine[of])
    return out


def learnt(
    record: Record,
    census: Census,
    *,
    ctr: str,
    cvr: str,
    pairs: str,
    seed: int,
    features: Mapping[str, Encoded],
) -> dict[str, Nuisance]:
    """Both models for each reward, cross-fitted, where one of them is asked for."""
    if (ctr, cvr) == (COLUMN, COLUMN):
        return {}
    if not census.clicks:
        refuse_unclicked(census.rows)
    kept = record.only(record.held)
    numbers = {of: found.numbers for of, found in features.items()}
    n = len(kept.units)
    return {
        reward: fitted(
            training(
                kept.unit,
                kept.item,
                kept.click.astype(float),
                y,
                users=n,
                items=len(census.items),
                pairs=pairs,
                ctr=kept.ctr if ctr == COLUMN else None,
            ),
            ctr="rates" if ctr == COLUMN else ctr,
            cvr="rates" if cvr == COLUMN else cvr,
            folds=min(FOLDS, max(n, 2)),
            seed=seed,
            user_features=numbers.get("user"),
            item_features=numbers.get("item"),
        )
        for reward, y in kept.reward.items()
    }


def fits(record: Record, models: Mapping[str, Nuisance], *, ctr: str, cvr: str) -> Fits:
    """What of the models is asked for; clicks are those of the first reward, as of any."""
    first = next(iter(models.values()), None)
    return Fits(
        units=record.units,
        clicks=first.clicks if first is not None and ctr != COLUMN else None,
        rewards={} if cvr == COLUMN else {r: model.conversions for r, model in models.items()},
    )
