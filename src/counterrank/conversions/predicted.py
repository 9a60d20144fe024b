"""Where predictions come from: columns of the funnel or of a table, of the run, or a model."""

from __future__ import annotations

import numpy as np

from counterrank.arrays import Bools, Floats
from counterrank.conversions.gather import Predict
from counterrank.conversions.ledger import Ledger
from counterrank.engine import Part
from counterrank.propensity import Nuisance, fitted, training

COLUMN = "column"  # predictions that were given, not fitted


def of_run(column: str) -> Predict:
    """A column of the run."""

    def predict(part: Part, near: Bools) -> Floats:
        values: Floats = part.column(column)[near]
        return values

    return predict


def of_ledger(cvr: Floats) -> Predict:
    """What the funnel or the predictions say of a pair; NaN where they say nothing."""

    def predict(part: Part, near: Bools) -> Floats:
        h = np.full(len(near), np.nan)
        h[part.met.row] = cvr[part.judgment]
        return h[near]

    return predict


def of_model(model: Nuisance, ledger: Ledger) -> Predict:
    """What a fitted model says."""

    def predict(part: Part, near: Bools) -> Floats:
        item = ledger.items.at(part.met.bucket.item)
        user = part.unit[part.met.lists]
        return model.cvr(user[near], item[near])

    return predict


def clicks_of_model(model: Nuisance, ledger: Ledger) -> Floats:
    """The ctr of the clicked pairs; that of the others is not needed."""
    ctr = np.full(len(ledger.click), np.nan)
    z = ledger.click
    ctr[z] = model.ctr(ledger.pool.unit[z], ledger.item[z])
    return ctr


def learnt(ledger: Ledger, *, ctr: str, cvr: str, pairs: str, seed: int) -> dict[str, Nuisance]:
    """Both models for each reward, cross-fitted, where one of them is asked for."""
    if (ctr, cvr) == (COLUMN, COLUMN):
        return {}
    kept = ledger.held
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
            ),
            ctr="rates" if ctr == COLUMN else ctr,
            cvr="rates" if cvr == COLUMN else cvr,
            seed=seed,
        )
        for reward, y in ledger.reward.items()
    }
