"""What is to be learned from a log, checked before its rows are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Annotated, Any, Literal

import polars as pl

from counterrank.core.arguments import Between, check_fields
from counterrank.core.errors import InputError, UsageError, brief
from counterrank.data import logs
from counterrank.data.schema import label
from counterrank.data.sources import open_source
from counterrank.engine.partitions import Tables

LOG = "log"
Method = Literal["auto", "views", "depth", "harvest", "swap", "em"]


@dataclass(frozen=True)
class LearnRequest:
    """Which columns of the log are read, for which method, and the curve that is fitted.

    ``context`` are the columns within which an item keeps its relevance, such as the query. ``by``
    asks for one model per value of a column. ``ranks`` is the deepest rank to learn, ``length`` the
    length of lists (depth only), ``swapped`` the column that says which rank was swapped with rank
    1 (swap only). ``model`` is a family of curves, ``level`` that of the intervals.
    """

    method: Method = "auto"
    reward: str | None = None
    context: Sequence[str] = ()
    by: str | None = None
    ranks: Annotated[int, Between(1)] | None = None
    length: Annotated[int, Between(1)] | None = None
    swapped: str | None = None
    model: Literal["table", "power", "geometric", "beta_geometric", "log2"] = "table"
    level: Annotated[float, Between(0, 1, "both")] = 0.95

    @classmethod
    def of(cls, learned: Mapping[str, Any]) -> LearnRequest:
        """What a file says that its model was learned by."""
        unknown = sorted(set(learned) - {own.name for own in fields(cls)})
        if unknown:
            raise InputError(
                f"The position model was learned by {brief(unknown[0])}, which is not known.",
                todo="Learn it anew with this version: counterrank exposure.",
            )
        return cls(**learned)

    def __post_init__(self) -> None:
        """Refuse options that make no sense, alone or together."""
        check_fields(self)
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

    def choose(self, method: Method) -> LearnRequest:
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
