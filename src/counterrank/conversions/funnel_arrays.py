"""A funnel partition by partition: its tables, statistics of all of them, its pairs as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import polars as pl

from counterrank.conversions.request import FUNNEL, PREDICTIONS, FunnelRequest
from counterrank.core.arrays import Bools, Floats, Ints, ranges, take_rows
from counterrank.core.faults import DataError, Fault, Faults
from counterrank.core.merge import by_key, union
from counterrank.core.parallel import cached_property
from counterrank.data.blocks import Blocks, run_starts
from counterrank.data.checks import certainty
from counterrank.data.events import EventCounts, funnel_of_events
from counterrank.data.funnels import Funnel, prediction
from counterrank.data.ids import (
    IdCodes,
    argsort_ids,
    as_categories,
    distinct_ids,
    hash_ids,
    positions,
    sort_ids,
)
from counterrank.data.schema import Table, is_certain
from counterrank.diagnostics.judged_lists import few_ids
from counterrank.engine import Partition, Partitions
from counterrank.matching.pool import Pool, repeated_pairs

LARGEST_GRID = 1 << 22  # pairs whose given ctr is compared with their clicks
MOST_CLICKS = 1 << 21  # clicked pairs that are looked at; of more, those of some users
PER_PAIR = ("unit", "item", "click", "observed", "has_row", "ctr", "exposure", "rank")


@dataclass(frozen=True)
class FunnelTables:
    """The tables of one partition; ``runs`` has one for each system, which may have no rows.

    ``events`` is what became of events, where the funnel is a table of these.
    """

    funnel: Funnel
    runs: list[Table]
    predictions: Table | None
    events: EventCounts | None = None

    @classmethod
    def of(cls, request: FunnelRequest, part: Partition) -> FunnelTables:
        """Text of items as codes, and tables of several systems apart."""

        def compute() -> FunnelTables:
            given, events = dict(part.tables), None
            if "event" in given[FUNNEL].frame.columns:
                frame, events = funnel_of_events(given[FUNNEL].frame, request.rewards)
                given[FUNNEL] = replace(given[FUNNEL], frame=frame)
            tables = {
                name: replace(table, frame=as_categories(table.frame))
                for name, table in given.items()
            }
            funnel = tables[FUNNEL]
            assert isinstance(funnel, Funnel)
            return cls(funnel, request.runs.lists(tables), tables.get(PREDICTIONS), events)

        return part.cached("tables", compute)

    def observed(self, request: FunnelRequest) -> pl.Series:
        """Whether the outcome of each row is known: it was shown, or it was clicked."""
        return self.funnel.frame["shown" if request.shows else "click"] == 1

    @cached_property
    def users(self) -> pl.Series:
        """The users of the funnel."""
        return _once_a_run(self.funnel.frame["user"]).unique()

    @cached_property
    def listed(self) -> dict[str, pl.Series]:
        """The users of each system's lists."""
        return {run.system: _once_a_run(run.frame["user"]) for run in self.runs}

    @cached_property
    def list_only(self) -> pl.Series:
        """Users who have lists, and no row in the funnel."""
        if not self.listed:
            return self.users.clear()
        every = pl.concat(self.listed.values()).unique()
        return every.filter(~every.is_in(self.users.implode()))

    @cached_property
    def items(self) -> IdCodes:
        """The items of all these tables."""
        predictions = [] if self.predictions is None else [self.predictions]
        return IdCodes.of([t.frame["item"] for t in (self.funnel, *self.runs, *predictions)])


def _once_a_run(users: pl.Series) -> pl.Series:
    """Every user, where rows of one stand together only once."""
    return users.gather(run_starts(users)) if len(users) else users


def _ids(parts: list[pl.Series]) -> pl.Series:
    return sort_ids(pl.concat(parts).unique())


@dataclass(frozen=True)
class ListTotals:
    """A system's lists: their table, how many of their users the funnel has, and a few users."""

    table: str
    in_common: int
    first: Annotated[pl.Series, few_ids]


@dataclass(frozen=True)
class FunnelTotals:
    """Statistics of the whole funnel and of the lists.

    ``items`` are the ids of all items in their order, ``met`` of those with a known outcome: that
    somebody clicked or, in sales, was shown. ``users`` are in the funnel, ``list_only`` have lists
    only; it has ``rows``, of which ``clicks`` were clicked, ``observed`` have a known outcome and
    ``conversions`` brought something, by reward, of which ``least`` and ``most`` are the smallest
    and the largest (0 among them). ``certain``: whether every ctr of a table is 1.
    ``systems`` are the names in columns ``system``, ``lists`` statistics of each system; ``first``
    are a few users of the funnel, ``events`` what became of events.
    """

    items: Annotated[pl.Series, _ids]
    met: Annotated[pl.Series, _ids]
    users: int
    list_only: int
    rows: int
    clicks: int
    observed: int
    conversions: dict[str, int]
    least: Annotated[dict[str, float], by_key(min)]
    most: Annotated[dict[str, float], by_key(max)]
    certain: Annotated[dict[str, bool], by_key(all)]
    systems: Annotated[dict[str, pl.Series], by_key(union)]
    lists: dict[str, ListTotals]
    first: Annotated[pl.Series, few_ids]
    faults: Faults
    events: EventCounts | None

    @classmethod
    def of(cls, request: FunnelRequest, part: Partition) -> FunnelTotals:
        """Of a partition; users with lists only are looked for where they may count."""
        tables = FunnelTables.of(request, part)
        funnel, predictions = tables.funnel, tables.predictions
        frame = funnel.frame
        hit = tables.observed(request)
        alone = request.users == "table" or (request.users == "auto" and not hit.all())
        paid = {name: _numbers(frame[name].filter(hit)) for name in funnel.rewards}
        repeats = [repeated_pairs(funnel, "pair twice")]
        repeats += [] if predictions is None else [repeated_pairs(predictions, "prediction twice")]
        return cls(
            items=tables.items.names,
            met=_ids([distinct_ids([frame["item"].filter(hit)])]),
            users=len(tables.users),
            list_only=0 if alone else len(tables.list_only),
            rows=frame.height,
            clicks=int((frame["click"] == 1).sum()),
            observed=int(hit.sum()),
            conversions={name: int((frame[name] != 0).sum()) for name in funnel.rewards},
            least={name: float(y.min(initial=0)) for name, y in paid.items()},
            most={name: float(y.max(initial=0)) for name, y in paid.items()},
            certain={
                t.name: is_certain(t.frame, "ctr") for t in (funnel, predictions) if t is not None
            },
            systems=request.runs.systems_in(part.tables),
            lists={
                run.system: ListTotals(
                    run.name,
                    int(tables.listed[run.system].is_in(tables.users.implode()).sum()),
                    few_ids([tables.listed[run.system]]),
                )
                for run in tables.runs
            },
            first=few_ids([tables.users]),
            faults=Faults(tuple(repeats)),
            events=tables.events,
        )

    @cached_property
    def is_met(self) -> Bools:
        """Whether some outcome of each item is known."""
        out = np.zeros(len(self.items), bool)
        out[positions(self.met, self.items)] = True
        return out

    def n(self, users: str) -> int:
        """How many users count: those of the ``table``, or ``all``."""
        return self.users + (self.list_only if users == "all" else 0)

    def complete(self, users: str) -> bool:
        """Whether every pair of user and item has a row, and they are not too many to look at."""
        return self.rows == self.n(users) * len(self.items) <= LARGEST_GRID

    def tests_chance(self, request: FunnelRequest) -> bool:
        """Whether all pairs that could be clicked, or shown, have a row to test chances by."""
        if request.pairs == "all":
            return self.complete(request.users)
        return self.rows <= LARGEST_GRID

    @property
    def looked_at(self) -> float:
        """The share of users whose rows are held against predictions: all, unless too many."""
        return min(1.0, MOST_CLICKS / max(self.observed, 1))

    def settle(self, request: FunnelRequest, table: str) -> FunnelRequest:
        """The request with all systems, who counts, and the baseline; ``table`` is the funnel."""
        runs = request.runs.with_systems(self.systems)
        runs.validate(request.plan.pairs)
        self.faults.refuse()
        if self.events is not None:
            self.events.refuse(table)
        for name, certain in self.certain.items():
            if certain:
                raise certainty(name, self.rows, "ctr")
        for own in (self.lists[system] for system in runs.labels):
            if not own.in_common:
                mine, theirs = (", ".join(map(repr, ids)) for ids in (own.first, self.first))
                known = {"listed": mine, "known": theirs}
                raise DataError(Fault("no funnel user in common", own.table, more=known))
        users = request.users
        if users == "auto":  # where there is nothing but clicks, who did not click has no row
            users = "all" if self.observed == self.rows else "table"
        plan = replace(
            request.plan, baseline=request.plan.baseline or next(iter(runs.labels), None)
        )
        ranges = {name: (self.least[name], most) for name, most in self.most.items()}
        return replace(request, runs=runs, users=users, plan=plan, ranges=ranges)


def count_funnel(request: FunnelRequest, data: Partitions) -> tuple[FunnelRequest, FunnelTotals]:
    """Statistics of the whole funnel, and the request with what they tell."""
    totals = data.reduce(partial(FunnelTotals.of, request), "counting users and items")
    return totals.settle(request, data.heads[FUNNEL].name), totals


@dataclass(frozen=True)
class FunnelPairs:
    """Pairs of user and item, user by user.

    ``unit`` is a place among ``units``, the users who count; ``item`` a place among all items.
    ``click``: the pair was clicked; ``observed``: its outcome is known, as it was shown, or else
    clicked; ``has_row``: the funnel has it (not only the predictions). ``reward``: what the click
    brought, by column. ``ctr``, ``exposure`` and ``cvr`` are predictions, NaN where there is none;
    ``rank`` is where it was shown.
    """

    units: pl.Series
    unit: Ints
    item: Ints
    click: Bools
    observed: Bools
    has_row: Bools
    reward: dict[str, Floats]
    ctr: Floats | None
    exposure: Floats | None
    cvr: dict[str, Floats]
    rank: Ints | None = None

    @classmethod
    def merge(cls, parts: Sequence[FunnelPairs]) -> FunnelPairs:
        """Those of all partitions, users in the order of their ids."""
        units = pl.concat([part.units for part in parts])
        by = argsort_ids(units)
        place = np.empty(len(by), np.int64)
        place[by] = np.arange(len(by))
        begin = np.cumsum([0, *(len(part.units) for part in parts)])
        unit = np.concatenate([place[p.unit + at] for p, at in zip(parts, begin, strict=False)])

        def joined(name: str) -> Any:
            given = [x for part in parts if (x := getattr(part, name)) is not None]
            return np.concatenate(given) if given else None

        whole = cls(
            units=units.gather(by),
            unit=unit,
            reward=by_key(np.concatenate)([part.reward for part in parts]),
            cvr=by_key(np.concatenate)([part.cvr for part in parts]),
            **{name: joined(name) for name in PER_PAIR if name != "unit"},
        )
        return whole.select(np.argsort(unit, kind="stable"))

    def select(self, which: Bools | Ints) -> FunnelPairs:
        """Some of the pairs, or all in another order; users stay as they are."""
        if which.dtype == bool and which.all():
            return self
        return take_rows(self, which, *PER_PAIR, "reward", "cvr")

    def chance(self, request: FunnelRequest) -> Floats | None:
        """The given chance that an outcome is known; that of a click, if all of it is seen or not.

        A ctr is that of what is seen; where exposures are given a click takes both.
        """
        if request.shows or self.exposure is None or self.ctr is None:
            return self.exposure if request.shows else self.ctr
        return self.exposure * self.ctr

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
        chances = {"ctr", "exposure", *cvr.values()}.intersection(frame.columns)
        known = {name: _numbers(frame[name]) for name in chances}
        pairs = FunnelPairs(
            units=units,
            unit=np.repeat(np.arange(len(units)), size),
            item=items.codes(frame["item"]),
            click=(frame["click"] == 1).to_numpy(),
            observed=(frame["shown" if request.shows else "click"] == 1).to_numpy(),
            has_row=frame["has_row"].to_numpy(),
            reward={reward: frame[reward].to_numpy() for reward in request.rewards},
            ctr=known.get("ctr"),
            exposure=known.get("exposure"),
            cvr={r: known[name] for r, name in cvr.items() if name in known},
            rank=frame["rank"].to_numpy() if request.views == "latent" else None,
        )
        pool = Pool(units, frame["item"], size, np.ones(frame.height), 1.0)
        tested = pairs.chance(request) is not None and totals.complete(request.users)
        predicted = pairs.cvr or (request.shows and pairs.ctr is not None)
        if request.pairs == "rows" or predicted or pairs.observed.all() or tested:
            return cls(pool, items, pairs)
        # all that is known of the others is that they were not clicked, or not shown
        return cls(pool.only(pairs.observed), items, pairs.select(pairs.observed))


def few_observed(request: FunnelRequest, totals: FunnelTotals, part: Partition) -> Ints:
    """How many users of a partition have 0, 1 and 2 pairs with a known outcome."""
    pairs = FunnelArrays.of(request, totals, part).pairs
    count = np.bincount(pairs.unit[pairs.observed], minlength=len(pairs.units))
    return np.bincount(np.minimum(count, 3), minlength=3)[:3]


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
    none = [name for name in ("click", "shown", *rewards) if name in out.columns]
    blank = [pl.col("rank").fill_null(1)] if "rank" in out.columns else []
    return out.with_columns(pl.col("has_row").fill_null(False), pl.col(none).fill_null(0.0), *blank)


def _numbers(column: pl.Series) -> Floats:
    """As floats; what is missing is NaN."""
    values: Floats = column.cast(pl.Float64).to_numpy()
    return values
