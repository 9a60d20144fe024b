"""What is to be learned from a log, checked before its rows are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from counterrank.core.errors import InputError, UsageError
from counterrank.data import logs
from counterrank.data.schema import label
from counterrank.data.sources import open_source
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
            raise UsageError(
                f"A length of lists says nothing to method {self.method}.",
                todo="Leave --length out, or ask for --method depth.",
            )
        if self.swapped is not None and self.method != "swap":
            raise UsageError(
                f"A column of swaps says nothing to method {self.method}.",
                todo="Leave --swapped out, or ask for --method swap.",
            )

    @property
    def by_item(self) -> bool:
        """Whether the method looks at items, or only counts them."""
        return self.method in ("harvest", "em") or (self.method == "swap" and self.swapped is None)

    def tables(self, table: object, columns: Mapping[str, str] | None) -> Tables:
        """The log by its schema, cut by user, or by session where no user was logged."""
        asked = [*self.context, *(name for name in (self.by, self.swapped) if name is not None)]
        there = open_source(table, trec=(), name=label(table, "the log")).columns()
        roles = [r for r in logs.OPTIONAL if (columns or {}).get(r, r) in there]  # read anyway
        schema = logs.log_schema(
            table,
            rewards=None if self.reward is None else (self.reward,),
            contexts=[name for name in asked if name not in roles],
            columns=columns,
        )
        if self.swapped is not None:
            own = schema.check, schema.source.name, self.swapped
            schema = replace(schema, check=partial(_check_swapped, *own))
        unit = "user" if schema.roles.column("user", there) in there else "session"
        return Tables({LOG: schema}, unit, (), needs=LOG)

    @property
    def columns(self) -> list[str]:
        """Columns of the log that it names."""
        named = (self.reward, *self.context, self.by, self.swapped)
        return [name for name in named if name is not None and name not in logs.OPTIONAL]

    def read(self, head: logs.Log) -> LearnRequest:
        """The same, with what the log's columns say."""
        length = self.length
        if self.ranks is not None and self.method == "depth" and not head.has("viewed"):
            length = self.ranks if length is None else min(length, self.ranks)
        return replace(self, reward=head.rewards[0] if head.rewards else None, length=length)

    def choose(self, method: str) -> LearnRequest:
        """The same by this method."""
        return replace(self, method=method, length=self.length if method == "depth" else None)


def _check_swapped(
    check: Callable[[pl.DataFrame], pl.DataFrame], name: str, column: str, frame: pl.DataFrame
) -> pl.DataFrame:
    """The checks of a log, and that ranks which were swapped with rank 1 are whole numbers."""
    frame = check(frame)
    whole = frame[column]
    if whole.dtype == pl.String:  # as CSV files have it
        whole = whole.str.strip_chars().cast(pl.Int64, strict=False)
    if whole.null_count() or not whole.dtype.is_integer():
        raise InputError(
            f'Column "{column}" of "{name}" must say which rank was swapped with rank 1.',
            found=f"It is of type {frame.schema[column]}, its first value {frame[column][0]!r}.",
            todo="Log that rank as a whole number in every row of the session.",
        )
    return frame.with_columns(whole.alias(column))
