"""Every tie broken for the best or for the worst, by rating: what equal scores can decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from counterrank.core.arrays import Bools, Floats, sort_order
from counterrank.matching.hits import Hits, Pool
from counterrank.metrics import Measure, unscaled


def tie_shifts(
    measures: Sequence[Measure],
    hits: Hits,
    pool: Pool,
    x: Floats,
    counted: Sequence[Bools | None],
) -> Floats | None:
    """How far ties can move the sums of each measure's columns; None where nothing ties.

    Measures x 2 (worst, best) x columns. ``x`` are the values as ties stand (measures x users),
    ``counted`` says for each measure which users count (None: all). Only users with ties are
    looked at.
    """
    if hits.first is hits.rank or not (tied := hits.last > hits.first).any():
        return None
    touched = np.zeros(pool.n, bool)
    touched[hits.unit[tied]] = True
    own = hits.take(touched[hits.unit])
    shifts = np.zeros((len(measures), 2, 2))
    for end in (0, 1):
        moved = unscaled(measures, break_ties(own, best=end == 1), pool)
        for row, m in enumerate(measures):
            mask = counted[row]
            some = touched if mask is None else touched & mask
            base = m.base(pool)
            base = None if base is None else base[some]
            both = (m.columns(values[row, some], base) for values in (moved, x))
            for column, (new, old) in enumerate(zip(*both, strict=True)):
                shifts[row, end, column] = np.sum(new - old)
    return shifts


def tie_bracket(measure: Measure, means: Floats, shifts: Floats) -> tuple[float, float]:
    """Least and greatest value of a measure, if the means of its columns shift (2 x columns)."""
    ends = [float(measure.function(means + shift[: len(means)])) for shift in shifts]
    return min(ends), max(ends)


def break_ties(hits: Hits, *, best: bool) -> Hits:
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
