"""Schemas: user tables become trusted ones here, or are refused with reasons.

A table's columns are named by role (user, item, rating, ...). A schema finds them, settles their
types and checks their values; nothing that reads the table later checks again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from counterrank.core.errors import InputError, UsageError, nearest
from counterrank.data.checks import (
    LARGEST,
    certainty,
    finite,
    identifiers,
    not_negative,
    real,
    refuse_rows,
    some_rows,
    whole_ranks,
)
from counterrank.data.rehearsal import TABLES, Rehearsed, TablePlan
from counterrank.data.sources import Source, open_source
from counterrank.data.sources.source import count_source_rows

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
    """A table that has passed its schema. ``order`` names what ranks a run: rank or score."""

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


@dataclass(frozen=True)
class Schema:
    """How a table is let in: where it comes from, what its columns play, and the checks.

    ``check`` looks at rows one by one and settles types, so any part of a table can pass by itself;
    ``made`` is what comes of a part that did. What only the whole shows is checked by ``whole``:
    here that there are rows, in ``refuse`` what else a kind of table asks for.
    """

    source: Source
    roles: Roles
    check: Callable[[pl.DataFrame], pl.DataFrame]
    made: Callable[[pl.DataFrame], Table]
    refuse: Callable[[Table], None] = lambda table: None

    def whole(self) -> Table:
        """The whole table, read into memory."""
        if (met := TABLES.get()) is not None:
            met[self.source.name] = self.plan()
            raise Rehearsed
        frame = self.roles.renamed(self.source.read(self.roles.choose))
        some_rows(frame, self.source.name)
        table = self.part(frame)
        self.refuse(table)
        return table

    def head(self) -> Table:
        """The table without rows, before any were read: its columns, of no type yet."""
        there = self.roles.choose(self.source.columns())
        return self.made(self.roles.renamed(pl.DataFrame(schema=dict.fromkeys(there, pl.Null()))))

    def plan(self) -> TablePlan:
        """What would be read; a column that is missing is refused, as it would be."""
        there = self.source.columns()
        chosen = self.roles.choose(there)
        roles = {column: role for role, column in self.roles.played(there).items()}
        rows = count_source_rows(self.source)
        return TablePlan(self.source.name, rows, {roles.get(c, c): c for c in chosen})

    def part(self, frame: pl.DataFrame) -> Table:
        """Some rows, whose columns already have the names of their roles."""
        return self.made(self.check(frame))


def refuse_certain(column: str, table: Table) -> None:
    """Chances of 1 in every row carry nothing, and often mean that they were lost."""
    if is_certain(table.frame, column):
        raise certainty(table.name, table.frame.height, column)


def is_certain(frame: pl.DataFrame, column: str) -> bool:
    """Whether all chances are 1; so they are of no rows."""
    return column in frame.columns and bool((frame[column] == 1).all())


def judgments_schema(
    table: object,
    *,
    columns: Mapping[str, str] | None = None,
    own: Sequence[str] = (),
    folds: Sequence[str] = (),
) -> Schema:
    """Judgments: user, item, rating. A negative rating means pooled but not judged.

    ``own`` are further columns, which keep their names; ``folds`` is as in `users_of_folds`.
    """
    source = open_source(table, trec=QRELS, name=label(table, "the judgments"))
    roles = Roles(source.name, ("user", "item", "rating"), tuple(folds), columns, tuple(own))
    return Schema(source, roles, partial(_judged, source.name), partial(Table, source))


def _judged(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    frame = users_of_folds(frame, name)
    frame = finite(identifiers(frame, ("user", "item"), name), "rating", name)
    high = frame["rating"].cast(pl.Float64).abs() > LARGEST
    refuse_rows(frame, "rating", high, name, "too large")
    return frame


FOLD = ("fold",)


def users_of_folds(frame: pl.DataFrame, name: str, unit: str = "user") -> pl.DataFrame:
    """Where there is a column ``fold``, a user of it is a unit of its own, called fold/user."""
    if "fold" not in frame.columns:
        return frame
    frame = identifiers(frame, ("fold", unit), name)
    return frame.with_columns(pl.format("{}/{}", "fold", unit).alias(unit)).drop("fold")


def all_by_fold(schemas: Sequence[Schema]) -> None:
    """Refuse tables of which some have a column ``fold`` and others have none."""
    has = ["fold" in s.roles.played(s.source.columns()) for s in schemas]
    if any(has) and not all(has):
        with_, without = (schemas[has.index(state)].source.name for state in (True, False))
        raise InputError(
            f'"{without}" has no column "fold".',
            found=f'"{with_}" has one, so that each of its users counts once in each fold.',
            todo="Give all tables the column, or none of them.",
        )


def run_schema(
    table: object,
    *,
    name: str = "",
    columns: Mapping[str, str] | None = None,
    also: tuple[str, ...] = (),
    folds: Sequence[str] = (),
) -> Schema:
    """A system's lists: user, item, and rank or score (rank wins); optionally system.

    ``also`` are columns of numbers that are read where they are there; ``folds`` is as in
    `users_of_folds`.
    """
    source = open_source(table, trec=TREC_RUN, name=label(table, name or "the run"))
    optional = ("rank", "score", "system", "draw", *folds, *(c for c in also if c in ROLES))
    own = tuple(c for c in also if c not in ROLES and c in source.columns())
    roles = Roles(source.name, ("user", "item"), optional, columns, own)
    given = dict(columns or {})
    return Schema(
        source,
        roles,
        partial(_listed, source.name, given, also),
        partial(ranked_table, source, given, name),
    )


def ranked_table(source: Source, given: Mapping[str, str], name: str, frame: pl.DataFrame) -> Table:
    """Lists of a system that may have a name, by what ranks them."""
    return Table(source, frame, ordered_by(frame.columns, given), name)


def _listed(
    name: str, given: Mapping[str, str], also: Sequence[str], frame: pl.DataFrame
) -> pl.DataFrame:
    if "draw" in frame.columns:
        raise InputError(
            f'"{name}" has a column "draw".',
            found="Judged measures look at one list per user, not at samples of a ranker.",
            todo="Keep one draw, or make each draw a system of its own.",
        )
    order = ordered_by(frame.columns, given)
    frame = frame.drop({"rank", "score"} - {order}, strict=False)
    frame = identifiers(users_of_folds(frame, name), ("user", "item"), name)
    frame = whole_ranks(frame, name) if order == "rank" else finite(frame, "score", name)
    if "system" in frame.columns:
        frame = identifiers(frame, ("system",), name)
        frame = frame.with_columns(pl.col("system").cast(pl.String))
    for column in [c for c in also if c in frame.columns]:
        frame = (not_negative if column == "ctr" else real)(frame, column, name)
    return frame


def ordered_by(there: list[str], given: Mapping[str, str]) -> str:
    """What ranks a list: exposure, or the one named in ``columns``, else rank, else score."""
    if "exposure" in there:
        return "exposure"
    named = [role for role in ("rank", "score") if role in given and role in there]
    return named[0] if len(named) == 1 else "rank" if "rank" in there else "score"


class ColumnNames(dict[str, str]):
    """Columns by role, as the caller names them; ``met`` are the roles that some table has so.

    One naming serves all tables of a verb, and each may need only a part of it. What none of them
    has is a slip, and going on without it would read another column.
    """

    @classmethod
    def of(cls, given: Mapping[str, str] | None) -> ColumnNames:
        """As a caller gives them; those that other tables were asked for by stay the same."""
        return given if isinstance(given, ColumnNames) else cls(given)

    def __init__(self, given: Mapping[str, str] | None) -> None:
        super().__init__(given or {})
        self.met: set[str] = set()

        for role in self:
            if role not in ROLES:
                raise UsageError(
                    f'"{role}" is not a role a column can have.',
                    found=nearest(role, ROLES),
                    todo=f"Roles are: {', '.join(ROLES)}.",
                )

    def refuse_unmet(self) -> None:
        """Refuse a name that no table had."""
        for role, name in self.items():
            if role not in self.met:
                raise InputError(
                    f'No table has a column "{name}".',
                    found=f'It was named for the role "{role}".',
                    todo=f"Check its spelling, or leave it out: --columns {role}=NAME.",
                )


@dataclass(frozen=True)
class Roles:
    """Which columns of one table play which role. ``own`` are columns that keep their names."""

    table: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    given: Mapping[str, str] | None
    own: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if "row" in self.own:
            raise UsageError(
                f'Column "row" of "{self.table}" cannot be used under this name.',
                found="It stands for the number of a row.",
                todo="Rename it where the table is made.",
            )

    def column(self, role: str, there: list[str]) -> str:
        """The column that plays a role: the one named for it, else one of the role's own name."""
        named = (self.given or {}).get(role, role)
        if named in there and isinstance(self.given, ColumnNames):
            self.given.met.add(role)
        return role if named not in there and role in there else named

    def choose(self, there: list[str]) -> list[str]:
        """The columns to read, or a message about the one that is missing."""
        if isinstance(self.given, ColumnNames):  # a table may have what this verb does not read
            self.given.met |= {role for role, name in self.given.items() if name in there}
        for role in self.required:
            self._demand(role, there)
        for name in self.own:
            if name not in there:
                raise InputError(
                    f'"{self.table}" has no column "{name}".',
                    found=f"Its columns are: {_shown(there)}.",
                    todo=nearest(name, there) or "Name one of these.",
                )
        if "score" in self.optional and not self._ranked(there):
            self._demand("rank", there)
        found = self._found(there)
        for role, column in found.items():
            if list(found.values()).count(column) > 1:
                raise UsageError(f'Column "{column}" plays two roles, one of them "{role}".')
        return list(dict.fromkeys([*found.values(), *self.own]))

    def played(self, there: list[str]) -> dict[str, str]:
        """Which column plays each role; own columns play themselves."""
        found = self._found(there)
        return found | {name: name for name in self.own if name not in found}

    def renamed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The same columns under the names of their roles."""
        played = self.played(frame.columns)
        return frame.select(pl.col(column).alias(role) for role, column in played.items())

    def _found(self, there: list[str]) -> dict[str, str]:
        roles = {role: self.column(role, there) for role in (*self.required, *self.optional)}
        return {role: column for role, column in roles.items() if column in there}

    def _ranked(self, there: list[str]) -> bool:
        """Whether something besides a rank says how a list is ordered or seen."""
        ways = ("score", "exposure") if "exposure" in self.optional else ("score",)
        return any(self.column(way, there) in there for way in ways)

    def _demand(self, role: str, there: list[str]) -> None:
        column = self.column(role, there)
        if column in there:
            return
        either = role == "rank" and "score" in self.optional
        wanted = '"rank" or "score"' if either else f'"{column}"'
        ranks = {"rank", "score"}
        swapped = {"rating": ranks, "click": ranks, "rank": {"rating"}}.get(role, set())
        swapped &= set(there)
        if swapped and "session" not in self.required:
            looks = "judgments" if role == "rank" else "a run"
            first = "The funnel comes" if role == "click" else "Judgments come"
            raise InputError(
                f'"{self.table}" has no column {wanted}.',
                found=f'It has "{min(swapped)}", so it looks like {looks}.',
                todo=f"{first} first, then runs: {first.split()[-2].upper()} RUN...",
            )
        hint = nearest(column, there) or (nearest("score", there) if either else "")
        name = hint.split('"')[1] if hint else "NAME"
        role = "score" if hint and either and not nearest("rank", there) else role
        raise InputError(
            f'"{self.table}" has no column {wanted}.',
            found=f"Its columns are: {_shown(there)}. {hint}".strip(),
            todo=f"If a column plays this role under another name, say so: --columns {role}={name}"
            f' (columns={{"{role}": "{name}"}}).',
        )


def refuse_played(
    rewards: Sequence[str], roles: Roles, there: list[str], *, also: Sequence[str] = ()
) -> None:
    """Refuse a reward that is the column of a role, other than those of ``also``."""
    for role in (*roles.required, *roles.optional):
        if role not in also and roles.column(role, there) in rewards:
            raise UsageError(
                f'Column "{roles.column(role, there)}" cannot be a reward.',
                found=f'It plays the role "{role}" of "{roles.table}".',
                todo="Name the column that holds what came back: --reward NAME.",
            )


def validate_columns(schemas: Iterable[Schema]) -> None:
    """Refuse tables of a verb that lack a column, and a name that was given and none of them has.

    This is all that can be said of them before rows are read.
    """
    every = list(schemas)
    for schema in every:
        schema.roles.choose(schema.source.columns())
    for schema in every:
        if isinstance(schema.roles.given, ColumnNames):
            schema.roles.given.refuse_unmet()


def read_alone(
    source: Source, roles: Roles, check: Callable[[str, pl.DataFrame], pl.DataFrame]
) -> Table:
    """The whole of a table that is all a verb reads; ``check`` is told its name."""
    schema = Schema(source, roles, partial(check, source.name), partial(Table, source))
    validate_columns([schema])
    return schema.whole()


def _shown(names: list[str]) -> str:
    """Column names for a message: readable, and not too many."""
    short = [n if n.isprintable() and len(n) <= 40 else f"{ascii(n[:37])[1:-1]}..." for n in names]
    return ", ".join(short[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


# fmt: off
ROLES = (
    "user", "item", "rating", "rank", "score", "system", "draw", "timestamp", "session", "viewed",
    "arm", "click", "conversion", "ctr", "cvr", "day", "estimate", "estimator", "experiment",
    "exposure", "high", "low", "measure", "offline", "offline_se", "online", "online_se", "policy",
    "predicted", "propensity", "repetition", "reward", "truth", "unit", "value", "shown", "event",
    "time", "fold",
)
# fmt: on


def label(table: object, name: str) -> str:
    """What messages call a table: its path, or the name it was given."""
    return os.fspath(table) if isinstance(table, (str, os.PathLike)) else name or "the table"
