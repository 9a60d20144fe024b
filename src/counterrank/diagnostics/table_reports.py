"""One table through the schema it seems to belong to: what it is, how large, what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import polars as pl

from counterrank.core.errors import CounterrankError, InputError, UsageError, nearest
from counterrank.core.parallel import Progress, quiet
from counterrank.data import funnels, logs, schema
from counterrank.data.checks import certainty
from counterrank.data.events import is_event_table
from counterrank.data.runs import run_name, split_systems, validate_names
from counterrank.data.schema import ColumnNames, Schema, Table
from counterrank.data.sources import open_source
from counterrank.diagnostics.diagnostic import Findings
from counterrank.engine import Engine, Partition, Partitions, Tables, split
from counterrank.matching.hits import find_hits
from counterrank.matching.pool import make_pool
from counterrank.stats.gini import gini_index

TABLE = "table"
COUNTED = ("user", "item", "session")
BY_SESSION = ("log", "target")
ALONE = {  # kinds of which there can be one
    "judgments": "table of judgments", "log": "log", "funnel": "funnel",
    "predictions": "table of predictions",
}  # fmt: skip


@dataclass(frozen=True)
class TableReport:
    """One table: what it was taken for, its size, and the fault that stops it, if any.

    Of judgments also ``density``, the share of all pairs of user and item that is judged, and
    Gini's index of how many judgments users and items have (Valcarce et al. 2020, Table 2).
    """

    table: str
    kind: str
    rows: int
    users: int
    items: int
    fault: str
    sessions: int = 0
    density: float | None = None
    user_gini: float | None = None
    item_gini: float | None = None

    def line(self) -> str:
        """The report for people."""
        if self.fault:
            return f"refused  {self.table}: {self.fault}"
        kind = "run by session" if self.kind == "target" else self.kind
        units = f" {self.sessions:,} sessions," if self.sessions else ""
        units += f" {self.users:,} users," if self.users else ""
        size = f"{self.rows:,} {'ratings' if self.kind == 'judgments' else 'rows'},{units}"
        size += f" {self.items:,} items"
        if self.density is not None:
            size += (
                f", density {self.density:.3%}, Gini index {self.user_gini:.3f} over users and"
                f" {self.item_gini:.3f} over items"
            )
        return f"usable   {self.table}: {kind}, {size}."


def usable(reports: Sequence[TableReport], kind: str) -> list[int]:
    """Where the tables of a kind are that have no fault."""
    return [n for n, report in enumerate(reports) if report.kind == kind and not report.fault]


def check_runs(
    runs: Mapping[int, tuple[str, object]], judge: Callable[[list[tuple[str, object]]], Any]
) -> Findings:
    """How the runs at their places fit judgments: what ``judge`` says of them, or refuses."""
    faults = {}
    for place, run in runs.items():
        try:
            judge([run])
        except InputError as error:
            faults[place] = str(error)
    fit = [run for place, run in runs.items() if place not in faults]
    return Findings(judge(fit).diagnostics if fit else [], faults=faults)


@dataclass(frozen=True)
class Look:
    """What the columns of a table say it is: its schema, or the fault that stops it already."""

    table: str
    kind: str
    schema: Schema | None
    fault: str
    columns: tuple[str, ...]
    system: str


def look_at(
    name: str, table: object, *, rewards: Sequence[str], columns: Mapping[str, str]
) -> Look:
    """A table by its columns, before any row is read."""
    label, kind, there = schema.label(table, name), "table", []
    system = name or run_name(label)
    try:
        there = open_source(table, trec=(), name=label).columns()
        kind = _guess_kind(there, rewards, columns)
        own = _schema(kind, table, name, rewards, columns)
        own.roles.choose(own.source.columns())
    except CounterrankError as error:
        return Look(label, kind, None, str(error), tuple(there), system)
    several = own.roles.column("system", there) in there
    return Look(label, kind, own, "", tuple(there), "" if several else system)


def validate_looks(seen: Sequence[Look], columns: ColumnNames, own: Sequence[str]) -> None:
    """Refuse what concerns no table in particular.

    That is a name no table has, of a role or of the columns ``own`` that were asked for, and two
    tables of a kind of which there can be one, or two runs of one name.
    """
    if any(look.schema for look in seen):
        columns.refuse_unmet()
    every = [column for look in seen for column in look.columns]
    for column in own:
        if every and column not in every:
            raise InputError(
                f'No table has a column "{column}".',
                found=nearest(column, every),
                todo="Check its spelling: --reward and --context name columns of the log.",
            )
    for kind in ("run", "target"):
        validate_names([look.system for look in seen if look.kind == kind and look.system])
    for kind, name in ALONE.items():
        if sum(look.kind == kind and not look.fault for look in seen) > 1:
            raise UsageError(f"More than one {name} was given.", todo="Check one at a time.")


def report_table(
    look: Look, *, duplicates: str, engine: Engine, progress: Progress = quiet
) -> TableReport:
    """What the table is, how large, and the fault that stops it."""
    kind, unit = look.kind, "session" if look.kind in BY_SESSION else "user"
    if look.schema is None:
        return TableReport(look.table, kind, 0, 0, 0, look.fault)
    try:
        with engine.open(Tables({TABLE: look.schema}, unit, ()), progress) as parts:
            size = parts.reduce(partial(_size, kind, unit, duplicates), "Checking")
            if kind == "log" and size.certain == size.rows:
                raise certainty(parts.heads[TABLE].name, size.rows)
            there = set(parts.heads[TABLE].frame.columns) - {unit}
            tallies = {c: _tally(parts, c) for c in COUNTED if c in there} | {unit: size.units}
    except CounterrankError as error:
        return TableReport(look.table, kind, 0, 0, 0, str(error))
    found = dict.fromkeys(COUNTED, 0) | {c: int(t["times"].sum()) for c, t in tallies.items()}
    users, items, sessions = (found[column] for column in COUNTED)
    more: dict[str, float] = {}
    if kind == "judgments":
        ginis = {f"{c}_gini": gini_index(*map(pl.Series.to_numpy, t)) for c, t in tallies.items()}
        more = {"density": size.rows / (users * items), **ginis}
    return TableReport(look.table, kind, size.rows, users, items, "", sessions, **more)


def _guess_kind(there: list[str], rewards: Sequence[str], columns: Mapping[str, str]) -> str:
    """By the roles of its columns; TREC text of four fields is judgments, other text a run."""
    has = {role for role in schema.ROLES if columns.get(role, role) in there}
    if {"user", "item"} <= has and not has & {"session", "rating"}:
        paid = "conversion" in has or any(r in there for r in rewards if r != "click")
        if ("click" in has and paid) or is_event_table(there, columns):
            return "funnel"
        if has & {"ctr", "cvr"} and not has & {"rank", "score", "click"}:
            return "predictions"
    if not {"session", "item"} <= has or "rating" in has:
        return "judgments" if "rating" in has or there == ["1", "2", "3", "4"] else "run"
    if "rank" in has and any(name in there for name in rewards or logs.USUAL):
        return "log"
    return "run" if "user" in has else "target"


def add_tallies(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """A rule: how many things (``times``) have each number of rows (``count``), over all parts."""
    return pl.concat(parts).group_by("count").agg(pl.col("times").sum())


@dataclass(frozen=True)
class Size:
    """Rows of a table, how many rows its units have, and rows with a propensity of 1."""

    rows: int
    units: Annotated[pl.DataFrame, add_tallies]
    certain: int


def _size(kind: str, unit: str, duplicates: str, part: Partition) -> Size:
    """The size of a partition, after a look at what shows only when a unit's rows meet."""
    table = part[TABLE]
    frame = table.frame
    if frame.height and kind in ("judgments", "run"):
        _refuse_within(table, kind, duplicates)
    certain = int((frame["propensity"] == 1).sum()) if "propensity" in frame.columns else 0
    return Size(frame.height, _times(frame.group_by(unit).agg(count=pl.len())), certain)


def _refuse_within(read: Table, kind: str, duplicates: str) -> None:
    """Faults that show only when a user's rows stand together: pairs or ranks given twice."""
    if kind == "judgments":
        make_pool(read)
        return
    for part in split_systems(read, ""):
        one = part.frame.head(1).select("user", "item", rating=pl.lit(1.0))
        find_hits(part, make_pool(Table(read.source, one)), duplicates=duplicates)


def _tally(parts: Partitions, column: str) -> pl.DataFrame:
    """How many values of a column, which are not whole in a partition, have how many rows."""
    work = partial(_rows_of_values, column, parts.pieces)
    return add_tallies([parts.exchange(work, partial(_whole_values, column), "Counting")])


def _rows_of_values(column: str, pieces: int, part: Partition) -> dict[int, pl.DataFrame]:
    return split(part[TABLE].frame.group_by(column).agg(count=pl.len()), column, pieces)


def _whole_values(column: str, counts: pl.DataFrame) -> pl.DataFrame:
    return _times(counts.group_by(column).agg(pl.col("count").sum()))


def _times(counts: pl.DataFrame) -> pl.DataFrame:
    return counts.group_by("count").agg(times=pl.len())


def _schema(
    kind: str, table: object, name: str, rewards: Sequence[str], columns: Mapping[str, str] | None
) -> Schema:
    if kind == "judgments":
        return schema.judgments_schema(table, columns=columns)
    if kind == "log":
        return logs.log_schema(table, rewards=rewards, columns=columns)
    if kind == "funnel":
        return funnels.funnel_schema(table, rewards=rewards, columns=columns)
    if kind == "predictions":
        paid = tuple(rewards) or (funnels.CONVERSION,)
        return funnels.predictions_schema(table, rewards=paid, columns=columns)
    if kind == "target":
        return logs.target_schema(table, name=name, columns=columns)
    return schema.run_schema(table, name=name, columns=columns)
