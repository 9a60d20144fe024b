"""The pairs of a funnel as arrays: those of a partition, where lists look them up, and of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.conversions.clicks import FunnelTables, FunnelTotals
from counterrank.conversions.request import FunnelRequest
from counterrank.core.arrays import Bools, Floats, Ints, ranges
from counterrank.data.funnels import prediction
from counterrank.data.ids import Blocks, IdCodes, argsort_ids, hash_ids, positions, sort_ids
from counterrank.data.schema import Table
from counterrank.engine import Partition
from counterrank.matching.pool import Pool


@dataclass(frozen=True)
class FunnelPairs:
    """Pairs of user and item, user by user.

    ``unit`` is a place among ``units``, the users who count; ``item`` a place among all items.
    ``click``: the pair was clicked; ``has_row``: the funnel has it (not only the predictions).
    ``reward``: what the click brought, by column. ``ctr`` and ``cvr`` are predictions, NaN where
    there is none.
    """

    units: pl.Series
    unit: Ints
    item: Ints
    click: Bools
    has_row: Bools
    reward: dict[str, Floats]
    ctr: Floats | None
    cvr: dict[str, Floats]

    @classmethod
    def merge(cls, parts: Sequence[FunnelPairs]) -> FunnelPairs:
        """Those of all partitions, users in the order of their ids."""
        units = pl.concat([part.units for part in parts])
        by = argsort_ids(units)
        place = np.empty(len(by), np.int64)
        place[by] = np.arange(len(by))
        begin = np.cumsum([0, *(len(part.units) for part in parts)])
        unit = np.concatenate([place[p.unit + at] for p, at in zip(parts, begin, strict=False)])
        turn = np.argsort(unit, kind="stable")

        def column(pieces: Sequence[Floats]) -> Floats:
            return np.concatenate(pieces)[turn]

        one = parts[0]
        return cls(
            units=units.gather(by),
            unit=unit[turn],
            item=np.concatenate([part.item for part in parts])[turn],
            click=np.concatenate([part.click for part in parts])[turn],
            has_row=np.concatenate([part.has_row for part in parts])[turn],
            reward={name: column([p.reward[name] for p in parts]) for name in one.reward},
            ctr=None if one.ctr is None else column([p.ctr for p in parts if p.ctr is not None]),
            cvr={name: column([p.cvr[name] for p in parts]) for name in one.cvr},
        )

    def select(self, which: Bools) -> FunnelPairs:
        """Some of the pairs; users stay as they are."""
        if which.all():
            return self
        return replace(
            self,
            unit=self.unit[which],
            item=self.item[which],
            click=self.click[which],
            has_row=self.has_row[which],
            reward={name: y[which] for name, y in self.reward.items()},
            ctr=None if self.ctr is None else self.ctr[which],
            cvr={name: h[which] for name, h in self.cvr.items()},
        )

    def of_some_users(self, share: float) -> FunnelPairs:
        """Pairs of a share of the users, by a hash of their ids: the same wherever they are."""
        if share >= 1:
            return self
        return self.select((hash_ids(self.units) < np.uint64(int(share * 2**64)))[self.unit])

    def without_idle_users(self) -> FunnelPairs:
        """Without users of whom there are no pairs; models would count them, comparisons do not."""
        there = np.bincount(self.unit, minlength=len(self.units)) > 0
        place = np.cumsum(there) - 1
        return replace(self, units=self.units.filter(pl.Series(there)), unit=place[self.unit])


@dataclass(frozen=True)
class FunnelArrays:
    """The pairs of a partition that matter, and where lists look them up.

    ``pool`` has their items, user by user; ``items`` numbers these as all partitions do.
    """

    pool: Pool
    items: IdCodes
    pairs: FunnelPairs

    @classmethod
    def of(cls, request: FunnelRequest, totals: FunnelTotals, part: Partition) -> FunnelArrays:
        """Of what the tables say of each pair; users in the order of their ids."""
        tables = FunnelTables.of(request, part)
        return part.cached("arrays", lambda: cls._of(tables, request, totals))

    @classmethod
    def _of(
        cls, tables: FunnelTables, request: FunnelRequest, totals: FunnelTotals
    ) -> FunnelArrays:
        frame = tables.funnel.frame.with_columns(has_row=pl.lit(True))
        units = tables.users
        if request.users == "all":
            units = pl.concat([units, tables.list_only])
        if tables.predictions is not None:
            frame = _with_predictions(frame, tables.predictions, units, request.rewards)
        units = sort_ids(units).alias("unit")
        frame, size = _by_unit(frame, units)
        items = IdCodes.among(totals.items)
        cvr = {reward: prediction(reward, request.rewards) for reward in request.rewards}
        pairs = FunnelPairs(
            units=units,
            unit=np.repeat(np.arange(len(units)), size),
            item=items.codes(frame["item"]),
            click=(frame["click"] == 1).to_numpy(),
            has_row=frame["has_row"].to_numpy(),
            reward={reward: frame[reward].to_numpy() for reward in request.rewards},
            ctr=_numbers(frame["ctr"]) if "ctr" in frame.columns else None,
            cvr={r: _numbers(frame[name]) for r, name in cvr.items() if name in frame.columns},
        )
        pool = Pool(units, frame["item"], size, np.ones(frame.height), 1.0)
        tested = pairs.ctr is not None and totals.complete(request.users)
        if request.pairs == "rows" or pairs.cvr or pairs.click.all() or tested:
            return cls(pool, items, pairs)
        # all that is known of the others is that they were not clicked
        return cls(pool.only(pairs.click), items, pairs.select(pairs.click))

    def few_clicks(self) -> Ints:
        """How many users have 0, 1 and 2 clicks."""
        pairs = self.pairs
        clicks = np.bincount(pairs.unit[pairs.click], minlength=len(pairs.units))
        return np.bincount(np.minimum(clicks, 3), minlength=3)[:3]


def few_clicks(request: FunnelRequest, totals: FunnelTotals, part: Partition) -> Ints:
    """How many users of a partition have 0, 1 and 2 clicks."""
    return FunnelArrays.of(request, totals, part).few_clicks()


def _by_unit(frame: pl.DataFrame, units: pl.Series) -> tuple[pl.DataFrame, Ints]:
    """The rows in the order of the units, and how many each has."""
    blocks = Blocks.of(frame, ascending=True)
    place = positions(blocks.names, units)
    size = np.zeros(len(units), np.int64)
    size[place] = blocks.length
    if np.all(place[1:] > place[:-1]):
        return blocks.frame, size
    by = np.argsort(place)  # text that is all numbers sorts otherwise than text that is not
    return blocks.frame[ranges(blocks.start[by], blocks.length[by])], size


def _with_predictions(
    frame: pl.DataFrame, predictions: Table, users: pl.Series, rewards: Sequence[str]
) -> pl.DataFrame:
    """The funnel's rows with their predictions, and predicted pairs that it does not hold."""
    mine = predictions.frame.filter(pl.col("user").is_in(users.implode()))
    out = frame.join(mine, on=["user", "item"], how="full", coalesce=True)
    return out.with_columns(
        pl.col("has_row").fill_null(False), pl.col("click", *rewards).fill_null(0.0)
    )


def _numbers(column: pl.Series) -> Floats:
    """As floats; what is missing is NaN."""
    values: Floats = column.cast(pl.Float64).to_numpy()
    return values
