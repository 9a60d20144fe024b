"""Buckets: whole units with all their rows, of every table. Engines make them, verbs map them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import polars as pl

from counterrank.schema import Input, Table

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class Bucket:
    """The rows of some units: every table by its name, through the door.

    A table may have no rows here. All rows of a unit are in one bucket.
    """

    tables: Mapping[str, Table]
    memo: dict[str, Any] = field(default_factory=dict, compare=False)

    def kept(self, name: str, compute: Callable[[], A]) -> A:
        """What several passes over the same bucket ask for; computed again where it was let go."""
        if name not in self.memo:
            self.memo[name] = compute()
        found: A = self.memo[name]
        return found


class Buckets(ABC):
    """Tables cut into buckets of whole units, wherever they are held.

    ``heads`` are the tables without their rows (in memory: with them): what columns there are, and
    of what types. ``inputs`` is what a result remembers of them, in the order they were given.
    """

    heads: dict[str, Table]
    inputs: dict[str, Input]

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of buckets."""

    @property
    def whole(self) -> bool:
        """Whether there is one bucket, in this process, that stays: nothing is sent."""
        return False

    @abstractmethod
    def mapped(self, work: Callable[[Bucket], A], word: str) -> list[A]:
        """``work`` on every bucket, with a bar that says ``word``; results in no special order.

        ``work`` is a pure function: it may run in another process, more than once, in any order.
        What it returns is made of dataclasses of this package, dicts, lists, tuples, text, numbers,
        arrays, Series and frames, so that it can be sent (`counterrank.engine.wire`).
        A `CounterrankError` that it raises reaches the caller, merged over all buckets.
        """

    def folded(self, work: Callable[[Bucket], A | None], word: str) -> A:
        """What ``work`` yields on every bucket, added up; None adds nothing."""
        found: Any = None
        for one in self.mapped(work, word):
            found = one if found is None else found if one is None else found + one
        return cast(A, found)

    @abstractmethod
    def exchanged(
        self,
        first: Callable[[Bucket], pl.DataFrame],
        schema: Mapping[str, pl.DataType],
        key: str,
        second: Callable[[pl.DataFrame], B],
        word: str,
        *,
        parts: int | None = None,
    ) -> list[B]:
        """Rows of ``first`` on every bucket, brought together by ``key``, then ``second`` on these.

        ``schema`` is that of the rows. All rows of one key meet in one call of ``second``.
        ``parts`` is how many calls share them; the engine's choice is for rows that are sums.
        """
