"""A log as sessions: rows in the order of ranks, users as clusters, contexts as numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from counterrank.arrays import AnyInts, Ints
from counterrank.core.faults import DataError, Fault
from counterrank.data.blocks import BLOCK_ROWS, Blocks, run_starts
from counterrank.data.ids import IdCodes, as_integers, hash_ids, number_rows
from counterrank.logs import Log
from counterrank.order import natural_rank

FOLDS = 5
ROWS = BLOCK_ROWS // 2  # of a log's bucket; its target's rows come on top


@dataclass(frozen=True)
class Sessions:
    """Blocks of whole sessions. Per session: ``user`` if logged, ``fold``, ``context``.

    ``contexts`` are the distinct combinations of context columns, by their number. ``unbroken``:
    each session's ranks are 1, 2, 3, ... ``ranks`` is the deepest. ``arrays`` are columns already
    used. In a bucket of a larger log, codes of items, contexts and ``ranks`` are the whole log's.
    """

    log: Log
    blocks: Blocks
    user: pl.Series | None
    fold: Ints
    context: Ints
    contexts: pl.DataFrame
    unbroken: bool
    ranks: int
    codes: IdCodes | None = None
    arrays: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, log: Log, *, gaps: str) -> Sessions:
        """Rows sorted by session and rank; what needs a session's rows together is checked.

        Folds go by user, as a function of the id alone.
        """
        blocks = _by_rank(Blocks.of(log.frame, ascending=True, unit="session"))
        unbroken = _refuse_ranks(log, blocks, gaps)
        user = of_session(log, blocks, ["user"])["user"] if log.has("user") else None
        n = len(blocks.start)
        context, known = np.zeros(n, np.int64), pl.DataFrame()
        if log.contexts:
            context, known = number_rows(of_session(log, blocks, list(log.contexts)))
        fold = hash_ids(blocks.names if user is None else user) % np.uint64(FOLDS)
        deepest = int(blocks.frame["rank"].to_numpy().max())
        return cls(log, blocks, user, fold.astype(np.int64), context, known, unbroken, deepest)

    @cached_property
    def items(self) -> IdCodes:
        """Numbers of the items: those of ``codes``, else in the order of their ids."""
        return IdCodes.of([self.blocks.frame["item"]]) if self.codes is None else self.codes

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
        """First and last session of each bucket."""
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


def _by_rank(blocks: Blocks) -> Blocks:
    """The same blocks with each session's rows in the order of their ranks."""
    frame = blocks.frame
    rank = frame["rank"].to_numpy()
    step = np.diff(rank)
    step[blocks.start[1:] - 1] = 0
    if np.all(step >= 0):
        return blocks
    session = np.repeat(np.arange(len(blocks.start)), blocks.length)
    if "row" not in frame.columns:
        frame = frame.with_row_index("row")
    # equal ranks, which are refused next, stay in the caller's order
    row = frame["row"].to_numpy() if frame.schema["row"].is_integer() else np.arange(frame.height)
    frame = frame[np.lexsort((row, rank, session))]
    return Blocks(frame, blocks.names, blocks.start, blocks.length, blocks.unit)


def _refuse_ranks(log: Log, blocks: Blocks, gaps: str) -> bool:
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


def of_session(log: Log, blocks: Blocks, columns: list[str]) -> pl.DataFrame:
    """One value per session of columns that do not change within it."""
    frame = blocks.frame.select(columns)
    for column in columns:
        begins = run_starts(frame[column])
        first = np.zeros(frame.height, bool)
        first[blocks.start] = True
        inside = begins[~first[begins]]
        if len(inside):
            what = "changes within session"
            raise DataError(blocks.fault(what, log.name, inside, column=column))
    return frame[blocks.start]
