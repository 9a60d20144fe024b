"""Where predictions come from: columns of the funnel or of a table, of the run, or a model."""

from __future__ import annotations

import numpy as np

from counterrank.arrays import Bools, Floats
from counterrank.conversions.gather import Predict
from counterrank.engine import Part


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
