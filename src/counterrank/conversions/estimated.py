"""From columns of all users, or from their sums, to estimates."""

from __future__ import annotations

from collections.abc import Collection

from counterrank.aggregate import Function
from counterrank.conversions.gather import Asked, nothing
from counterrank.conversions.sold import Sold
from counterrank.conversions.totals import group
from counterrank.conversions.valued import Key
from counterrank.estimates import Estimate, Uncertain
from counterrank.logged import MeanWeight
from counterrank.logged.functions import First
from counterrank.moments import Merged, laid


def estimated(done: Sold, asked: Asked) -> dict[Key, Uncertain]:
    """Every system, measure, estimator and reward."""
    of, columns = _functions(asked), done.columns
    if not done.sums:
        return {
            key: Estimate.of_columns(x, done.units, of[key[1], key[2]])
            for key, x in columns.items()
        }
    found: dict[Key, Uncertain] = {}
    for each, sums in done.sums.items():
        places = laid({key: x.shape[1] for key, x in columns.items() if group(key) == each})
        for key, place in places.items():
            found[key] = Merged.of(sums, place, of[key[1], key[2]])
    return {key: found[key] for key in columns}


def width(asked: Asked, predicted: Collection[str]) -> int:
    """How many columns a run has."""
    return sum(x.shape[1] for x in nothing(asked, predicted).columns.values())


def _functions(asked: Asked) -> dict[tuple[str, str], Function]:
    """What makes a value of the means of the columns of a measure and estimator."""
    return {
        (str(m), str(e)): First()
        if m.form == "share" and not isinstance(e, MeanWeight)
        else e.combined("session")
        for m in asked.measures
        for e in asked.estimators
    }
