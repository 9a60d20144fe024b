"""Sums in the place of per-user columns, where users are too many to be brought together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add

import numpy as np
import polars as pl

from counterrank.arrays import Floats
from counterrank.conversions.valued import Key
from counterrank.data.ids import hash_ids
from counterrank.moments import Draws, Moments, Resamples, Sums, laid

Group = tuple[str, str]  # measure, reward: what is ever compared


def group(key: Key) -> Group:
    """Systems and estimators are compared by the same measure of the same reward."""
    return key[1], key[3]


def totals(columns: Mapping[Key, Floats], units: pl.Series, draws: Draws) -> dict[Group, Sums]:
    """The sums of one bucket; its users are drawn once, for all columns."""
    ids, drawn = hash_ids(units), None
    places = laid({key: x.shape[1] for key, x in columns.items()})
    if draws.resamples:
        every = np.hstack(list(columns.values()))
        drawn = Resamples.of(every, ids, draws=draws.resamples, seed=draws.seed)
    out = {}
    for each in dict.fromkeys(map(group, columns)):
        mine = [key for key in columns if group(key) == each]
        again = None
        if drawn is not None:
            again = Resamples(drawn.n, np.hstack([drawn.sums[:, places[key]] for key in mine]))
        out[each] = Sums(Moments.of(np.hstack([columns[key] for key in mine])), again)
    return out


def added(parts: Sequence[dict[Group, Sums]]) -> dict[Group, Sums]:
    """The sums of all buckets."""
    return {each: reduce(add, [part[each] for part in parts]) for each in parts[0]}
