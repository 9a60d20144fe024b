"""The funnel as arrays: every pair a bucket knows, its click, its conversions, its predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.arrays import Bools, Floats, Ints, ranges
from counterrank.conversions.census import GRID, Census
from counterrank.conversions.reading import Tables
from counterrank.data.blocks import Blocks
from counterrank.data.ids import IdCodes, positions, sort_ids
from counterrank.engine import Bucket
from counterrank.funnels import prediction
from counterrank.hits import Pool

MOST = 1 << 21  # clicked pairs that are looked at; of more, those of some users


@dataclass(frozen=True)
class Rules:
    """Who and what counts: ``users`` table or all, ``pairs`` all or rows, by the ``census``."""

    users: str
    pairs: str
    census: Census

    @property
    def visible(self) -> bool:
        """Whether all pairs that could be clicked have a row, so that a given ctr can be tested."""
        complete = self.census.complete(self.users)
        return complete if self.pairs == "all" else self.census.rows <= GRID

    @property
    def share(self) -> float:
        """The share of users whose clicks are held against predictions: all, unless too many."""
        return min(1.0, MOST / max(self.census.clicks, 1))


@dataclass(frozen=True)
class Ledger:
    """Pairs of user and item as arrays in the order of ``pool``, whose units are users.

    ``click``: the pair was clicked; ``held``: it has a row in the funnel (not only a prediction).
    ``reward``: what the click brought, by column. ``ctr`` and ``cvr`` are predictions, NaN where
    there is none. ``item`` is each pair's item as a number, the same in all buckets.
    """

    pool: Pool
    items: IdCodes
    item: Ints
    click: Bools
    held: Bools
    reward: dict[str, Floats]
    ctr: Floats | None
    cvr: dict[str, Floats]

    @classmethod
    def of(cls, bucket: Bucket, rules: Rules) -> Ledger:
        """The pairs of a bucket that matter."""
        return bucket.kept("ledger", lambda: cls._of(Tables.of(bucket), rules))

    @classmethod
    def _of(cls, tables: Tables, rules: Rules) -> Ledger:
        rewards, census = tables.funnel.rewards, rules.census
        frame = tables.funnel.frame.with_columns(held=pl.lit(True))
        units = tables.known
        if rules.users == "all":
            units = pl.concat([units, tables.strangers])
        if tables.predictions is not None:
            frame = _joined(frame, tables, units)
        units = sort_ids(units)
        frame, size = _by_unit(frame, units)
        pool = Pool(
            units=units.alias("unit"),
            items=frame["item"],
            size=size,
            rating=np.ones(frame.height),
            top=1.0,
        )
        column = {name: frame[name] for name in frame.columns}
        items = IdCodes.among(census.items)
        cvr = {reward: prediction(reward, rewards) for reward in rewards}
        whole = cls(
            pool=pool,
            items=items,
            item=items.codes(pool.items),
            click=(column["click"] == 1).to_numpy(),
            held=column["held"].to_numpy(),
            reward={reward: column[reward].to_numpy() for reward in rewards},
            ctr=_numbers(column["ctr"]) if "ctr" in column else None,
            cvr={r: _numbers(column[name]) for r, name in cvr.items() if name in column},
        )
        told = whole.ctr is not None and census.complete(rules.users)
        if rules.pairs == "rows" or whole.cvr or whole.click.all() or told:
            return whole
        return whole.only(whole.click)  # what is known of the others is only that they were not

    def only(self, kept: Bools) -> Ledger:
        """Some of the pairs; users stay as they are."""
        return replace(
            self,
            pool=self.pool.only(kept),
            item=self.item[kept],
            click=self.click[kept],
            held=self.held[kept],
            reward={name: y[kept] for name, y in self.reward.items()},
            ctr=None if self.ctr is None else self.ctr[kept],
            cvr={name: h[kept] for name, h in self.cvr.items()},
        )


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


def _joined(frame: pl.DataFrame, tables: Tables, users: pl.Series) -> pl.DataFrame:
    """The funnel's rows with their predictions, and predicted pairs that it does not hold."""
    guess = tables.predictions
    assert guess is not None
    mine = guess.frame.filter(pl.col("user").is_in(users.implode()))
    out = frame.join(mine, on=["user", "item"], how="full", coalesce=True)
    return out.with_columns(
        pl.col("held").fill_null(False),
        pl.col("click", *tables.funnel.rewards).fill_null(0.0),
    )


def _numbers(column: pl.Series) -> Floats:
    """As floats; what is missing is NaN."""
    values: Floats = column.cast(pl.Float64).to_numpy()
    return values
