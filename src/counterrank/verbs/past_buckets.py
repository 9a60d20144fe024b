"""Past experiments from a log in buckets: the rows of each day are brought together.

Buckets hold whole sessions; a day is worked on as in memory, when all of its rows have met.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import polars as pl

from counterrank.arrays import Floats
from counterrank.engine import Bucket, Buckets
from counterrank.logs import certainty
from counterrank.meta.online import Cases
from counterrank.ope.request import LogTables, lists_of
from counterrank.schema import Table
from counterrank.verbs.past_logs import Terms, day_by_day, one_day, refuse_arms, refuse_empty

DAY, TABLE = "number of the day", "number of the table"
APART = 3  # parts for each day: the numbers of days then never share one on disk
MOST = 1 << 16  # parts


@dataclass(frozen=True)
class Layout:
    """Rows of all tables in one frame.

    ``columns`` are those of the log and of each arm's run, and what they are called in the frame:
    by their type too, so that tables share a column only where none has to be cast.
    """

    columns: list[dict[str, str]]
    schema: dict[str, pl.DataType]

    @classmethod
    def of(cls, heads: Mapping[str, Table], given: LogTables) -> Layout:
        """The layout for these tables; a table of several rankers is one for each."""
        log = heads["log"].frame.with_columns(pl.col("arm").cast(pl.String)).drop("day")
        frames = [log]
        frames += [t.frame.drop("system", strict=False) for t in given.targets.lists(heads)]
        columns = [{c: f"{c} {kind}" for c, kind in f.schema.items()} for f in frames]
        kinds = {f"{c} {kind}": kind for f in frames for c, kind in f.schema.items()}
        return cls(columns, {DAY: pl.Int64(), TABLE: pl.Int64(), **kinds})

    def sent(self, number: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of one table, with their day's number, as they are sent."""
        own = (pl.col(c).cast(self.schema[n]).alias(n) for c, n in self.columns[number].items())
        return rows.select(DAY, pl.lit(number, pl.Int64).alias(TABLE), *own)

    def back(self, number: int, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of one table as they were."""
        own = (pl.col(n).alias(c) for c, n in self.columns[number].items())
        return rows.filter(pl.col(TABLE) == number).select(*own)


def from_buckets(held: Buckets, given: LogTables, terms: Terms) -> list[Cases]:
    """The cases of every estimator and reward, as `past_logs.from_log` has them."""
    given = given.with_systems(held.partitions)
    arms = given.targets.lists(held.heads)
    terms = terms.of(given.targets.labels, [held.heads["log"], *arms])
    days = _days(held, terms)
    layout = Layout.of(held.heads, given)
    found = held.exchanged(
        partial(_rows, given, terms, layout, days), layout.schema, DAY,
        partial(_figures, terms, layout), "days", parts=min(APART * len(days), MOST),
    )  # fmt: skip
    done = {number: figures for part in found for number, figures in part.items()}
    return day_by_day(days.to_list(), [done[number] for number in range(len(days))], terms)


def _days(held: Buckets, terms: Terms) -> pl.Series:
    """The days in order, if every arm was live on each."""
    parts = held.mapped(_counted, "reading the log")
    count = pl.concat(parts, how="vertical_relaxed").group_by("day", "arm").sum()
    total = int(count["rows"].sum())
    if count["certain"].sum() == total:
        raise certainty(held.heads["log"].name, total)
    refuse_arms(count["arm"].unique().sort().to_list(), terms.control, terms.arms)
    days = count["day"].unique().sort()
    rows: dict[object, dict[str, int]] = {day: {} for day in days}
    for day, arm, own in count.select("day", "arm", "rows").iter_rows():
        rows[day][arm] = own
    for day, own in rows.items():
        refuse_empty(day, own, terms)
    return days


def _counted(bucket: Bucket) -> pl.DataFrame:
    """Rows of each day and arm, and those whose propensity is 1."""
    log = bucket.tables["log"].frame
    sure = pl.col("propensity") == 1 if "propensity" in log.columns else pl.lit(False)
    return log.group_by("day", pl.col("arm").cast(pl.String)).agg(
        pl.len().cast(pl.Int64).alias("rows"), sure.cast(pl.Int64).sum().alias("certain")
    )


def _rows(
    given: LogTables, terms: Terms, layout: Layout, days: pl.Series, bucket: Bucket
) -> pl.DataFrame:
    """The log's rows of the arms, and of each run those of the control's sessions."""
    arms = [terms.control, *terms.arms]
    order = pl.DataFrame({"day": days, DAY: range(len(days))})
    log = bucket.tables["log"].frame
    log = log.with_columns(pl.col("arm").cast(pl.String), pl.col("day").cast(days.dtype))
    log = log.filter(pl.col("arm").is_in(arms)).join(order, on="day", maintain_order="left")
    control = log.filter(pl.col("arm") == terms.control).select("session", DAY).unique()
    runs = (
        table.frame.join(control, on="session", maintain_order="left")
        for table in lists_of(given.targets, bucket.tables)
    )
    sent = [layout.sent(number, rows) for number, rows in enumerate((log, *runs))]
    return pl.concat(sent, how="diagonal").select(layout.schema.keys())


def _figures(terms: Terms, layout: Layout, rows: pl.DataFrame) -> dict[int, Floats]:
    """The figures of every day whose rows are here."""
    found = {}
    for number in rows[DAY].unique().to_list():
        own = rows.filter(pl.col(DAY) == number)
        log, *lists = (layout.back(n, own) for n in range(len(layout.columns)))
        found[number] = one_day(log, dict(zip(terms.arms, lists, strict=True)), terms)
    return found
