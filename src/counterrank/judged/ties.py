"""Every tie broken for the best or for the worst, by rating: what equal scores can decide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterrank.arrays import Bools, Floats, sort_order
from counterrank.hits import Hits, Pool
from counterrank.judged.measured import System, Truth
from counterrank.ranking import Measure, unscaled, values


def bracketed(system: System, truth: Truth) -> System:
    """The system with the sums that bracket its ties, so that its hits need not be kept."""
    measures, base = truth.asked.measures, truth.base
    sums = np.zeros((len(measures), 2, 3))
    for end in (0, 1):
        x = system.values
        if system.lists.tied:
            x = unscaled(measures, broken(system.hits, best=end == 1), truth.pool)
        for m, measure in enumerate(measures):
            kept = ~np.isnan(system.values[m])
            columns = unit_columns(measure, x[m], base.get(m))[kept]
            sums[m, end, : columns.shape[1]] = columns.sum(axis=0)
            sums[m, end, 2] = len(columns)
    return replace(system, lists=replace(system.lists, brackets=sums))


def bracket(measure: Measure, sums: Floats) -> tuple[float, float]:
    """Least and greatest value of the measure, from the sums of all buckets (2 x columns)."""
    finish = measure.averaged(np.ones(1)).finish
    ends = [float(finish(row[:-1] / row[-1])) for row in sums]
    return min(ends), max(ends)


def tie_bracket(hits: Hits, pool: Pool, measure: Measure, kept: Bools) -> tuple[float, float]:
    """The same from the hits of the whole data set, over the units kept."""
    ends = []
    for best in (False, True):
        x = values([measure], broken(hits, best=best), pool)[0]
        aggregate = measure.aggregate(pool)
        ends.append(float(aggregate.finish(aggregate.columns(x)[kept].mean(axis=0))))
    return min(ends), max(ends)


def unit_columns(measure: Measure, x: Floats, base: Floats | None) -> Floats:
    """The columns whose means make the measure; those of a ratio before they are scaled."""
    if base is None:
        return measure.averaged(None).columns(x)
    return np.stack([x, base], axis=1)


def broken(hits: Hits, *, best: bool) -> Hits:
    """Tied hits moved to the top of their tied group, best rating first, or to its bottom."""
    group = np.cumsum(
        np.diff(hits.unit, prepend=-1).astype(bool) | np.diff(hits.first, prepend=-1).astype(bool)
    )
    by = np.lexsort((-hits.rating if best else hits.rating, group))
    sizes = np.bincount(group)[group]
    begins = np.searchsorted(group, group)
    place = np.arange(len(group)) - begins
    rank = hits.first + place if best else hits.last - sizes + 1 + place
    moved = replace(hits.take(by), rank=rank, expected=False)
    return moved.take(sort_order(moved.unit, moved.rank))
