"""What ``strata`` holds runs against: judgments with propensities, cut into strata.

What concerns all the feedback (the cut, the propensities, the greatest rating) is the ground,
made of facts that add up; what runs are held against is then made of the ground and of the
judgments of some users alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.data.ids import positions
from counterrank.errors import InputError
from counterrank.hits import Pool
from counterrank.pool import pooled
from counterrank.ranking import Measure
from counterrank.schema import Table
from counterrank.stratified import CUTS, Layout, Propensities, Strata, by_values
from counterrank.stratified import cut as cut_into
from counterrank.stratified.cut import Spread
from counterrank.stratified.facts import Facts, catalogue, spread_of
from counterrank.stratified.propensities import (
    Catalogue,
    from_items,
    from_popularity,
    nothing_known,
)
from counterrank.verbs.strata_asked import Asked


@dataclass(frozen=True, eq=False)
class Truth:
    """What runs are held against: the feedback of some users, and their open loop."""

    layout: Layout
    open: Pool | None


@dataclass(frozen=True, eq=False)
class Ground:
    """What is known of all the feedback: ``items``, propensities, ``strata``, greatest ratings.

    ``column`` is that of the judgments which is cut by, if it is one.
    """

    items: pl.Series
    top: float
    open_top: float
    propensities: Propensities
    strata: Strata
    column: str
    measures: tuple[Measure, ...]

    @property
    def labels(self) -> tuple[Measure, ...]:
        """The measures for which IPS is also wanted as the published code computes it."""
        return self.propensities.labels(self.measures)

    def columns(self, systems: int) -> int:
        """How many values of a user are kept for so many systems."""
        ways = 1 + self.propensities.there + bool(self.labels) + len(self.strata.names)
        return len(self.measures) * (ways * systems + 3) + len(self.strata.names)

    def truth(self, tables: Mapping[str, Table]) -> Truth:
        """The judgments of some users laid out."""
        pool = replace(pooled(tables["judgments"]), top=self.top)
        item = positions(pool.items, self.items)
        judged = {"user": pool.units.gather(pool.unit), "item": pool.items}
        judged |= {"rating": pl.Series(pool.rating), **pool.more.to_dict()}
        known, p = self.propensities, None
        if known.there:
            p = known.rows(judged, item, tables.get("propensities"))
        if self.column:
            code = self.strata.code_of(judged[self.column])
        else:
            assert p is not None
            code = self.strata.code(p, item)
        layout = Layout.of(pool, item, self.strata, code, p, self.labels)
        if "open" not in tables:
            return Truth(layout, None)
        return Truth(layout, replace(pooled(tables["open"]), top=self.open_top))


def ground(
    found: Facts, asked: Asked, measures: tuple[Measure, ...], aside: Mapping[str, Table]
) -> Ground:
    """The ground from the facts of all buckets; ``aside`` are tables of items, not of users."""
    items = catalogue(found)
    for m in measures:
        for top in [found.top] + [found.open_top] * (asked.open_loop is not None):
            m.refuse(_topped(top))
    known = _propensities(found, items, asked, aside)
    column = asked.column(asked.cut) or ""
    if column:
        assert found.values is not None
        distinct = f"{'at least ' * found.more}{found.distinct:,}"
        strata = by_values(column, found.values, distinct)
    else:
        if known.of_item is None:
            spread = spread_of(found, items)
        else:
            spread = Spread.of(known.of_item, np.arange(len(items.items)), items.count)
        strata = cut_into(spread, bins=asked.bins, how=asked.cut)
    return Ground(items.items, found.top, found.open_top, known, strata, column, measures)


def _topped(top: float) -> Pool:
    """A pool of which no more is known than its greatest rating."""
    none = pl.Series([], dtype=pl.Int64)
    return Pool(none, none, np.zeros(0, np.int64), np.zeros(0), top)


def _propensities(
    found: Facts, items: Catalogue, asked: Asked, aside: Mapping[str, Table]
) -> Propensities:
    if asked.popular:
        counts = aside["feedback"].frame if "feedback" in aside else found.feedback
        return _popular(items, asked, counts)
    if asked.propensity_column:
        return Propensities(f"column {asked.propensity_column}", column=asked.propensity_column)
    if "propensities" in aside:
        return from_items(items, aside["propensities"])
    if not len(spread_of(found, items).p):
        raise nothing_known(asked.propensity_table, ("user", "item"))
    return Propensities(f"table {asked.propensity_table}", by_user=True)


def _popular(items: Catalogue, asked: Asked, counts: pl.DataFrame | None) -> Propensities:
    """By popularity; where that was not asked for, feedback without a power law has no IPS."""
    try:
        return from_popularity(items, str(asked.propensity or "popularity"), counts)
    except InputError as error:
        if asked.propensity is not None or asked.cut in CUTS:
            raise
        return Propensities("none", missing=str(error))
