"""Pairs brought together from all buckets: what models are fitted on and predictions held against.

These are the clicked pairs, and only with ``pairs="rows"`` or where a given ctr can be compared
with clicks all rows: a small part of what is listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from counterrank.arrays import Bools, Floats, Ints
from counterrank.conversions.ledger import Ledger, Rules
from counterrank.conversions.reading import FUNNEL, PREDICTIONS
from counterrank.data.ids import argsort_ids, hash_ids
from counterrank.engine import Bucket, Buckets, Engine
from counterrank.errors import UsageError
from counterrank.funnels import prediction
from counterrank.propensity import model
from counterrank.schema import Table

COLUMN = "column"  # predictions that were given, not fitted
FOLDS = 5  # of models; fewer where there are fewer users


@dataclass(frozen=True)
class Record:
    """Pairs by ``unit``, a place among ``units``, and ``item``, a place among all items.

    What is known of a pair is as in the `Ledger`.
    """

    units: pl.Series
    unit: Ints
    item: Ints
    click: Bools
    held: Bools
    reward: dict[str, Floats]
    ctr: Floats | None
    cvr: dict[str, Floats]

    @classmethod
    def of(cls, ledger: Ledger, *, rows: str, share: float) -> Record:
        """A bucket's: pairs that were ``clicked``, or all that are ``held``; of some users."""
        kept = ledger.click if rows == "clicked" else ledger.held
        if share < 1:
            kept = kept & chosen(ledger.pool.units, share)[ledger.pool.unit]
        whole = cls(
            ledger.pool.units, ledger.pool.unit, ledger.item, ledger.click, ledger.held,
            ledger.reward, ledger.ctr, ledger.cvr,
        )  # fmt: skip
        return whole.only(kept)

    def only_users(self) -> Record:
        """Without users of whom there are no pairs; models would count them, comparisons do not."""
        there = np.bincount(self.unit, minlength=len(self.units)) > 0
        place = np.cumsum(there) - 1
        return replace(self, units=self.units.filter(pl.Series(there)), unit=place[self.unit])

    def only(self, kept: Bools) -> Record:
        """Some of the pairs; users stay as they are."""
        if kept.all():
            return self
        return replace(
            self,
            unit=self.unit[kept],
            item=self.item[kept],
            click=self.click[kept],
            held=self.held[kept],
            reward={name: y[kept] for name, y in self.reward.items()},
            ctr=None if self.ctr is None else self.ctr[kept],
            cvr={name: h[kept] for name, h in self.cvr.items()},
        )


def recorded(
    buckets: Buckets, rules: Rules, engine: Engine, *, ctr: str, cvr: str
) -> Record | None:
    """What the models asked for need, and what tells whether predictions come true, if anything."""
    fitting, there = (ctr, cvr) != (COLUMN, COLUMN), given(buckets.heads)
    tested = ctr == COLUMN and "ctr" in there and rules.visible
    rewards = tuple(rules.census.earned)
    weighed = "ctr" in there and any(prediction(reward, rewards) in there for reward in rewards)
    if not (fitting or tested or weighed):
        return None
    census = rules.census
    rows = "held" if tested or (fitting and rules.pairs == "rows") else "clicked"
    if fitting:
        pairs = census.rows if rows == "held" else census.clicks
        wide = sum(getattr(model(word), "d", 0) for word in (ctr, cvr) if word != COLUMN)
        _refuse_many(pairs, census.n(rules.users), len(census.earned), 12 + FOLDS * wide, engine)
    share = 1.0 if fitting or rows == "held" else rules.share
    users = "all" if fitting else "some"
    work = partial(_record, rules=rules, rows=rows, share=share, users=users)
    return together(buckets.mapped(work, "gathering clicks"))


def _record(bucket: Bucket, rules: Rules, rows: str, share: float, users: str) -> Record:
    found = Record.of(Ledger.of(bucket, rules), rows=rows, share=share)
    return found if users == "all" else found.only_users()


def given(heads: Mapping[str, Table]) -> set[str]:
    """The columns of the funnel and of predictions, of which some may be a ctr or a cvr."""
    tables = [heads[name].frame for name in (FUNNEL, PREDICTIONS) if name in heads]
    return {column for frame in tables for column in frame.columns}


def together(parts: Sequence[Record]) -> Record:
    """The record of all buckets, users in the order of their ids."""
    if len(parts) == 1:
        return parts[0]
    units = pl.concat([part.units for part in parts])
    by = argsort_ids(units)
    place = np.empty(len(by), np.int64)
    place[by] = np.arange(len(by))
    first = np.cumsum([0, *(len(part.units) for part in parts)])
    unit = np.concatenate([place[p.unit + at] for p, at in zip(parts, first, strict=False)])
    turn = np.argsort(unit, kind="stable")

    def all_of(columns: Sequence[Floats]) -> Floats:
        return np.concatenate(columns)[turn]

    return Record(
        units=units.gather(by),
        unit=unit[turn],
        item=np.concatenate([part.item for part in parts])[turn],
        click=np.concatenate([part.click for part in parts])[turn],
        held=np.concatenate([part.held for part in parts])[turn],
        reward={name: all_of([p.reward[name] for p in parts]) for name in parts[0].reward},
        ctr=None if parts[0].ctr is None else all_of([p.ctr for p in parts if p.ctr is not None]),
        cvr={name: all_of([p.cvr[name] for p in parts]) for name in parts[0].cvr},
    )


def chosen(units: pl.Series, share: float) -> Bools:
    """A share of the users, by a hash of their ids: the same wherever they are looked up."""
    few: Bools = hash_ids(units) < np.uint64(int(share * 2**64))
    return few


def _refuse_many(pairs: int, users: int, rewards: int, each: int, engine: Engine) -> None:
    """Pairs, and ``each`` number of a user, that do not fit into the one place models are made."""
    space, needed = engine.memory_budget, 8 * (pairs * (4 + rewards) + users * each)
    if space is not None and needed > space:
        raise UsageError(
            "Models of clicks and conversions are fitted on all clicked pairs in one place.",
            found=f"{pairs:,} pairs of {users:,} users take about {needed / 1e9:.1f} GB, and there"
            f" is room for {space / 1e9:.1f} GB.",
            todo="Give ctr and cvr as columns or as a table of predictions, or more memory"
            " (--memory; on Spark Spark(collect=...)).",
        )
