"""What only all buckets together tell: which items there are, who counts, what can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.arrays import Bools
from counterrank.conversions.reading import Tables
from counterrank.core.faults import DataError, Fault
from counterrank.data.ids import positions, sort_ids
from counterrank.data.runs import validate_names
from counterrank.engine import Bucket
from counterrank.funnels import is_certain, refuse_certain
from counterrank.pool import refuse_repeats

USERS = ("auto", "table", "all")
PAIRS = ("all", "rows")
GRID = 1 << 22  # pairs whose given ctr is compared with their clicks
FEW = 3  # users that a message names


@dataclass(frozen=True)
class Lists:
    """One run: its table in the bucket, its name, how many of its users the funnel has."""

    table: str
    system: str
    name: str
    common: int
    first: pl.Series


@dataclass(frozen=True)
class Census:
    """Counts of the tables.

    ``items`` are the ids of all items in their order, ``clicked`` those somebody clicked.
    ``known`` users are in the funnel, ``strangers`` have lists only; ``rows`` of the funnel, of
    which ``clicks`` were clicked and ``earned`` brought something, by reward. ``certain``: tables
    in which every ctr is 1. ``first`` are a few users of the funnel.
    """

    items: pl.Series
    clicked: Bools
    known: int
    strangers: int
    rows: int
    clicks: int
    earned: dict[str, int]
    certain: list[str]
    first: pl.Series
    runs: list[Lists]

    @classmethod
    def of(cls, tables: Tables, users: str) -> Census:
        """A bucket's; strangers are looked for only where they may count."""
        funnel, guess = tables.funnel, tables.predictions
        refuse_repeats(funnel, "pair twice")
        if guess is not None:
            refuse_repeats(guess, "prediction twice")
        frame = funnel.frame
        hit = frame["click"] == 1
        clicked = np.zeros(tables.items.size, bool)
        clicked[tables.items.codes(frame["item"].filter(hit))] = True
        alone = users == "table" or (users == "auto" and not hit.all())
        return cls(
            items=tables.items.names,
            clicked=clicked,
            known=len(tables.known),
            strangers=0 if alone else len(tables.strangers),
            rows=frame.height,
            clicks=int(hit.sum()),
            earned={name: int((frame[name] != 0).sum()) for name in funnel.rewards},
            certain=[
                table.name
                for table in (funnel, guess)
                if table is not None and is_certain(table.frame)
            ],
            first=_few(tables.known),
            runs=[
                Lists(
                    table=key[0],
                    system=key[1],
                    name=tables.runs[key].name,
                    common=int(listed.is_in(tables.known.implode()).sum()),
                    first=_few(listed),
                )
                for key, listed in tables.listed.items()
            ],
        )

    def who(self, users: str) -> str:
        """Who counts: as asked for, or all with lists if the funnel holds nothing but clicks."""
        if users != "auto":
            return users
        return "all" if self.clicks == self.rows else "table"

    def n(self, users: str) -> int:
        """How many users count."""
        return self.known + (self.strangers if users == "all" else 0)

    def complete(self, users: str) -> bool:
        """Whether every pair of user and item has a row, and they are not too many to look at."""
        return self.rows == self.n(users) * len(self.items) <= GRID

    def refuse(self) -> None:
        """What cannot be estimated from, whoever counts."""
        validate_names([run.system for run in self.runs])
        for name in self.certain:
            refuse_certain(name, self.rows)
        for run in self.runs:
            if not run.common:
                mine, theirs = (", ".join(map(repr, ids)) for ids in (run.first, self.first))
                known = {"listed": mine, "known": theirs}
                raise DataError(Fault("no funnel user in common", run.name, more=known))


def counts(bucket: Bucket, users: str) -> Census:
    """The census of one bucket; ``users`` is who is to count."""
    return Census.of(Tables.of(bucket), users)


def counted(parts: Sequence[Census]) -> Census:
    """The census of all buckets."""
    if len(parts) == 1:
        return parts[0]
    items = pl.concat([part.items for part in parts]).unique()
    items = sort_ids(items)
    clicked = np.zeros(len(items), bool)
    some = pl.concat([part.items.filter(pl.Series(part.clicked)) for part in parts]).unique()
    clicked[positions(some, items)] = True
    runs: dict[tuple[int, str], list[Lists]] = {}
    for run in (run for part in parts for run in part.runs):
        runs.setdefault((int(run.table.split()[1]), run.system), []).append(run)
    return Census(
        items=items,
        clicked=clicked,
        known=sum(part.known for part in parts),
        strangers=sum(part.strangers for part in parts),
        rows=sum(part.rows for part in parts),
        clicks=sum(part.clicks for part in parts),
        earned={name: sum(part.earned[name] for part in parts) for name in parts[0].earned},
        certain=[x for x in parts[0].certain if all(x in part.certain for part in parts)],
        first=_few(pl.concat([part.first for part in parts])),
        runs=[
            replace(
                same[0],
                common=sum(run.common for run in same),
                first=_few(pl.concat([run.first for run in same])),
            )
            for _, same in sorted(runs.items())
        ],
    )


def _few(ids: pl.Series) -> pl.Series:
    return ids.unique().sort().head(FEW)
