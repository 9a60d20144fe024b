"""Where predictions come from: columns of the funnel or of a table, of the run, or a model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from counterrank.arrays import Floats
from counterrank.conversions.gather import Listing, Predict
from counterrank.conversions.ledger import Ledger
from counterrank.conversions.reading import Tables
from counterrank.propensity import Encoded, Nuisance, encoded, fitted, training

COLUMN = "column"  # predictions that were given, not fitted
FOLDS = 5  # fewer where there are fewer users


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


def of_model(model: Nuisance, ledger: Ledger) -> Predict:
    """What a fitted model says."""

    def predict(at: Listing) -> Floats:
        return model.cvr(at.part.unit[at.lists], ledger.items.at(at.items()))

    return predict


def clicks_of_model(model: Nuisance, ledger: Ledger) -> Floats:
    """The ctr of the clicked pairs; that of the others is not needed."""
    ctr = np.full(len(ledger.click), np.nan)
    z = ledger.click
    ctr[z] = model.ctr(ledger.pool.unit[z], ledger.item[z])
    return ctr


def known(ledger: Ledger, tables: Tables) -> dict[str, Encoded]:
    """What the tables of features say of every user and item that counts."""
    ids = {"user": ledger.pool.units, "item": ledger.items.names}
    return {of: encoded(table, of, ids[of]) for of, table in tables.features.items()}


def learnt(
    ledger: Ledger,
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
    kept = ledger.held
    numbers = {of: found.numbers for of, found in features.items()}
    return {
        reward: fitted(
            training(
                ledger.pool.unit[kept],
                ledger.item[kept],
                ledger.click[kept].astype(float),
                y[kept],
                users=ledger.pool.n,
                items=len(ledger.items.names),
                pairs=pairs,
                ctr=ledger.ctr[kept] if ctr == COLUMN and ledger.ctr is not None else None,
            ),
            ctr="rates" if ctr == COLUMN else ctr,
            cvr="rates" if cvr == COLUMN else cvr,
            folds=min(FOLDS, max(ledger.pool.n, 2)),
            seed=seed,
            user_features=numbers.get("user"),
            item_features=numbers.get("item"),
        )
        for reward, y in ledger.reward.items()
    }
