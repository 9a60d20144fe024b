"""Cutting feedback into strata: by propensity, or by the values of a column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.arrays import Floats, Ints, summed
from counterrank.errors import InputError, UsageError

CUTS = ("width", "quantile", "items")
MOST = 20  # strata; more say more about noise than about groups
UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Strata:
    """``code`` is the stratum of each judgment; ``low`` to ``high`` its propensities.

    ``empty`` are bins of the cut that no feedback fell into.
    """

    by: str
    names: tuple[str, ...]
    code: Ints
    low: Floats
    high: Floats
    empty: tuple[str, ...] = ()


def cut(propensity: Floats, item: Ints, *, bins: int, how: str) -> Strata:
    """Strata Q1 (least propensity) to Qx of feedback rows, ``item`` being the item of each.

    ``width``: bins of equal width. ``quantile``: about the same number of rows in each.
    ``items``: about the same number of items, each at its mean propensity. Rows without a
    propensity (NaN) are a stratum of their own.
    """
    if not isinstance(bins, (int, np.integer)) or not 1 <= bins <= MOST:
        raise UsageError(
            f"The number of strata must lie between 1 and {MOST}, not {bins}.",
            todo="Two to five are usual: each needs some 30 users with something to find.",
        )
    known = ~np.isnan(propensity)
    if not known.any():
        raise InputError("No feedback row has a propensity.", todo="Give one that covers the data.")
    p = propensity[known]
    code = np.full(len(propensity), bins)
    if how == "width":
        code[known], edges = equal_width(p, bins)
        low, high = np.append(p.min(), edges[1:-1]), edges[1:]
    else:
        code[known] = equal_parts(p, bins) if how == "quantile" else _by_items(p, item[known], bins)
        low = np.array([p[code[known] == q].min(initial=np.inf) for q in range(bins)])
        high = np.array([p[code[known] == q].max(initial=-np.inf) for q in range(bins)])
    names = [f"Q{q + 1}" for q in range(bins)]
    if not known.all():
        names, low, high = [*names, UNKNOWN], np.append(low, np.nan), np.append(high, np.nan)
    return _without_empty(how, names, code, low, high)


def equal_width(p: Floats, bins: int) -> tuple[Ints, Floats]:
    """Bins of equal width between the least and the greatest value, closed on the right.

    The lowest edge is moved down by 0.1 % of the range, so that the least value is inside. Where
    all values are equal, all are in the first bin.
    """
    edges = np.linspace(p.min(), p.max(), bins + 1)
    edges[0] -= 0.001 * (p.max() - p.min())
    code: Ints = np.clip(np.searchsorted(edges, p, side="left") - 1, 0, bins - 1)
    return code, edges


def equal_parts(x: Floats, bins: int) -> Ints:
    r"""Bins of about the same number of values; equal values stay together.

    A value goes to bin :math:`\lfloor X\,s \rfloor`, where :math:`s` is the share of values below
    it plus half the share equal to it.
    """
    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    middle = (np.cumsum(count) - count / 2) / len(x)
    bin_of: Ints = np.minimum((bins * middle).astype(np.int64), bins - 1)
    return bin_of[place]


def _by_items(p: Floats, item: Ints, bins: int) -> Ints:
    """Bins of about the same number of items, each at the mean propensity of its rows."""
    kinds, place, count = np.unique(item, return_inverse=True, return_counts=True)
    mean = summed(place, p, len(kinds)) / count
    return equal_parts(np.round(mean, 14), bins)[place]  # means of equal values are equal


def by_values(column: pl.Series) -> Strata:
    """One stratum for each value of a column."""
    values = column.unique().sort()
    if len(values) > MOST:
        shown = ", ".join(str(v) for v in values.head(3))
        raise InputError(
            f'Column "{column.name}" has too many values to be strata.',
            found=f"It has {len(values):,} ({shown}, ...); at most {MOST} make sense.",
            todo="Group them where the table is made, or cut by propensity: --cut width.",
        )
    place = pl.DataFrame({"value": values}).with_row_index("place")
    found = column.alias("value").to_frame().join(place, on="value", maintain_order="left")
    none = np.full(len(values), np.nan)
    return Strata(
        by=column.name,
        names=tuple(f"{column.name}={value}" for value in values.cast(pl.String)),
        code=found["place"].to_numpy().astype(np.int64),
        low=none,
        high=none,
    )


def _without_empty(by: str, names: list[str], code: Ints, low: Floats, high: Floats) -> Strata:
    """Only the bins that hold feedback, under their own names; the others are named as empty."""
    full = np.bincount(code, minlength=len(names)) > 0
    empty = [
        f"{name} ({low[q]:.4g} to {high[q]:.4g})" if low[q] <= high[q] else name
        for q, name in enumerate(names)
        if not full[q]
    ]
    return Strata(
        by=by,
        names=tuple(name for name, there in zip(names, full, strict=True) if there),
        code=(np.cumsum(full) - 1)[code],
        low=low[full],
        high=high[full],
        empty=tuple(empty),
    )
