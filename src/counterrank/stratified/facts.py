"""What all the feedback says before any run is looked at: counts that merge, bucket by bucket.

Items are counted, catalogue-sized. Propensities that differ within an item are counted value by
value or, for the cut by items, summed in whole numbers: cuts are exact, whatever the buckets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.data.ids import positions
from counterrank.pool import as_written, greatest
from counterrank.schema import Table
from counterrank.stratified.cut import Spread
from counterrank.stratified.propensities import Catalogue, looked_up, refuse_twice

LOW = 26  # binary digits of the low part of a sum
STEPS = 2.0**53  # of a propensity: half a unit in its last place
SHOWN = 1000  # values of a column that are looked at: far more than can be strata


@dataclass(frozen=True)
class Sought:
    """What else is to be counted: values of a ``column``, propensities in a ``propensity`` column.

    ``by_item`` says that the propensities of an item are counted for themselves.
    """

    column: str = ""
    propensity: str = ""
    by_item: bool = False


@dataclass(frozen=True, eq=False)
class Facts:
    """Counts of one bucket, or of all.

    ``items`` has the judgments of each item, ``feedback`` the rows of each in that table. ``top``
    is the greatest rating, ``open_top`` that of the open loop. ``values`` are the first of the
    ``distinct`` ones of the column (``more``: there may be more of these); ``spread`` has how often
    each propensity stands in the judgments.
    """

    items: pl.DataFrame
    top: float
    open_top: float
    values: pl.Series | None = None
    distinct: int = 0
    more: bool = False
    spread: pl.DataFrame | None = None
    feedback: pl.DataFrame | None = None

    def __add__(self, other: Facts) -> Facts:
        """Those of both, in an order that no bucket changes."""
        values, distinct, more = None, 0, False
        if self.values is not None and other.values is not None:
            values = pl.concat([self.values, other.values]).unique().sort()
            more = len(self.values) < self.distinct or len(other.values) < other.distinct
            distinct = max(len(values), self.distinct, other.distinct)
            values = values.head(SHOWN)
        return Facts(
            items=_summed(self.items, other.items),
            top=max(self.top, other.top),
            open_top=max(self.open_top, other.open_top),
            values=values,
            distinct=distinct,
            more=self.more or other.more or more,
            spread=_both(self.spread, other.spread),
            feedback=_both(self.feedback, other.feedback),
        )


def facts(tables: Mapping[str, Table], sought: Sought, *, alone: bool = False) -> Facts:
    """The facts of the tables ``judgments`` and, where they are, propensities, feedback, open.

    ``alone``: there is nothing to add to them, so that rows can stand for counts of them.
    """
    judged = tables["judgments"].frame
    values, spread = None, None
    if sought.column:
        values = column_of(judged, sought.column).unique().sort()
    if sought.propensity or "propensities" in tables:
        if sought.propensity:
            p = judged[sought.propensity].cast(pl.Float64)
        else:
            refuse_twice(tables["propensities"])
            p = pl.Series(looked_up(judged.to_dict(), tables["propensities"]))
        each = judged.select("item", p.alias("p"))
        if sought.by_item:
            spread = _by_item(each)
        elif alone:
            spread = each.select("p", count=pl.lit(1))
        else:
            spread = _counted(each, ["p"])
    return Facts(
        items=counted_items(judged),
        top=greatest(tables["judgments"]),
        open_top=greatest(tables["open"]) if "open" in tables else -np.inf,
        values=None if values is None else values.head(SHOWN),
        distinct=0 if values is None else len(values),
        spread=spread,
        feedback=counted_items(tables["feedback"].frame) if "feedback" in tables else None,
    )


def catalogue(found: Facts) -> Catalogue:
    """The judged items."""
    return Catalogue(found.items["item"], found.items["count"].to_numpy().astype(np.int64))


def spread_of(found: Facts, known: Catalogue) -> Spread:
    """Propensities that differ within items."""
    assert found.spread is not None
    if "p" in found.spread.columns:
        p, count = found.spread["p"].to_numpy(), found.spread["count"].to_numpy()
        return Spread.of(p, np.zeros(len(p), np.int64), count)
    unknown = int(np.sum(found.spread["rows"].to_numpy() - found.spread["count"].to_numpy()))
    there = found.spread.filter(pl.col("count") > 0)
    count, least, most = (there[name].to_numpy() for name in ("count", "least", "most"))
    mean = (there["high"].to_numpy() * 2.0**LOW + there["low"].to_numpy()) / STEPS / count
    item = positions(there["item"], known.items)
    return Spread(mean, item, count, least, most, unknown, len(known.items))


def _by_item(each: pl.DataFrame) -> pl.DataFrame:
    """Of each item its rows, those with a propensity, least and greatest propensity, and the sum.

    The sum is of whole steps of :math:`2^{-53}`, high and low digits apart: it is exact, in any
    order, up to :math:`2^{36}` rows.
    """
    known = each.with_columns(pl.col("p").fill_nan(None))
    steps = (pl.col("p") * STEPS).round().cast(pl.Int64)
    return (
        known.with_columns(high=steps // (1 << LOW), low=steps % (1 << LOW))
        .group_by("item")
        .agg(
            pl.len().cast(pl.Int64).alias("rows"),
            pl.col("p").count().cast(pl.Int64).alias("count"),
            pl.col("high", "low").sum(),
            pl.col("p").min().alias("least"),
            pl.col("p").max().alias("most"),
        )
        .sort("item")
    )


def column_of(judged: pl.DataFrame, name: str) -> pl.Series:
    """A column of the judgments to cut by; ratings are floats whatever they were written as."""
    if name == "rating":
        return as_written(judged[name]).cast(pl.Float64)
    return judged[name]


def counted_items(frame: pl.DataFrame) -> pl.DataFrame:
    """How many rows each item has."""
    return _counted(frame, ["item"])


def _counted(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    return frame.group_by(keys).agg(pl.len().cast(pl.Int64).alias("count")).sort(keys)


def _both(a: pl.DataFrame | None, b: pl.DataFrame | None) -> pl.DataFrame | None:
    return None if a is None or b is None else _summed(a, b)


def _summed(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    """Counts of both, in order of what is counted."""
    keys = [name for name in ("item", "p") if name in a.columns]
    rest = [name for name in a.columns if name not in (*keys, "least", "most")]
    ends = [pl.col("least").min(), pl.col("most").max()] if "least" in a.columns else []
    return pl.concat([a, b]).group_by(keys).agg(pl.col(rest).sum(), *ends).sort(keys)
