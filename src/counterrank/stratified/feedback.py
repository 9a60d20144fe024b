"""What all the feedback says before any list is looked at, and the scheme that follows from it.

`FeedbackTotals` are counts of all partitions: catalogue-sized, or of the distinct propensities.
Sums of propensities by item are made in whole numbers, so cuts are exact, whatever the partitions.
`Scheme` is what they give: propensities and strata. The weight and the stratum of a judgment then
follow from the judgment alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import numpy as np
import polars as pl

from counterrank.core.arrays import Bools, Floats, Ints
from counterrank.core.merge import by_key, union
from counterrank.data.ids import positions
from counterrank.data.runs import RunTables
from counterrank.data.schema import Table
from counterrank.engine.partitions import Partition
from counterrank.matching.pool import Pool, as_written, greatest, make_pool
from counterrank.metrics import Measure
from counterrank.stratified.propensity_strata import (
    ColumnValues,
    Propensities,
    PropensitySpread,
    Strata,
    by_values,
    cut_strata,
    from_items,
    from_popularity,
    look_up,
    nothing_known,
    validate_once,
)
from counterrank.stratified.request import FEEDBACK, JUDGMENTS, OPEN, PROPENSITIES, StrataRequest
from counterrank.stratified.stratified_value import Methods, has_labels

LOW = 26  # binary digits of the low part of a sum
STEPS = 2.0**53  # of a propensity: half a unit in its last place

# Rules, entry by entry: what is so in any part, and the greatest of all parts.
ANY, GREATEST = partial(np.any, axis=0), partial(np.max, axis=0)


def _add_counts(parts: list[pl.DataFrame | None]) -> pl.DataFrame | None:
    """A rule: counts of the same item or propensity add up, in their order."""
    some = [part for part in parts if part is not None]
    if not some:
        return None
    keys = [name for name in ("item", "p") if name in some[0].columns]
    rest = [name for name in some[0].columns if name not in (*keys, "least", "most")]
    ends = [pl.col("least").min(), pl.col("most").max()] if "least" in some[0].columns else []
    return pl.concat(some).group_by(keys).agg(pl.col(rest).sum(), *ends).sort(keys)


@dataclass(frozen=True, eq=False)
class FeedbackTotals:
    """Counts of one partition, or of all.

    ``items`` has the judgments of each item, ``feedback`` the rows of each in that table. ``top``
    is the greatest rating, ``open_top`` that of the open loop, ``users`` the number of judged
    users. ``values`` are those of the column that is cut by; ``spread`` has how often each
    propensity stands in the judgments. ``systems`` are those in the columns of tables of lists.
    """

    items: Annotated[pl.DataFrame, _add_counts]
    top: Annotated[float, max]
    open_top: Annotated[float, max]
    users: int
    systems: Annotated[dict[str, pl.Series], by_key(union)]
    values: ColumnValues | None
    spread: Annotated[pl.DataFrame | None, _add_counts]
    feedback: Annotated[pl.DataFrame | None, _add_counts]

    @classmethod
    def of(
        cls, request: StrataRequest, runs: RunTables, more: RunTables, part: Partition
    ) -> FeedbackTotals:
        """Those of one partition; ``more`` are lists for the open loop."""
        tables = part.tables
        judged = tables[JUDGMENTS].frame
        return cls(
            items=count_rows(judged),
            top=greatest(tables[JUDGMENTS]),
            open_top=greatest(tables[OPEN]) if OPEN in tables else -np.inf,
            users=judged["user"].n_unique(),
            systems=runs.systems_in(tables) | more.systems_in(tables),
            values=ColumnValues.of(cut_column(judged, request.column)) if request.column else None,
            spread=_spread(request, tables),
            feedback=count_rows(tables[FEEDBACK].frame) if FEEDBACK in tables else None,
        )

    def propensities(self, request: StrataRequest, aside: Mapping[str, Table]) -> Propensities:
        """Where those of judgments come from; ``aside`` are tables that know no users."""
        if request.popular:
            counts = aside[FEEDBACK].frame if FEEDBACK in aside else self.feedback
            word = request.propensity or "popularity"
            return from_popularity(self.items, word, counts, self.users)
        if request.propensity == "column":
            return Propensities(f"column {request.source}", column=request.source)
        if PROPENSITIES in aside:
            return from_items(self.items["item"], aside[PROPENSITIES])
        if not len(self.by_judgment.p):
            raise nothing_known(request.source, ("user", "item"))
        return Propensities(f"table {request.source}", by_user=True)

    @property
    def by_judgment(self) -> PropensitySpread:
        """Propensities that differ within items."""
        assert self.spread is not None
        if "p" in self.spread.columns:
            p, count = self.spread["p"].to_numpy(), self.spread["count"].to_numpy()
            return PropensitySpread.of(p, np.zeros(len(p), np.int64), count)
        unknown = int(np.sum(self.spread["rows"].to_numpy() - self.spread["count"].to_numpy()))
        there = self.spread.filter(pl.col("count") > 0)
        count, least, most = (there[name].to_numpy() for name in ("count", "least", "most"))
        mean = (there["high"].to_numpy() * 2.0**LOW + there["low"].to_numpy()) / STEPS / count
        item = positions(there["item"], self.items["item"])
        return PropensitySpread(mean, item, count, least, most, unknown, self.items.height)


@dataclass(frozen=True, eq=False)
class WeightedFeedback:
    """Judgments (``pool``): the ``item`` of each, by its place in the catalogue, and its stratum.

    ``weight`` is one over the propensity of each, 0 where that is unknown.
    """

    pool: Pool
    item: Ints
    code: Ints
    weight: Floats


@dataclass(frozen=True, eq=False)
class StratumCounts:
    """What adds up over users.

    ``rows`` and ``users`` are the judgments and users of each stratum; ``rows_there`` the judgments
    of users who count for all systems. ``items`` (strata x catalogue) says which item has feedback
    there, ``unknown`` counts judgments without a propensity. ``weighty`` and ``heaviest`` are, for
    each measure, how many judgments with something to find have a weight, and the greatest weight.
    ``counted`` (measures x all, then each stratum) are users who count, ``something`` (measures)
    those with something to find in any stratum. ``patterns`` has how many users who count for all
    systems have feedback in which strata, by the sum of :math:`2^q`.
    """

    rows: Ints
    rows_there: Ints
    users: Ints
    items: Annotated[Bools, ANY]
    unknown: int
    weighty: Ints
    heaviest: Annotated[Floats, GREATEST]
    counted: Ints
    something: Ints
    patterns: dict[int, int]

    def filled(self, measure: int) -> Bools:
        """Strata in which anybody has anything to find."""
        return self.counted[measure, 1:] > 0

    def with_feedback(self, strata: Bools) -> int:
        """Users with feedback in any of some strata."""
        bits = sum(1 << q for q in np.flatnonzero(strata).tolist())
        return sum(count for kind, count in self.patterns.items() if kind & bits)


@dataclass(frozen=True, eq=False)
class Scheme:
    """How feedback is weighed and cut: ``items`` of the catalogue, propensities, ``strata``.

    ``column`` is that of the judgments which is cut by, if it is one; ``top`` and ``open_top`` are
    the greatest ratings; ``within`` the share of the variance of log propensities that is left
    within strata (NaN where a column is cut by).
    """

    items: pl.Series
    top: float
    open_top: float
    propensities: Propensities
    strata: Strata
    column: str
    within: float

    @classmethod
    def of(
        cls, request: StrataRequest, totals: FeedbackTotals, aside: Mapping[str, Table]
    ) -> Scheme:
        """From the counts of all partitions; ``aside`` are tables that know no users."""
        for m in request.measures:
            for top in [totals.top] + [totals.open_top] * request.open_loop:
                m.refuse(_pool_of(top))
        known, within = totals.propensities(request, aside), float("nan")
        if totals.values is not None:
            strata = by_values(request.column, totals.values.first, totals.values.words)
        else:
            p, count = known.of_item, totals.items["count"].to_numpy()
            item = np.arange(len(count))
            spread = totals.by_judgment if p is None else PropensitySpread.of(p, item, count)
            strata = cut_strata(spread, bins=request.bins, how=request.cut)
            within = spread.within(strata.code(spread.p, spread.item))
        items = totals.items["item"]
        return cls(items, totals.top, totals.open_top, known, strata, request.column, within)

    def methods(self, measures: tuple[Measure, ...]) -> Methods:
        """The methods there are."""
        known = self.propensities
        published = tuple(m for m in measures if known.source == "published" and has_labels(m))
        return Methods(measures, self.strata.names, published)

    def weigh(self, part: Partition) -> WeightedFeedback:
        """The judgments of a partition, weighed and cut."""
        pool = replace(make_pool(part[JUDGMENTS]), top=self.top)
        item = positions(pool.items, self.items)
        judged = {"user": pool.units.gather(pool.unit), "item": pool.items}
        judged |= {"rating": pl.Series(pool.rating), **pool.more.to_dict()}
        p = self.propensities.rows(judged, item, part.tables.get(PROPENSITIES))
        strata = self.strata
        code = strata.code_of(judged[self.column]) if self.column else strata.code(p, item)
        return WeightedFeedback(pool, item, code, weight=np.nan_to_num(1 / p, nan=0.0))

    def open_pool(self, part: Partition) -> Pool | None:
        """The open-loop judgments of a partition, if there are any."""
        return replace(make_pool(part[OPEN]), top=self.open_top) if OPEN in part.tables else None


def _pool_of(top: float) -> Pool:
    """A pool of which no more is known than its greatest rating."""
    none = pl.Series([], dtype=pl.Int64)
    return Pool(none, none, np.zeros(0, np.int64), np.zeros(0), top)


def _spread(request: StrataRequest, tables: Mapping[str, Table]) -> pl.DataFrame | None:
    """How often each propensity stands in the judgments, where these differ within items."""
    judged = tables[JUDGMENTS].frame
    if request.propensity == "column":
        p = judged[request.source].cast(pl.Float64)
    elif PROPENSITIES in tables:
        validate_once(tables[PROPENSITIES])
        p = pl.Series(look_up(judged.to_dict(), tables[PROPENSITIES]))
    else:
        return None
    rows = judged.select("item", p.alias("p"))
    return _by_item(rows) if request.cut == "items" else count_rows(rows, "p")


def _by_item(rows: pl.DataFrame) -> pl.DataFrame:
    """Of each item its rows, those with a propensity, least and greatest propensity, and the sum.

    The sum is of whole steps of :math:`2^{-53}`, high and low digits apart: it is exact, in any
    order, up to :math:`2^{36}` rows.
    """
    known = rows.with_columns(pl.col("p").fill_nan(None))
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


def cut_column(judged: pl.DataFrame, name: str) -> pl.Series:
    """A column of the judgments to cut by; ratings are floats whatever they were written as."""
    if name == "rating":
        return as_written(judged[name]).cast(pl.Float64)
    return judged[name]


def count_rows(frame: pl.DataFrame, key: str = "item") -> pl.DataFrame:
    """How many rows each item, or each propensity, has."""
    return frame.group_by(key).agg(pl.len().cast(pl.Int64).alias("count")).sort(key)
