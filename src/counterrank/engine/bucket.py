"""The old names of partitions, for verbs that are not ported yet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar, cast

import polars as pl

from counterrank.engine.engines import Engine
from counterrank.engine.memory import InMemory
from counterrank.engine.partitions import Partition, Partitions, Tables, split
from counterrank.progress import Progress, quiet
from counterrank.schema import Door, Input, Table

A = TypeVar("A")
B = TypeVar("B")


class Bucket(Partition):
    """A partition."""

    def kept(self, name: str, compute: Callable[[], A]) -> A:
        """What is cached in it."""
        return self.cached(name, compute)


class Buckets(ABC):
    """Partitions; in memory ``heads`` have their rows."""

    heads: dict[str, Table]
    inputs: dict[str, Input]
    partitions: Partitions

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of partitions."""

    @property
    def whole(self) -> bool:
        """Whether all is in memory."""
        return False

    @abstractmethod
    def mapped(self, work: Callable[[Bucket], A], word: str) -> list[A]:
        """See `Partitions.map`."""

    def folded(self, work: Callable[[Bucket], A | None], word: str) -> A:
        """See `Partitions.reduce`; results are added."""
        some = [one for one in self.mapped(work, word) if one is not None]
        return cast(A, reduce(add, some) if some else None)

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
        """See `Partitions.exchange`; pieces are rows with one hash of ``key``."""


class OfPartitions(Buckets):
    """Partitions under these names."""

    def __init__(self, partitions: Partitions) -> None:
        self.partitions = partitions
        self.inputs = dict(partitions.inputs)
        whole = partitions.partition.tables if isinstance(partitions, InMemory) else None
        self.heads = dict(whole or partitions.heads)

    @property
    def count(self) -> int:
        """See `Buckets`."""
        return self.partitions.count

    @property
    def whole(self) -> bool:
        """See `Buckets`."""
        return isinstance(self.partitions, InMemory)

    def mapped(self, work: Callable[[Bucket], A], word: str) -> list[A]:
        """See `Buckets`."""
        return self.partitions.map(partial(_on_bucket, work), word)

    def folded(self, work: Callable[[Bucket], A | None], word: str) -> A:
        """See `Buckets`."""
        total = self.partitions.reduce(partial(_addend, work), word)
        return cast(A, None if total is None else total.value)

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
        """See `Buckets`."""
        count = 1 if self.whole else parts or self.partitions.pieces
        work = partial(_split, first, key, count)
        return self.partitions.exchange(work, partial(_listed, second), word) or []


@dataclass(frozen=True)
class Addend:
    """A result that merges by ``+``."""

    value: Any

    @classmethod
    def merge(cls, parts: Sequence[Addend]) -> Addend:
        """The sum."""
        return cls(reduce(add, [part.value for part in parts]))


def _on_bucket(work: Callable[[Bucket], A], part: Partition) -> A:
    return work(Bucket(part.tables, part.cache))


def _addend(work: Callable[[Bucket], Any], part: Partition) -> Addend | None:
    value = _on_bucket(work, part)
    return None if value is None else Addend(value)


def _split(
    first: Callable[[Bucket], pl.DataFrame], key: str, count: int, part: Partition
) -> dict[int, pl.DataFrame]:
    return split(_on_bucket(first, part), key, count)


def _listed(second: Callable[[pl.DataFrame], B], rows: pl.DataFrame) -> list[B]:
    return [second(rows)]


@contextmanager
def bucketed(
    chosen: Engine,
    doors: Mapping[str, Door],
    *,
    by: str,
    ids: Sequence[str],
    progress: Progress = quiet,
) -> Iterator[Buckets]:
    """See `Engine.open`."""
    with chosen.open(Tables(doors, by, tuple(ids)), progress) as partitions:
        yield OfPartitions(partitions)


def in_memory(tables: Mapping[str, Table]) -> Buckets:
    """Tables that were read already."""
    return OfPartitions(InMemory(tables))
