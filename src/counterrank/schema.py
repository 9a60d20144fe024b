"""The door: user tables become trusted ones here, or are refused with reasons.

A table's columns are named by role (user, item, rating, ...). ``judgments`` and ``run`` read a
table, find its roles, settle its types and check its values; nothing behind the door checks again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from counterrank.checks import finite, identifiers, no_missing, numbers, some_rows, whole_ranks
from counterrank.errors import InputError, UsageError, nearest
from counterrank.tables import Source, opened

QRELS = ("user", "iteration", "item", "rating")
TREC_RUN = ("user", "q0", "item", "position", "score", "tag")


@dataclass(frozen=True)
class Input:
    """Where numbers came from: a table's name, its rows, the checksum of its file."""

    name: str
    rows: int
    sha256: str | None


@dataclass(frozen=True)
class Table:
    """A table that has passed the door. ``order`` names what ranks a run: rank or score."""

    source: Source
    frame: pl.DataFrame
    order: str = ""
    system: str = ""

    @property
    def name(self) -> str:
        """What messages call the table."""
        return self.source.name

    def input(self) -> Input:
        """What the result remembers of this table."""
        return Input(self.source.name, self.frame.height, self.source.sha256())


def judgments(table: object, *, columns: Mapping[str, str] | None = None) -> Table:
    """Judgments: user, item, rating. A negative rating means pooled but not judged."""
    source = opened(table, trec=QRELS, name=label(table, "the judgments"))
    roles = _Roles(source.name, ("user", "item", "rating"), (), columns)
    frame = roles.renamed(source.read(roles.choose))
    some_rows(frame, source.name)
    frame = identifiers(frame, ("user", "item"), source.name)
    frame = numbers(frame, "rating", source.name)
    finite(frame, "rating", source.name)
    return Table(source, frame)


def run(table: object, *, name: str = "", columns: Mapping[str, str] | None = None) -> Table:
    """A system's lists: user, item, and rank or score (rank wins); optionally system."""
    source = opened(table, trec=TREC_RUN, name=label(table, name or "the run"))
    roles = _Roles(source.name, ("user", "item"), ("rank", "score", "system", "draw"), columns)
    frame = roles.renamed(source.read(roles.choose))
    some_rows(frame, source.name)
    if "draw" in frame.columns:
        raise InputError(
            f'"{source.name}" has a column "draw".',
            found="Judged measures look at one list per user, not at samples of a ranker.",
            todo="Keep one draw, or make each draw a system of its own.",
        )
    order = "rank" if "rank" in frame.columns else "score"
    frame = frame.drop("score") if order == "rank" and "score" in frame.columns else frame
    frame = identifiers(frame, ("user", "item"), source.name)
    if order == "rank":
        frame = whole_ranks(frame, source.name)
    else:
        frame = numbers(frame, "score", source.name)
        finite(frame, "score", source.name)
    if "system" in frame.columns:
        no_missing(frame, "system", source.name)
        frame = frame.with_columns(pl.col("system").cast(pl.String))
    return Table(source, frame, order, name)


@dataclass(frozen=True)
class _Roles:
    """Which columns of one table play which role."""

    table: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    given: Mapping[str, str] | None

    def __post_init__(self) -> None:
        for role in self.given or {}:
            if role not in ROLES:
                raise UsageError(
                    f'"{role}" is not a role a column can have.',
                    found=nearest(role, ROLES),
                    todo=f"Roles are: {', '.join(ROLES)}.",
                )

    def column(self, role: str, there: list[str]) -> str:
        """The column that plays a role: the one named for it, else one of the role's own name."""
        named = (self.given or {}).get(role, role)
        return role if named not in there and role in there else named

    def choose(self, there: list[str]) -> list[str]:
        """The columns to read, or a message about the one that is missing."""
        for role in self.required:
            self._demand(role, there)
        if "score" in self.optional and self.column("score", there) not in there:
            self._demand("rank", there)
        return list(self._found(there).values())

    def renamed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The same columns under the names of their roles."""
        found = self._found(frame.columns)
        return frame.select(pl.col(column).alias(role) for role, column in found.items())

    def _found(self, there: list[str]) -> dict[str, str]:
        roles = {role: self.column(role, there) for role in (*self.required, *self.optional)}
        return {role: column for role, column in roles.items() if column in there}

    def _demand(self, role: str, there: list[str]) -> None:
        column = self.column(role, there)
        if column in there:
            return
        wanted = '"rank" or "score"' if role == "rank" else f'"{column}"'
        hint = nearest(column, there) or (nearest("score", there) if role == "rank" else "")
        name = hint.split('"')[1] if hint else "NAME"
        role = "score" if hint and role == "rank" and not nearest("rank", there) else role
        raise InputError(
            f'"{self.table}" has no column {wanted}.',
            found=f"Its columns are: {', '.join(there)}. {hint}".strip(),
            todo=f"If a column plays this role under another name, say so: --columns {role}={name}"
            f' (columns={{"{role}": "{name}"}}).',
        )


ROLES = ("user", "item", "rating", "rank", "score", "system", "draw", "timestamp")


def label(table: object, name: str) -> str:
    """What messages call a table: its path, or the name it was given."""
    return os.fspath(table) if isinstance(table, (str, os.PathLike)) else name or "the table"


def kind_of(table: object, *, columns: Mapping[str, str] | None = None) -> str:
    """``judgments`` if the table has a rating (TREC text: four fields), otherwise ``run``."""
    there = opened(table, trec=(), name=label(table, "")).columns()
    rated = (columns or {}).get("rating", "rating") in there
    return "judgments" if rated or there == ["1", "2", "3", "4"] else "run"
