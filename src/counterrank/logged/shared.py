"""What all buckets of a log must agree on: found bucket by bucket, merged, and handed back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from counterrank.arrays import Ints
from counterrank.data.ids import IdCodes, distinct_ids, number_rows, row_positions, sort_ids
from counterrank.logged.sessions import Sessions, of_session


@dataclass(frozen=True)
class Shared:
    """Facts of a log, which add up over its buckets.

    ``lengths`` counts the sessions of each length, ``events`` the rows with a reward, ``certain``
    the rows with a propensity of 1. ``items`` and ``contexts`` are the distinct ids and context
    rows (of a log in memory no items: it knows its own). ``exposures`` holds the least and the
    greatest logged exposure by context and rank, ``served`` the sessions by policy, ``arms`` the
    distinct values of arm or policy; ``views`` were logged or are unknown.
    """

    rows: int
    sessions: int
    ranks: int
    unbroken: bool
    lengths: Ints
    events: dict[str, int]
    certain: int
    items: pl.Series
    contexts: pl.DataFrame
    exposures: pl.DataFrame
    served: dict[str, int]
    arms: pl.DataFrame
    views: str

    @classmethod
    def of(cls, sessions: Sessions, *, scope: str) -> Shared:
        """The facts of one bucket; ``scope`` is whole if there are no others."""
        frame, log = sessions.blocks.frame, sessions.log
        several = scope == "part"
        begin = sessions.blocks.start
        contexts = _distinct(frame, log.contexts, begin)
        return cls(
            rows=frame.height,
            sessions=sessions.n,
            ranks=sessions.ranks,
            unbroken=sessions.unbroken,
            lengths=np.bincount(sessions.blocks.length),
            events={
                name: int(np.count_nonzero(sessions.column(name, 0, sessions.n)))
                for name in log.rewards
            },
            certain=int((frame["propensity"] == 1).sum()) if log.has("propensity") else 0,
            items=distinct_ids([frame["item"]]) if several else pl.Series("item", [], pl.Int64),
            contexts=contexts,
            exposures=_exposures(sessions) if log.has("exposure") else pl.DataFrame(),
            served=_served(frame["policy"].gather(begin)) if log.has("policy") else {},
            arms=_distinct(frame, [c for c in ("arm", "policy") if log.has(c)], begin),
            views="logged" if log.has("viewed") else "unknown",
        )

    def __add__(self, other: Shared) -> Shared:
        size = max(len(self.lengths), len(other.lengths))
        lengths = np.zeros(size, np.int64)
        for one in (self, other):
            lengths[: len(one.lengths)] += one.lengths
        return Shared(
            rows=self.rows + other.rows,
            sessions=self.sessions + other.sessions,
            ranks=max(self.ranks, other.ranks),
            unbroken=self.unbroken and other.unbroken,
            lengths=lengths,
            events={name: count + other.events[name] for name, count in self.events.items()},
            certain=self.certain + other.certain,
            items=pl.concat([self.items, other.items]).unique(),
            contexts=_union(self.contexts, other.contexts),
            exposures=_extremes(_both(self.exposures, other.exposures)),
            served={
                name: self.served.get(name, 0) + other.served.get(name, 0)
                for name in sorted({*self.served, *other.served})
            },
            arms=_union(self.arms, other.arms),
            views=self.views,
        )

    @property
    def viewed(self) -> bool:
        """Whether views were logged."""
        return self.views == "logged"

    def number(self, rows: pl.DataFrame) -> Ints:
        """The number of each of some rows of context columns."""
        return self.known[0][row_positions(rows, self.contexts)]

    @property
    def combinations(self) -> pl.DataFrame:
        """The contexts by their number."""
        return self.known[1] if self.contexts.width else self.contexts

    @cached_property
    def known(self) -> tuple[Ints, pl.DataFrame]:
        """The number of each of ``contexts``, and what the numbers stand for."""
        return number_rows(self.contexts)

    def told(self, sessions: Sessions) -> Sessions:
        """A bucket's sessions with the whole log's numbers for items and contexts."""
        if len(self.items) == 0:
            return sessions
        context, contexts = sessions.context, sessions.contexts
        if sessions.log.contexts:
            own = of_session(sessions.log, sessions.blocks, list(sessions.log.contexts))
            context, contexts = self.number(own), self.known[1]
        return replace(
            sessions,
            codes=IdCodes.among(self.items),
            context=context,
            contexts=contexts,
            unbroken=self.unbroken,
            ranks=self.ranks,
        )


def settled_items(found: Shared) -> Shared:
    """The facts of the whole log; items in order, so that their numbers depend on nothing else."""
    return replace(found, items=sort_ids(found.items))


def _distinct(frame: pl.DataFrame, columns: Sequence[str], rows: Ints) -> pl.DataFrame:
    return frame.select(columns)[rows].unique() if columns else pl.DataFrame()


def _served(policy: pl.Series) -> dict[str, int]:
    found = policy.cast(pl.String).value_counts(name="count")
    return dict(sorted(zip(found[policy.name], found["count"], strict=True)))


def _exposures(sessions: Sessions) -> pl.DataFrame:
    names = list(sessions.log.contexts)
    frame = sessions.blocks.frame.select(*names, "rank", low="exposure", high="exposure")
    return _extremes(frame.with_columns(pl.col("rank").cast(pl.Int64)))


def _extremes(frame: pl.DataFrame) -> pl.DataFrame:
    if frame.width == 0:
        return frame
    keys = [name for name in frame.columns if name not in ("low", "high")]
    return frame.group_by(keys).agg(pl.col("low").min(), pl.col("high").max()).sort(keys)


def _both(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([a, b], how="vertical_relaxed") if a.width else b


def _union(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    both = _both(a, b)
    return both.unique() if both.width else both
