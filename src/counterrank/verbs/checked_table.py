"""One table through the door it seems to belong to, bucket by bucket of its own units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from counterrank import funnels, logs, schema
from counterrank.data.runs import split_systems
from counterrank.engine import Bucket, Buckets, Engine, aligned, bucketed
from counterrank.errors import CounterrankError
from counterrank.pool import pooled
from counterrank.progress import Progress, quiet
from counterrank.schema import Door, Table

TABLE = "table"
BY_SESSION = ("log", "target")


@dataclass(frozen=True)
class TableReport:
    """One table: what it was taken for, its size, and the fault that stops it, if any."""

    table: str
    kind: str
    rows: int
    users: int
    items: int
    fault: str
    sessions: int = 0

    def line(self) -> str:
        """The report for people."""
        if self.fault:
            return f"refused  {self.table}: {self.fault}"
        kind = "run by session" if self.kind == "target" else self.kind
        units = f" {self.sessions:,} sessions," if self.sessions else ""
        units += f" {self.users:,} users," if self.users else ""
        return f"usable   {self.table}: {kind}, {self.rows:,} rows,{units} {self.items:,} items."


def checked_table(
    name: str,
    table: object,
    *,
    rewards: Sequence[str],
    columns: Mapping[str, str] | None,
    duplicates: str,
    engine: Engine,
    progress: Progress = quiet,
) -> TableReport:
    """What the table is, how large, and the fault that stops it."""
    label = schema.label(table, name)
    kind = "table"
    try:
        kind = funnels.kind_of(table, rewards=rewards, columns=columns)
        kind = kind or logs.kind_of(table, rewards=rewards, columns=columns)
        door = _door(kind, table, name, rewards, columns)
        unit = "session" if kind in BY_SESSION else "user"
        with bucketed(engine, {TABLE: door}, by=unit, ids=(), progress=progress) as buckets:
            if kind == "log":
                refuse_certain(buckets, TABLE)
            sizes = buckets.mapped(partial(_looked_at, kind, unit, duplicates), "Checking")
            units = {unit: sum(own for _, own in sizes)}
            for column in ("user", "item", "session"):
                if column != unit and column in buckets.heads[TABLE].frame.columns:
                    units[column] = _distinct(buckets, column)
    except CounterrankError as error:
        return TableReport(label, kind, 0, 0, 0, str(error))
    return TableReport(
        label,
        kind,
        sum(rows for rows, _ in sizes),
        users=units.get("user", 0),
        items=units["item"],
        fault="",
        sessions=units.get("session", 0),
    )


def refuse_certain(held: Buckets, name: str) -> None:
    """Refuse chances that are 1 in every row of a log: its schema sees a part of them."""
    head = held.heads[name]
    if held.whole or "propensity" not in head.frame.columns:
        return
    if sum(held.mapped(partial(_uncertain, name), "looking at the chances")) == 0:
        raise logs.certainty(head.name, held.inputs[name].rows)


def _uncertain(name: str, bucket: Bucket) -> int:
    return int((bucket.tables[name].frame["propensity"] != 1).sum())


def _looked_at(kind: str, unit: str, duplicates: str, bucket: Bucket) -> tuple[int, int]:
    """Rows and units of a bucket, after a look at what shows only when a unit's rows meet."""
    table = bucket.tables[TABLE]
    if table.frame.height and kind in ("judgments", "run"):
        _refuse_within(table, kind, duplicates)
    return table.frame.height, table.frame[unit].n_unique()


def _refuse_within(read: Table, kind: str, duplicates: str) -> None:
    """Faults that show only when a user's rows stand together: pairs or ranks given twice."""
    if kind == "judgments":
        pooled(read)
        return
    for part in split_systems(read, ""):
        one = part.frame.head(1).select("user", "item", rating=pl.lit(1.0))
        aligned(part, pooled(Table(read.source, one)), duplicates=duplicates)


def _distinct(buckets: Buckets, column: str) -> int:
    """How many values a column has that are not whole in a bucket."""
    kind = {column: buckets.heads[TABLE].frame.schema[column]}
    return sum(buckets.exchanged(partial(_values, column), kind, column, _count, "Counting"))


def _values(column: str, bucket: Bucket) -> pl.DataFrame:
    return bucket.tables[TABLE].frame.select(pl.col(column).unique())


def _count(values: pl.DataFrame) -> int:
    return values.to_series().n_unique()


def _door(
    kind: str,
    table: object,
    name: str,
    rewards: Sequence[str],
    columns: Mapping[str, str] | None,
) -> Door:
    if kind == "judgments":
        return schema.judgments_door(table, columns=columns)
    if kind == "log":
        return logs.log_door(table, rewards=rewards, columns=columns)
    if kind == "funnel":
        return funnels.funnel_door(table, rewards=rewards, columns=columns)
    if kind == "predictions":
        paid = tuple(rewards) or (funnels.CONVERSION,)
        return funnels.predictions_door(table, rewards=paid, columns=columns)
    if kind == "target":
        return logs.target_door(table, name=name, columns=columns)
    return schema.run_door(table, name=name, columns=columns)
