"""What is to be learned from a log, checked before its rows are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from counterrank.core.errors import InputError, UsageError
from counterrank.data import logs
from counterrank.engine.partitions import Tables

LOG = "log"


@dataclass(frozen=True)
class LearnRequest:
    """Which columns of the log are read, for which method, and the curve that is fitted.

    ``context`` are the columns within which an item keeps its relevance, such as the query. ``by``
    asks for one model per value of a column. ``ranks`` is the deepest rank to learn, ``length`` the
    length of lists (depth only), ``swapped`` the column that says which rank was swapped with rank
    1 (swap only). ``model`` is a family of curves, ``level`` that of the intervals.
    """

    method: str = "auto"
    reward: str | None = None
    context: tuple[str, ...] = ()
    by: str | None = None
    ranks: int | None = None
    length: int | None = None
    swapped: str | None = None
    model: str = "table"
    level: float = 0.95

    def __post_init__(self) -> None:
        """Refuse options that make no sense, alone or together."""
        if self.length is not None and self.method not in ("depth", "auto"):
            raise UsageError(f"A length of lists says nothing to method {self.method}.")
        if self.swapped is not None and self.method != "swap":
            raise UsageError(f"A column of swaps says nothing to method {self.method}.")

    @property
    def by_item(self) -> bool:
        """Whether the method looks at items, or only counts them."""
        return self.method in ("harvest", "em") or (self.method == "swap" and self.swapped is None)

    def tables(self, table: object, columns: Mapping[str, str] | None) -> Tables:
        """The log by its schema, cut by user, or by session where no user was logged."""
        asked = [*self.context, *(name for name in (self.by, self.swapped) if name is not None)]
        schema = logs.log_schema(
            table,
            rewards=None if self.reward is None else (self.reward,),
            contexts=[name for name in asked if name not in logs.OPTIONAL],
            columns=columns,
        )
        there = schema.source.columns()
        unit = "user" if schema.roles.column("user", there) in there else "session"
        return Tables({LOG: schema}, unit, (), needs=LOG)

    @property
    def columns(self) -> list[str]:
        """Columns of the log that it names."""
        named = (self.reward, *self.context, self.by, self.swapped)
        return [name for name in named if name is not None and name not in logs.OPTIONAL]

    def read(self, head: logs.Log) -> LearnRequest:
        """The same, with what the log's columns say."""
        if self.swapped is not None:
            _validate_ranks(head.frame[self.swapped])
        length = self.length
        if self.ranks is not None and self.method == "depth" and not head.has("viewed"):
            length = self.ranks if length is None else min(length, self.ranks)
        return replace(self, reward=head.rewards[0] if head.rewards else None, length=length)

    def choose(self, method: str) -> LearnRequest:
        """The same by this method."""
        return replace(self, method=method, length=self.length if method == "depth" else None)


def _validate_ranks(column: pl.Series) -> None:
    """Ranks that were swapped with rank 1 are whole numbers."""
    if not column.dtype.is_integer():
        raise InputError(
            f'Column "{column.name}" must say which rank was swapped with rank 1.',
            found=f"It is of type {column.dtype}.",
            todo="Log that rank as a whole number in every row of the session.",
        )
