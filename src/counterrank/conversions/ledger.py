"""The funnel as arrays: every pair it knows, its click, its conversions, its predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.arrays import AnyInts, Bools, Floats, Ints, ranges
from counterrank.blocks import Blocks, as_numbers, item_numbers, places, run_starts
from counterrank.conversions.reading import Tables
from counterrank.errors import InputError, UsageError
from counterrank.funnels import prediction
from counterrank.hits import Pool
from counterrank.logged.codes import ROOM
from counterrank.once import once
from counterrank.pool import refuse_repeats
from counterrank.schema import Table

USERS = ("auto", "table", "all")
PAIRS = ("all", "rows")
GRID = 1 << 22  # pairs whose given ctr is compared with their clicks


@dataclass(frozen=True)
class Items:
    """All items of all tables, numbered from 0 in the order of their ids.

    ``place`` is the number of each id less ``low``; where ids are too far apart for that,
    ``sorted`` holds the integers they are stored as, and ``place`` the number of each of those.
    """

    names: pl.Series
    low: int
    place: Ints
    sorted: AnyInts

    @classmethod
    def of(cls, frames: Sequence[pl.DataFrame]) -> Items:
        """The items of these tables."""
        stored = [item_numbers(frame["item"]) for frame in frames]
        low, high = min(int(x.min()) for x in stored), max(int(x.max()) for x in stored)
        near = high - low < ROOM * sum(map(len, stored)) + 1024
        if near:
            there = np.zeros(high - low + 1, bool)
            for x in stored:
                there[x - low if low else x] = True
            numbers: AnyInts = np.flatnonzero(there) + low
        else:
            numbers = np.unique(np.concatenate([np.unique(x) for x in stored]))
        names = _named(numbers, frames)
        plain = names.cast(pl.String) if isinstance(names.dtype, pl.Categorical) else names
        by = as_numbers(plain).arg_sort().to_numpy()
        turn = np.empty(len(by), np.int64)
        turn[by] = np.arange(len(by))
        place = turn
        if near:
            place = np.full(high - low + 1, -1)
            place[numbers - low] = turn
        return cls(names.gather(by), low, place, np.empty(0, np.int64) if near else numbers)

    def at(self, numbers: AnyInts) -> Ints:
        """The number of each item, given as the integer its id is stored as."""
        if len(self.sorted):
            return self.place[np.searchsorted(self.sorted, numbers)]
        return self.place[numbers - self.low if self.low else numbers]

    def name(self, number: int) -> object:
        """The id that is stored as this integer."""
        return self.names[int(self.at(np.array([number]))[0])]


def _named(numbers: AnyInts, frames: Sequence[pl.DataFrame]) -> pl.Series:
    """The ids that are stored as these integers."""
    kind = frames[0].schema["item"]
    if not isinstance(kind, pl.Categorical):
        return pl.Series("item", numbers).cast(kind)
    ids = pl.concat([frame["item"].unique() for frame in frames]).unique()
    return ids.gather(np.argsort(item_numbers(ids)))


@dataclass(frozen=True)
class Ledger:
    """Pairs of user and item as arrays in the order of ``pool``, whose units are all users.

    ``click``: the pair was clicked; ``held``: it has a row in the funnel (not only a prediction).
    ``reward``: what the click brought, by column. ``ctr`` and ``cvr`` are predictions, NaN where
    there is none. ``item`` is each pair's item as a number.
    ``users`` says who counts, ``strangers`` how many of them have lists only.
    """

    pool: Pool
    items: Items
    item: Ints
    click: Bools
    held: Bools
    reward: dict[str, Floats]
    ctr: Floats | None
    cvr: dict[str, Floats]
    users: str
    strangers: int

    @classmethod
    def of(cls, tables: Tables, *, users: str, pairs: str) -> Ledger:
        """The pairs that matter; ``users`` says who counts: those of the table, or of all lists."""
        funnel, rewards = tables.funnel, tables.funnel.rewards
        refuse_repeats(funnel, "has a user and item more than once", "Keep one row per pair.")
        frame = funnel.frame.with_columns(held=pl.lit(True))
        known = _heads(frame["user"]).unique()
        if users == "auto":
            users = "table" if (frame["click"] == 0).any() else "all"
        heads = [_heads(run.frame["user"]) for run in tables.runs]
        for run, listed in zip(tables.runs, heads, strict=True):
            _refuse_strangers(run, listed, known)
        strangers = known.clear()
        if users == "all":
            listed = pl.concat(heads).unique()
            strangers = listed.filter(~listed.is_in(known.implode()))
        if tables.predictions is not None:
            frame = _joined(frame, tables, pl.concat([known, strangers]))
        units = pl.concat([known, strangers])
        units = units.gather(as_numbers(units).arg_sort())
        frame, size = _by_unit(frame, units)
        pool = Pool(
            units=units.alias("unit"),
            items=frame["item"],
            size=size,
            rating=np.ones(frame.height),
            top=1.0,
        )
        column = {name: frame[name] for name in frame.columns}
        items = Items.of([table.frame for table in tables.of_pairs])
        cvr = {reward: prediction(reward, rewards) for reward in rewards}
        whole = cls(
            pool=pool,
            items=items,
            item=items.at(item_numbers(pool.items)),
            click=(column["click"] == 1).to_numpy(),
            held=column["held"].to_numpy(),
            reward={reward: column[reward].to_numpy() for reward in rewards},
            ctr=_numbers(column["ctr"]) if "ctr" in column else None,
            cvr={r: _numbers(column[name]) for r, name in cvr.items() if name in column},
            users=users,
            strangers=len(strangers),
        )
        told = whole.ctr is not None and whole.complete
        if pairs == "rows" or whole.cvr or whole.click.all() or told:
            return whole
        return whole.only(whole.click)  # what is known of the others is only that they were not

    @property
    def complete(self) -> bool:
        """Whether every pair of user and item has a row, and they are not too many to look at."""
        return int(self.held.sum()) == self.pool.n * len(self.items.names) <= GRID

    @once
    def clicked_items(self) -> Bools:
        """Items that somebody clicked."""
        clicked = np.zeros(len(self.items.names), bool)
        clicked[self.item[self.click]] = True
        return clicked

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


def _heads(users: pl.Series) -> pl.Series:
    """Every user, where rows of one stand together only once."""
    return users.gather(run_starts(users))


def _refuse_strangers(run: Table, listed: pl.Series, known: pl.Series) -> None:
    """A run of which nobody is in the funnel, whoever counts."""
    if not listed.is_in(known.implode()).any():
        mine, theirs = (
            ", ".join(repr(u) for u in ids.unique().sort().head(3)) for ids in (listed, known)
        )
        raise InputError(
            f'"{run.name}" and the funnel have no user in common.',
            found=f"The run lists {mine}, ...; the funnel has {theirs}, ...",
            todo="Check that both use the same ids for users (--columns user=NAME).",
        )


def _by_unit(frame: pl.DataFrame, units: pl.Series) -> tuple[pl.DataFrame, Ints]:
    """The rows in the order of the units, and how many each has."""
    blocks = Blocks.of(frame, ascending=True)
    place = places(blocks.names, units)
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
    refuse_repeats(guess, "predicts a pair more than once", "Keep one row per user and item.")
    both = (set(frame.columns) & set(guess.frame.columns)) - {"user", "item"}
    if both:
        raise UsageError(
            f'Both "{tables.funnel.name}" and "{guess.name}" have a column "{min(both)}".',
            todo="Leave it out of one of them, so that it is clear which counts.",
        )
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
