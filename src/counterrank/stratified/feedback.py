"""What the methods need of the feedback, user by user, and what the result says of it all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.arrays import Bools, Floats, Ints, summed
from counterrank.core.merge import merge
from counterrank.diagnostics.judged_lists import RatingStatistics
from counterrank.hits import Pool
from counterrank.judged.matches import place_units, spread
from counterrank.ranking import Measure
from counterrank.stratified.layout import Layout, mean_weight


@dataclass(frozen=True, eq=False)
class Users:
    """Who has something to find: in all feedback, then in each stratum (``pools``).

    ``defined`` is measures x pools x users. ``below`` has, for ratios of means, what a user adds
    below the line (pools x users, by the measure's place).
    """

    units: pl.Series
    defined: Bools
    below: dict[int, Floats]
    ratings: RatingStatistics

    @classmethod
    def of(cls, pools: Sequence[Pool], measures: Sequence[Measure]) -> Users:
        """Those of one bucket."""
        defined = np.array([[m.defined(pool) for pool in pools] for m in measures])
        bases = {m: [kind.base(pool) for pool in pools] for m, kind in enumerate(measures)}
        below = {m: np.array(own) for m, own in bases.items() if own[0] is not None}
        ratings = RatingStatistics.of(pools[0], measures, list(~defined[:, 0]))
        return cls(pools[0].units, defined, below, ratings)

    @classmethod
    def merged(cls, parts: Sequence[Users]) -> tuple[Users, list[Ints]]:
        """Those of all buckets in the order of their ids, and where each bucket's are there."""
        if len(parts) == 1:
            return parts[0], [np.arange(len(parts[0].units))]
        units, place = place_units([part.units for part in parts])
        return cls(
            units,
            spread([part.defined for part in parts], place),
            {m: spread([part.below[m] for part in parts], place) for m in parts[0].below},
            merge([part.ratings for part in parts]),
        ), place

    def only(self, kept: Ints) -> Users:
        """Some of them; the ratings stay those of all."""
        below = {m: base[:, kept] for m, base in self.below.items()}
        return replace(
            self, units=self.units.gather(kept), defined=self.defined[..., kept], below=below
        )

    def counted(self, measure: int, pool: int, there: Bools, no_relevant: str) -> Floats:
        """How much each user counts: 1 or 0 or, for a ratio of means, what it adds below."""
        base = there.astype(float)
        if measure in self.below:
            base *= self.below[measure][pool]
        return base * self.defined[measure, pool] if no_relevant == "skip" else base


@dataclass(frozen=True, eq=False)
class Counts:
    """What adds up over users.

    ``rows`` and ``users`` are of each stratum; ``items`` (strata x catalogue) says which item has
    feedback there. ``unknown`` counts judgments without a propensity. ``weighty`` and ``heaviest``
    are, for each measure, how many judgments with something to find have a weight, and the
    greatest of these.
    """

    rows: Ints
    users: Ints
    items: Bools
    unknown: int
    weighty: Ints
    heaviest: Floats

    @classmethod
    def merged(cls, parts: Sequence[Counts]) -> Counts:
        """Those of all buckets."""
        return cls(
            np.sum([part.rows for part in parts], axis=0),
            np.sum([part.users for part in parts], axis=0),
            np.any([part.items for part in parts], axis=0),
            sum(part.unknown for part in parts),
            np.sum([part.weighty for part in parts], axis=0),
            np.max([part.heaviest for part in parts], axis=0),
        )


@dataclass(frozen=True, eq=False)
class Feedback:
    """Columns over the users of a bucket, or of all of them.

    ``mean_weight`` (measures x users) is of the weights of what there is to find, ``weights``
    (measures x 2 x users) their sum and their sum of squares. ``rows`` counts the judgments of each
    stratum and user.
    """

    users: Users
    mean_weight: Floats | None
    weights: Floats | None
    rows: Floats
    counts: Counts

    @classmethod
    def of(cls, layout: Layout, measures: Sequence[Measure], items: int) -> Feedback:
        """That of one bucket; the catalogue has so many ``items``."""
        pool, means, sums = layout.pool, None, None
        weighty, heaviest = np.zeros(len(measures), np.int64), np.zeros(len(measures))
        unknown = 0
        if layout.weight is not None:
            means = np.array([mean_weight(m, pool, layout.weight) for m in measures])
            sums = np.empty((len(measures), 2, pool.n))
            unknown = int(np.count_nonzero(layout.weight == 0))
            for row, m in enumerate(measures):
                w = np.where(m.gains(pool) > 0, layout.weight, 0.0)
                sums[row] = summed(pool.unit, w, pool.n), summed(pool.unit, w**2, pool.n)
                weighty[row], heaviest[row] = np.count_nonzero(w), w.max(initial=0.0)
        rows = np.stack([own.size for own in layout.pools])
        there = np.zeros((len(rows), items), bool)
        there[layout.code, layout.item] = True
        counts = Counts(
            rows.sum(axis=1), np.count_nonzero(rows, axis=1), there, unknown, weighty, heaviest
        )
        users = Users.of((pool, *layout.pools), measures)
        return cls(users, means, sums, rows.astype(float), counts)

    def only(self, kept: Ints) -> Feedback:
        """That of some users; the counts stay those of all."""
        means, sums = self.mean_weight, self.weights
        return replace(
            self,
            users=self.users.only(kept),
            mean_weight=None if means is None else means[..., kept],
            weights=None if sums is None else sums[..., kept],
            rows=self.rows[..., kept],
        )

    @classmethod
    def merged(cls, parts: Sequence[Feedback]) -> tuple[Feedback, list[Ints]]:
        """That of all buckets in the order of the users' ids, and each bucket's places there."""
        users, place = Users.merged([part.users for part in parts])
        if len(parts) == 1:
            return parts[0], place
        means = [part.mean_weight for part in parts if part.mean_weight is not None]
        sums = [part.weights for part in parts if part.weights is not None]
        return cls(
            users,
            spread(means, place) if means else None,
            spread(sums, place) if sums else None,
            spread([part.rows for part in parts], place),
            Counts.merged([part.counts for part in parts]),
        ), place
