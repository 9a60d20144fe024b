"""The whole of which several values are the parts: every pass over partitions ends here.

Numbers and arrays add up, tables stand one below the other, dictionaries and dataclasses merge
entry by entry, None adds nothing. A field of a dataclass says otherwise in its type, by a rule that
takes the list of all parts: ``ranks: Annotated[int, max]``. A class with a ``merge`` of its own (a
class method that takes a sequence of parts) uses that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, reduce
from operator import add
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
import polars as pl

T = TypeVar("T")
K = TypeVar("K")
Rule = Callable[[list[Any]], Any]


def merge(parts: Sequence[T]) -> T:
    """The whole of which these are the parts; at least one is needed."""
    some: list[Any] = [part for part in parts if part is not None]
    if len(some) < 2:
        return some[0] if some else parts[0]
    return cast(T, _whole(some))


def _whole(parts: list[Any]) -> Any:
    first = parts[0]
    if hasattr(type(first), "merge"):
        return type(first).merge(parts)
    if isinstance(first, Mapping):
        return by_key(merge)(parts)
    if is_dataclass(first):
        kind: Any = type(first)
        return kind(
            **{name: rule([getattr(part, name) for part in parts]) for name, rule in _rules(kind)}
        )
    if isinstance(first, (pl.DataFrame, pl.Series)):
        return pl.concat(parts)
    if isinstance(first, list):
        return [item for part in parts for item in part]
    if isinstance(first, tuple):
        return tuple(merge(entry) for entry in zip(*parts, strict=True))
    if isinstance(first, (int, float, np.ndarray, np.number)) and not isinstance(first, bool):
        return reduce(add, parts)
    return same(parts)


def same(parts: list[T]) -> T:
    """A rule: all parts say the same."""
    if any(part != parts[0] for part in parts):
        raise AssertionError(f"parts of one whole differ: {parts[:2]}")
    return parts[0]


def first(parts: list[T]) -> T:
    """A rule: the first part stands for all, where comparing them would cost too much."""
    return parts[0]


def union(parts: list[pl.Series]) -> pl.Series:
    """A rule: each value once, in order."""
    return pl.concat(parts).unique().sort()


def distinct(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """A rule: each row once."""
    return pl.concat(parts).unique() if parts[0].width else parts[0]


def by_key(rule: Callable[[list[Any]], Any]) -> Rule:
    """A rule for dictionaries: ``rule`` for the values of one key."""

    def merge_entries(parts: list[Mapping[K, Any]]) -> dict[K, Any]:
        names = dict.fromkeys(name for part in parts for name in part)
        return {name: rule([part[name] for part in parts if name in part]) for name in names}

    return merge_entries


def largest(count: int) -> Rule:
    """A rule: of all values, the ``count`` largest, in order."""
    return lambda parts: np.sort(np.concatenate(parts))[-count:]


def padded(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """A rule: counts by place add up, however many places a part has."""
    out = np.zeros(max(map(len, parts)), parts[0].dtype)
    for part in parts:
        out[: len(part)] += part
    return out


@cache
def _rules(kind: type) -> list[tuple[str, Rule]]:
    """How each field of a dataclass merges; what it does not take in its call is left out."""
    hints = get_type_hints(kind, include_extras=True)
    rules = {n: get_args(h)[1] for n, h in hints.items() if get_origin(h) is Annotated}
    return [(f.name, rules.get(f.name, merge)) for f in fields(kind) if f.init]
