"""From columns of all users, or from their sums, to estimates."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from counterrank.aggregate import Function
from counterrank.arrays import Floats
from counterrank.conversions.gather import nothing
from counterrank.conversions.listing import Asked
from counterrank.conversions.sold import Sold
from counterrank.conversions.totals import group
from counterrank.conversions.valued import Key
from counterrank.estimates import Estimate, Uncertain
from counterrank.moments import Merged, laid
from counterrank.ope.estimators.ips import MeanWeight
from counterrank.stats import functions


@dataclass(frozen=True)
class Smooth(Function):
    """A plain function of means, with its gradient."""

    of: functions.Function

    def finish(self, means: Floats) -> Floats:
        return self.of(means)

    def gradient(self, means: Floats) -> Floats:
        return functions.gradient(self.of, means)


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
        (str(m), str(e)): Smooth(
            functions.mean
            if m.form == "share" and not isinstance(e, MeanWeight)
            else e.combined("session")
        )
        for m in asked.measures
        for e in asked.estimators
    }
