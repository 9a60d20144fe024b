"""A log as sessions, and what all partitions of it must agree on.

Rows stand in the order of sessions and ranks; users are clusters; contexts and items are numbers,
which are those of the whole log.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np
import polars as pl

from counterrank.core.arrays import AnyInts, Floats, Ints, order_lists, order_ranks, ranges
from counterrank.core.faults import DataError, Fault
from counterrank.core.merge import by_key, padded
from counterrank.data.blocks import BLOCK_ROWS, Blocks, run_starts
from counterrank.data.checks import certainty
from counterrank.data.ids import (
    IdCodes,
    as_categories,
    as_integers,
    as_plain,
    distinct_ids,
    hash_ids,
    number_rows,
    row_positions,
    sort_ids,
)
from counterrank.data.logs import Log
from counterrank.data.schema import Table
from counterrank.engine.partitions import Partition, Partitions, on_some
from counterrank.matching.align import natural_rank
from counterrank.ope.times import session_dates

LOG = "log"  # the log among a verb's tables
WEIGHT = "weight of "  # what a target weighs rows by, in a sample of them
FOLDS = 5
ROWS = BLOCK_ROWS // 2  # of a block of a log; its target's rows come on top


@dataclass(frozen=True)
class Sessions:
    """Rows of a log, session by session. Per session: ``user`` if logged, ``fold``, ``context``.

    ``contexts`` are the distinct combinations of context columns, by their number; ``codes`` the
    numbers of items. Both are the whole log's, as are ``ranks``, the deepest, and ``unbroken``:
    each session's ranks are 1, 2, 3, ... `LogTotals.number_sessions` sets them. ``arrays`` are
    columns already used.
    """

    log: Log
    blocks: Blocks
    user: pl.Series | None
    fold: Ints
    unbroken: bool
    ranks: int
    context: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    contexts: pl.DataFrame = field(default_factory=pl.DataFrame)
    codes: IdCodes | None = None
    arrays: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, log: Log, *, gaps: str) -> Sessions:
        """Rows sorted by session and rank; what needs a session's rows together is checked.

        Folds go by user, as a function of the id alone.
        """
        blocks = _by_rank(Blocks.of(log.frame, ascending=True, unit="session", rank="rank"))
        unbroken = _validate_ranks(log, blocks, gaps)
        _validate_constant(log, blocks)
        user = blocks.frame["user"].gather(blocks.start) if log.has("user") else None
        fold = hash_ids(blocks.names if user is None else user) % np.uint64(FOLDS)
        deepest = int(blocks.frame["rank"].to_numpy().max())
        return cls(log, blocks, user, fold.astype(np.int64), unbroken, deepest)

    @property
    def items(self) -> IdCodes:
        """The numbers of the items."""
        assert self.codes is not None
        return self.codes

    @cached_property
    def cluster(self) -> Ints | None:
        """The number of each session's user, in the order of their ids."""
        return None if self.user is None else number_rows(self.user.to_frame())[0]

    @property
    def n(self) -> int:
        """Number of sessions."""
        return len(self.blocks.start)

    @cached_property
    def item(self) -> AnyInts:
        """The items as the integers they are stored as."""
        return as_integers(self.blocks.frame["item"])

    @property
    def units(self) -> pl.Series:
        """Ids of the sessions."""
        return self.blocks.names

    def fault(self, what: str, table: str, places: Ints, *, column: str = "", **more: Any) -> Fault:
        """The sessions at these places lack something, or have it wrong."""
        named = lambda place: {"id": self.units[place]}  # noqa: E731
        return Fault.at(what, table, places, named, of=self.n, column=column, **more)

    def cuts(self) -> list[tuple[int, int]]:
        """First and last session of each block."""
        return list(self.blocks.cuts(ROWS))

    def rows(self, begin: int, end: int) -> slice:
        """Where the rows of sessions ``begin`` to ``end`` stand."""
        first = int(self.blocks.start[begin])
        return slice(first, first + int(self.blocks.length[begin:end].sum()))

    def column(self, name: str, begin: int, end: int) -> Any:
        """A column of the rows of sessions ``begin`` to ``end``: floats, or ranks."""
        if name not in self.arrays:
            self.arrays[name] = self.blocks.frame[name].to_numpy()
        return self.arrays[name][self.rows(begin, end)]

    def capped(self, caps: Mapping[str, float]) -> Sessions:
        """With rewards beyond a size cut to it."""
        cut = [pl.col(name).clip(-cap, cap) for name, cap in caps.items()]
        frame = self.blocks.frame.with_columns(cut)
        return replace(self, blocks=replace(self.blocks, frame=frame), arrays={}) if cut else self

    def per_session(self, columns: Sequence[str]) -> pl.DataFrame:
        """One row per session of columns that do not change within it."""
        if not columns:
            return pl.DataFrame()
        return self.blocks.frame.select(columns)[self.blocks.start]

    def sample(
        self, share: float, *, by: str = "user", weights: Mapping[str, Floats] | None = None
    ) -> pl.DataFrame:
        """Rows of a fixed sample of users: whether one is in it depends on its id alone.

        ``weights`` are those of all rows by each target, and stand beside them.
        """
        frame = self.blocks.frame.drop("row", strict=False)
        frame = frame.with_columns(pl.Series(WEIGHT + t, w) for t, w in (weights or {}).items())
        if share < 1:
            ids = self.units if self.user is None or by == "session" else self.user
            chosen = hash_ids(ids) < np.uint64(share * 2.0**64)
            frame = frame[ranges(self.blocks.start[chosen], self.blocks.length[chosen])]
        return frame.with_columns(as_plain(frame["item"]))


def sessions_of(gaps: str, part: Partition) -> Sessions | None:
    """The sessions of a partition by themselves; None if it has none."""
    if part[LOG].frame.height == 0:
        return None
    return part.cached("sessions", lambda: Sessions.of(log_table(part.tables[LOG]), gaps=gaps))


def log_table(table: Table) -> Log:
    """A log, or its head; items that are text become categories."""
    assert isinstance(table, Log)
    return replace(table, frame=as_categories(table.frame))


def _by_rank(blocks: Blocks) -> Blocks:
    """The same blocks with each session's rows in the order of their ranks."""
    frame = blocks.frame
    rank = frame["rank"].to_numpy()
    step = np.diff(rank)
    step[blocks.start[1:] - 1] = 0
    if np.all(step >= 0):
        return blocks
    if "row" not in frame.columns:
        frame = frame.with_row_index("row")
    order = order_ranks(rank, np.repeat(blocks.start, blocks.length))
    if order is None:  # equal ranks, which are refused next, stay in the caller's order
        order = order_lists(rank.astype(np.uint64), blocks.length)
    return Blocks(frame[order], blocks.names, blocks.start, blocks.length, blocks.unit)


def _validate_ranks(log: Log, blocks: Blocks, gaps: str) -> bool:
    """Ranks are distinct within a session and, unless only viewed rows were logged, unbroken."""
    rank = blocks.frame["rank"].to_numpy()
    step = np.diff(rank)
    step[blocks.start[1:] - 1] = 1
    if np.all(step == 1) and np.all(rank[blocks.start] == 1):
        return True
    natural = natural_rank(blocks.length)
    again = np.flatnonzero((rank[1:] == rank[:-1]) & (natural[1:] > 1)) + 1
    if len(again):
        raise DataError(blocks.fault("rank twice in session", log.name, again, column="rank"))
    broken = np.flatnonzero(rank != natural)
    if len(broken) and gaps == "error":
        fault = blocks.fault("rank left out", log.name, broken, column="rank")
        ranks = {"rank": int(rank[broken[0]]), "due": int(natural[broken[0]])}
        raise DataError(replace(fault, first=fault.first | ranks))
    return False


def _validate_constant(log: Log, blocks: Blocks) -> None:
    """User and contexts have one value per session."""
    for column in [*(["user"] if log.has("user") else []), *log.contexts]:
        begins = run_starts(blocks.frame[column])
        first = np.zeros(blocks.frame.height, bool)
        first[blocks.start] = True
        inside = begins[~first[begins]]
        if len(inside):
            what = "changes within session"
            raise DataError(blocks.fault(what, log.name, inside, column=column))


# what all partitions must agree on


def _distinct(parts: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts, how="vertical_relaxed").unique() if parts[0].width else parts[0]


def _extremes(parts: list[pl.DataFrame]) -> pl.DataFrame:
    keys = [name for name in parts[0].columns if name not in ("low", "high")]
    if not keys:
        return parts[0]
    frame = pl.concat(parts, how="vertical_relaxed")
    return frame.group_by(keys).agg(pl.col("low").min(), pl.col("high").max()).sort(keys)


@dataclass(frozen=True)
class LogTotals:
    """Statistics of a whole log, merged from those of its partitions.

    ``lengths`` counts the sessions of each length, ``events`` the rows with a reward, ``least`` and
    ``most`` are the smallest and the largest of each (0 among them), ``certain`` counts the
    rows with a propensity of 1. ``items`` and ``contexts`` are the distinct ids and context rows.
    ``exposures`` holds the least and the greatest logged exposure by context and rank, ``served``
    the sessions by policy, ``arms`` the distinct values of arm or policy. ``viewed``: views were
    logged. ``first`` and ``last`` are days since 1970, if the log has dates.
    """

    rows: int
    sessions: int
    ranks: Annotated[int, max]
    unbroken: Annotated[bool, all]
    viewed: Annotated[bool, all]
    lengths: Annotated[Ints, padded]
    events: dict[str, int]
    least: Annotated[dict[str, float], by_key(min)]
    most: Annotated[dict[str, float], by_key(max)]
    certain: int
    items: Annotated[pl.Series, distinct_ids]
    contexts: Annotated[pl.DataFrame, _distinct]
    exposures: Annotated[pl.DataFrame, _extremes]
    served: dict[str, int]
    arms: Annotated[pl.DataFrame, _distinct]
    first: Annotated[float, min]
    last: Annotated[float, max]

    @classmethod
    def of(cls, sessions: Sessions) -> LogTotals:
        """Those of some sessions."""
        frame, log = sessions.blocks.frame, sessions.log
        names, arms = list(log.contexts), [c for c in ("arm", "policy") if log.has(c)]
        policies = pl.Series([], dtype=pl.String)
        if log.has("policy"):
            policies = sessions.per_session(["policy"])["policy"].cast(pl.String)
        paid = {name: sessions.column(name, 0, sessions.n) for name in log.rewards}
        exposures, days = pl.DataFrame(), session_dates(frame, sessions.blocks.start)
        if log.has("exposure"):
            rank = pl.col("rank").cast(pl.Int64)
            exposures = frame.select(*names, rank, low="exposure", high="exposure")
        return cls(
            rows=frame.height,
            sessions=sessions.n,
            ranks=sessions.ranks,
            unbroken=sessions.unbroken,
            viewed=log.has("viewed"),
            lengths=np.bincount(sessions.blocks.length),
            events={name: int(np.count_nonzero(x)) for name, x in paid.items()},
            least={name: float(x.min(initial=0)) for name, x in paid.items()},
            most={name: float(x.max(initial=0)) for name, x in paid.items()},
            certain=int((frame["propensity"] == 1).sum()) if log.has("propensity") else 0,
            items=distinct_ids([frame["item"]]),
            contexts=_distinct([sessions.per_session(names)]),
            exposures=_extremes([exposures]),
            served=dict(policies.value_counts().iter_rows()),
            arms=_distinct([sessions.per_session(arms)]),
            first=np.inf if days is None else float(days.min()),
            last=-np.inf if days is None else float(days.max()),
        )

    @classmethod
    def read(cls, log: Partitions, gaps: str) -> LogTotals:
        """Those of all partitions; items in order, so that their numbers depend on nothing else."""
        totals = log.reduce(partial(on_some, partial(sessions_of, gaps), cls.of), "reading the log")
        head = log.heads[LOG]
        if "propensity" in head.frame.columns and totals.certain == totals.rows:
            raise certainty(head.name, totals.rows)
        return totals.sorted()

    def sorted(self) -> LogTotals:
        """With items in order."""
        return replace(self, items=sort_ids(self.items))

    def protocol(self) -> dict[str, list[str]]:
        """The first and the last day, where the log has dates."""
        if not self.first <= self.last:
            return {}
        days = (date(1970, 1, 1) + timedelta(days=math.floor(x)) for x in (self.first, self.last))
        return {"dates": [day.isoformat() for day in days]}

    def number(self, rows: pl.DataFrame) -> Ints:
        """The number of each of some rows of context columns."""
        return self._numbers[0][row_positions(rows, self.contexts)]

    @property
    def combinations(self) -> pl.DataFrame:
        """The contexts by their number."""
        return self._numbers[1] if self.contexts.width else self.contexts

    @cached_property
    def _numbers(self) -> tuple[Ints, pl.DataFrame]:
        return number_rows(self.contexts)

    def number_sessions(self, sessions: Sessions) -> Sessions:
        """Sessions with the whole log's numbers for items and contexts."""
        context = np.zeros(sessions.n, np.int64)
        if sessions.log.contexts:
            context = self.number(sessions.per_session(list(sessions.log.contexts)))
        return replace(
            sessions,
            codes=IdCodes.among(self.items),
            context=context,
            contexts=self.combinations,
            unbroken=self.unbroken,
            ranks=self.ranks,
        )


@dataclass(frozen=True)
class LargestRewards:
    """Of each reward the ``counts`` largest sizes, in order."""

    counts: dict[str, int]
    sizes: dict[str, Floats]

    @classmethod
    def of(cls, counts: dict[str, int], sessions: Sessions) -> LargestRewards:
        """Those of some sessions."""
        paid = {name: np.abs(sessions.column(name, 0, sessions.n)) for name in counts}
        return cls(counts, {name: np.sort(x)[-counts[name] :] for name, x in paid.items()})

    @classmethod
    def merge(cls, parts: Sequence[LargestRewards]) -> LargestRewards:
        """Those of all parts."""
        counts = parts[0].counts
        every = {name: np.concatenate([part.sizes[name] for part in parts]) for name in counts}
        return cls(counts, {name: np.sort(x)[-counts[name] :] for name, x in every.items()})


def reward_caps(log: Partitions, totals: LogTotals, gaps: str, share: float) -> dict[str, float]:
    """The size that a ``share`` of each reward's rows that have any do not exceed."""
    counts = {name: int((1 - share) * n) + 1 for name, n in totals.events.items() if n}
    work = partial(on_some, partial(sessions_of, gaps), partial(LargestRewards.of, counts))
    found = log.reduce(work, "looking for the largest rewards")
    return {name: float(x[0]) for name, x in found.sizes.items()}
