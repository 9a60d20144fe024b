"""A rehearsal goes the way of a run up to the first rows that would be read.

So it refuses what the run refuses, by the same code: names, requests, columns. Within `rehearsal`
tables say what would be read of them, and whatever asks for rows ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class TablePlan:
    """A table that would be read: its rows, about, and the column of each role."""

    name: str
    rows: int
    columns: Mapping[str, str]


class Rehearsed(Exception):  # noqa: N818
    """Ends a rehearsal, which is no error: rows are asked for."""


TABLES: ContextVar[dict[str, TablePlan] | None] = ContextVar("rehearsal", default=None)
"""The tables met so far, where nothing is to be read; None where rows may be."""


@contextmanager
def rehearsal() -> Iterator[dict[str, TablePlan]]:
    """The tables that are met, by name; the rest of the block is left out once rows are needed."""
    met: dict[str, TablePlan] = {}
    token = TABLES.set(met)
    try:
        with suppress(Rehearsed):
            yield met
    finally:
        TABLES.reset(token)
