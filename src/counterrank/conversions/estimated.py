"""From sums per user to estimates with influence values."""

from __future__ import annotations

from counterrank.aggregate import Function
from counterrank.conversions.gather import Asked
from counterrank.conversions.sold import Sold
from counterrank.conversions.valued import Key
from counterrank.estimates import Estimate
from counterrank.logged import MeanWeight
from counterrank.logged.functions import First


def estimated(done: Sold, asked: Asked) -> dict[Key, Estimate]:
    """Every system, measure, estimator and reward."""
    of = functions(asked)
    return {
        (system, measure, label, reward): Estimate.of_columns(
            columns, done.units, of[measure, label]
        )
        for system, part in done.runs.items()
        for (measure, label, reward), columns in part.columns.items()
    }


def functions(asked: Asked) -> dict[tuple[str, str], Function]:
    """What makes a value of the means of the columns of a measure and estimator."""
    return {
        (str(m), str(e)): First()
        if m.form == "share" and not isinstance(e, MeanWeight)
        else e.combined("session")
        for m in asked.measures
        for e in asked.estimators
    }
