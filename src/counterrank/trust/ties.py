"""How much do tied scores decide? Their share, and the best and worst the ties allow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterrank.arrays import Bools, Floats, sort_order
from counterrank.hits import Hits, Pool
from counterrank.ranking import Measure
from counterrank.ranking import values as unit_values
from counterrank.trust.diagnosis import Diagnosis


def ties(
    system: str,
    hits: Hits,
    pool: Pool,
    measures: list[Measure],
    values: Floats,
    widths: list[float],
) -> Diagnosis:
    """Share of hits whose score ties with another item's.

    Above 1 % caution; if the best and the worst order differ by more than the interval of some
    measure is wide, fail: the order of ties decides more than chance does. ``values`` (measures x
    units) tells which units count.
    """
    tied = hits.first is not hits.rank and len(hits.unit) > 0
    share = float(np.mean(hits.last > hits.first)) if tied else 0.0
    text = f"{share:.1%} of the judged items listed tie with another item."
    verdict = "pass" if share <= 0.01 else "caution"
    if share > 0.01:
        wide = []
        for m, x, width in zip(measures, values, widths, strict=True):
            low, high = tie_bracket(hits, pool, m, ~np.isnan(x))
            if high - low > np.nan_to_num(width):  # one user has no interval
                wide.append(f"{m} {low:.4f} to {high:.4f}")
        if wide:
            verdict = "fail"
            text += f" The order of ties decides: {', '.join(wide)}."
    return Diagnosis("ties", system, share, 0.01, verdict, text)


def tie_bracket(hits: Hits, pool: Pool, measure: Measure, kept: Bools) -> tuple[float, float]:
    """The measure's aggregate with every tie broken for the worst and for the best, by rating."""
    ends = []
    for best in (False, True):
        x = unit_values([measure], _broken(hits, best=best), pool)[0]
        aggregate = measure.aggregate(pool)
        ends.append(float(aggregate.finish(aggregate.columns(x)[kept].mean(axis=0))))
    return min(ends), max(ends)


def _broken(hits: Hits, *, best: bool) -> Hits:
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
