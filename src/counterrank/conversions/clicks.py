"""Clicks, conversions and lists of a partition side by side, and statistics of all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import polars as pl

from counterrank.conversions.request import FUNNEL, PREDICTIONS, FunnelRequest
from counterrank.core.arrays import Bools
from counterrank.core.faults import DataError, Fault, Faults
from counterrank.core.merge import by_key, union
from counterrank.core.parallel import cached_property
from counterrank.data.funnels import Funnel, is_certain, refuse_certain
from counterrank.data.ids import (
    IdCodes,
    as_categories,
    distinct_ids,
    positions,
    run_starts,
    sort_ids,
)
from counterrank.data.runs import validate_names
from counterrank.data.schema import Table
from counterrank.engine import Partition
from counterrank.matching.pool import repeated_pairs

LARGEST_GRID = 1 << 22  # pairs whose given ctr is compared with their clicks
MOST_CLICKS = 1 << 21  # clicked pairs that are looked at; of more, those of some users
FEW = 3  # users that a message names


@dataclass(frozen=True)
class FunnelTables:
    """The tables of one partition; ``runs`` has one for each system, which may have no rows."""

    funnel: Funnel
    runs: list[Table]
    predictions: Table | None

    @classmethod
    def of(cls, request: FunnelRequest, part: Partition) -> FunnelTables:
        """Text of items as codes, and tables of several systems apart."""

        def compute() -> FunnelTables:
            tables = {
                name: replace(table, frame=as_categories(table.frame))
                for name, table in part.tables.items()
            }
            funnel = tables[FUNNEL]
            assert isinstance(funnel, Funnel)
            return cls(funnel, request.runs.lists(tables), tables.get(PREDICTIONS))

        return part.cached("tables", compute)

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
        guess = [] if self.predictions is None else [self.predictions]
        return IdCodes.of([t.frame["item"] for t in (self.funnel, *self.runs, *guess)])


def _once_a_run(users: pl.Series) -> pl.Series:
    """Every user, where rows of one stand together only once."""
    return users.gather(run_starts(users)) if len(users) else users


def _ids(parts: list[pl.Series]) -> pl.Series:
    return sort_ids(pl.concat(parts).unique())


def _few(parts: list[pl.Series]) -> pl.Series:
    return pl.concat(parts).unique().sort().head(FEW)


@dataclass(frozen=True)
class ListTotals:
    """A system's lists: their table, how many of their users the funnel has, and a few users."""

    table: str
    in_common: int
    first: Annotated[pl.Series, _few]


@dataclass(frozen=True)
class FunnelTotals:
    """Statistics of the whole funnel and of the lists.

    ``items`` are the ids of all items in their order, ``clicked`` of those that somebody clicked.
    ``users`` are in the funnel, ``list_only`` have lists only; it has ``rows``, of which ``clicks``
    were clicked, and ``conversions`` brought something, by reward. ``certain``: whether every ctr
    of a table is 1. ``systems`` are the names in columns ``system``, ``lists`` statistics of each
    system; ``first`` are a few users of the funnel.
    """

    items: Annotated[pl.Series, _ids]
    clicked: Annotated[pl.Series, _ids]
    users: int
    list_only: int
    rows: int
    clicks: int
    conversions: dict[str, int]
    certain: Annotated[dict[str, bool], by_key(all)]
    systems: Annotated[dict[str, pl.Series], by_key(union)]
    lists: dict[str, ListTotals]
    first: Annotated[pl.Series, _few]
    faults: Faults

    @classmethod
    def of(cls, request: FunnelRequest, part: Partition) -> FunnelTotals:
        """Of a partition; users with lists only are looked for where they may count."""
        tables = FunnelTables.of(request, part)
        funnel, guess = tables.funnel, tables.predictions
        frame = funnel.frame
        hit = frame["click"] == 1
        alone = request.users == "table" or (request.users == "auto" and not hit.all())
        repeats = [repeated_pairs(funnel, "pair twice")]
        repeats += [] if guess is None else [repeated_pairs(guess, "prediction twice")]
        return cls(
            items=tables.items.names,
            clicked=_ids([distinct_ids([frame["item"].filter(hit)])]),
            users=len(tables.users),
            list_only=0 if alone else len(tables.list_only),
            rows=frame.height,
            clicks=int(hit.sum()),
            conversions={name: int((frame[name] != 0).sum()) for name in funnel.rewards},
            certain={t.name: is_certain(t.frame) for t in (funnel, guess) if t is not None},
            systems=request.runs.systems_in(part.tables),
            lists={
                run.system: ListTotals(
                    run.name,
                    int(tables.listed[run.system].is_in(tables.users.implode()).sum()),
                    _few([tables.listed[run.system]]),
                )
                for run in tables.runs
            },
            first=_few([tables.users]),
            faults=Faults(tuple(repeats)),
        )

    @cached_property
    def is_clicked(self) -> Bools:
        """Whether somebody clicked each item."""
        out = np.zeros(len(self.items), bool)
        out[positions(self.clicked, self.items)] = True
        return out

    def n(self, users: str) -> int:
        """How many users count: those of the ``table``, or ``all``."""
        return self.users + (self.list_only if users == "all" else 0)

    def complete(self, users: str) -> bool:
        """Whether every pair of user and item has a row, and they are not too many to look at."""
        return self.rows == self.n(users) * len(self.items) <= LARGEST_GRID

    def tests_ctr(self, request: FunnelRequest) -> bool:
        """Whether all pairs that could be clicked have a row, so that a given ctr can be tested."""
        if request.pairs == "all":
            return self.complete(request.users)
        return self.rows <= LARGEST_GRID

    @property
    def looked_at(self) -> float:
        """The share of users whose clicks are held against predictions: all, unless too many."""
        return min(1.0, MOST_CLICKS / max(self.clicks, 1))

    def settle(self, request: FunnelRequest) -> FunnelRequest:
        """The request with all systems, who counts, and the baseline."""
        runs = request.runs.with_systems(self.systems)
        validate_names(runs.labels)
        self.faults.refuse()
        for table, certain in self.certain.items():
            if certain:
                refuse_certain(table, self.rows)
        for own in (self.lists[system] for system in runs.labels):
            if not own.in_common:
                mine, theirs = (", ".join(map(repr, ids)) for ids in (own.first, self.first))
                known = {"listed": mine, "known": theirs}
                raise DataError(Fault("no funnel user in common", own.table, more=known))
        users = request.users
        if users == "auto":  # where there is nothing but clicks, who did not click has no row
            users = "all" if self.clicks == self.rows else "table"
        baseline = request.plan.baseline or next(iter(runs.labels), None)
        plan = replace(request.plan, baseline=baseline)
        if runs.labels:
            plan.pairs(runs.labels)  # the baseline is there
        return replace(request, runs=runs, users=users, plan=plan)
