"""Past experiments straight from a log with days and arms.

On each day the log of the control says what every other arm's ranker would have earned; what the
arm did earn that day stands beside it. Partitions hold whole sessions: the rows of a day meet in an
exchange, and a day is worked on when all of them are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import polars as pl

from counterrank.assess.checkpoint import Checkpoint, fingerprint
from counterrank.assess.online import Cases
from counterrank.assess.request import DayRequest, OnlineRequest
from counterrank.core.arrays import Floats
from counterrank.core.errors import InputError, UsageError
from counterrank.core.merge import by_key, first, union
from counterrank.data.checks import certainty
from counterrank.data.logs import ABOVE, Log, log_schema, target_schema
from counterrank.data.runs import RunTables, run_schemas, tables_of
from counterrank.data.schema import ColumnNames, Input, Schema, validate_columns
from counterrank.engine import engine as as_engine
from counterrank.engine.partitions import Partition, Partitions, Tables
from counterrank.ope.request import LIVE, LOGGED
from counterrank.ope.setting import choose_basis
from counterrank.stats.functions_of_means import mean
from counterrank.stats.units import Estimate, Key, Units

SHOWN = "shown by the control"  # its own lists, as a run
DAY = "number of the day"
FIGURES = 6  # of an arm, a reward and an estimator: see `Cases`


def read_past_log(request: OnlineRequest) -> tuple[list[Cases], tuple[Input, ...], dict[str, Any]]:
    """The cases of a log, what was read, and where it ran."""
    engine = as_engine(request.engine, [request.source, *tables_of(request.runs)])
    if request.resume is not None and not engine.in_memory:
        raise UsageError(
            "Only tables that are read into memory can be taken up again.",
            todo="Leave --resume out, or --memory, --partitions and --engine.",
        )
    day, columns = request.day, ColumnNames.of(request.columns)

    def schema(table: object, name: str) -> Schema:
        return target_schema(table, name=name, columns=columns)

    lists, names = run_schemas(request.runs, schema, "target")
    contexts = [*day.contexts, *([day.model.column] if day.model and day.model.column else [])]
    log = log_schema(request.source, rewards=request.rewards, contexts=contexts, columns=columns)
    validate_columns((log, *lists.values()))
    tables = Tables({"log": log, **lists}, "session", ("session", "item"), needs="log")
    with engine.open(tables, request.progress) as rows:
        cases = cases_of_log(rows, day, names, request.resume)
        return cases, tuple(rows.inputs.values()), rows.protocol()


def _below(parts: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts, how="vertical_relaxed")


def _sum_counts(parts: list[pl.DataFrame]) -> pl.DataFrame:
    return _below(parts).group_by("day", "arm").sum()


@dataclass(frozen=True)
class PastTotals:
    """Of the whole log: rows of each day and arm, and those whose propensity is 1.

    ``systems`` are the names in tables that hold the lists of several arms.
    """

    counts: Annotated[pl.DataFrame, _sum_counts]
    systems: Annotated[dict[str, pl.Series], by_key(union)]

    @classmethod
    def of(cls, runs: RunTables, part: Partition) -> PastTotals:
        """Of one partition."""
        log = part["log"].frame
        sure = pl.col("propensity") == 1 if "propensity" in log.columns else pl.lit(False)
        counts = log.group_by("day", pl.col("arm").cast(pl.String)).agg(
            pl.len().cast(pl.Int64).alias("rows"), sure.cast(pl.Int64).sum().alias("certain")
        )
        return cls(counts, runs.systems_in(part.tables))

    def days(self, request: DayRequest, table: str) -> pl.Series:
        """The days in order, if every arm was live on each and something was left to chance."""
        total = int(self.counts["rows"].sum())
        if self.counts["certain"].sum() == total:
            raise certainty(table, total)
        _refuse_arms(self.counts["arm"].unique().sort().to_list(), request)
        days = self.counts["day"].unique().sort()
        live = set(self.counts.select("day", "arm").iter_rows())
        for day in days:
            for arm in (request.control, *request.arms):
                if (day, arm) not in live:
                    raise InputError(
                        f'Arm "{arm}" has no rows on day {day}.',
                        todo="Leave out days on which an arm was not live.",
                    )
        return days


def _refuse_control(control: str, arms: Sequence[str]) -> None:
    """Refuse a run of the control."""
    if control in arms:
        raise UsageError(
            f'"{control}" is the control: its log is what the others are estimated from.',
            todo="Give runs of the other arms.",
        )


def _refuse_arms(there: list[str], request: DayRequest) -> None:
    """Refuse runs of what is no arm of the log."""
    for name in (request.control, *request.arms):
        if name not in there:
            raise UsageError(
                f'The log has no arm "{name}".',
                found=f"Its arms are: {', '.join(there)}.",
                todo="Name each run by its arm (arm=path), the control by --control.",
            )


@dataclass(frozen=True)
class DayRows:
    """The rows of one day: those of the log, and of each arm's lists for the control's sessions."""

    number: Annotated[int, first]
    log: Annotated[pl.DataFrame, _below]
    lists: Annotated[dict[str, pl.DataFrame], by_key(_below)]


def cases_of_log(
    log: Partitions, request: DayRequest, names: Mapping[str, str], resume: Any
) -> list[Cases]:
    """The cases of every estimator and reward: one per day and arm."""
    head = _dated(log.heads["log"])
    runs = RunTables.of(names, log.heads)
    runs.validate(partial(_refuse_control, request.control))
    choose_basis(
        head, [log.heads[name] for name in names], logged="auto", views=request.views,
        model=request.model,
    )  # fmt: skip
    totals = log.reduce(partial(PastTotals.of, runs), "reading the log")
    runs = runs.with_systems(totals.systems)
    runs.validate(partial(_refuse_control, request.control))
    tables = [head, *(log.heads[name] for name in names)]
    chances = [c for c in ("exposure", "propensity") if all(c in t.frame.columns for t in tables)]
    request = replace(
        request, rewards=head.rewards, arms=tuple(runs.labels), chances=tuple(chances)
    )
    days = totals.days(request, head.name)
    rows = partial(rows_by_day, request, runs, days)
    done = log.exchange(rows, partial(_figures_by_day, request, days, resume), "days")
    return _cases(days.to_list(), [done[number] for number in range(len(days))], request)


def _dated(log: Any) -> Log:
    """The log, or its head, if it has days and arms."""
    assert isinstance(log, Log)
    for column in ("day", "arm"):
        if not log.has(column):
            raise InputError(
                f'"{log.name}" has no column "{column}".',
                found=f"Its columns are: {', '.join(log.source.columns()[:12])}.",
                todo="Offline figures meet online ones by day and arm: log both.",
            )
    return log


def rows_by_day(
    request: DayRequest, runs: RunTables, days: pl.Series, part: Partition
) -> dict[int, DayRows]:
    """What a partition has of every day, by the day's number."""
    arms = [request.control, *request.arms]
    order = pl.DataFrame({"day": days, DAY: range(len(days))})
    log = part["log"].frame
    log = log.with_columns(pl.col("arm").cast(pl.String), pl.col("day").cast(days.dtype))
    log = log.filter(pl.col("arm").is_in(arms)).join(order, on="day", maintain_order="left")
    control = log.filter(pl.col("arm") == request.control).select("session", DAY).unique()
    lists = {
        table.system: table.frame.drop("system", strict=False).join(
            control, on="session", maintain_order="left"
        )
        for table in runs.lists(part.tables)
    }
    mine = _by_day(log.drop("day"))
    theirs = {arm: _by_day(frame) for arm, frame in lists.items()}
    return {
        number: DayRows(
            number,
            rows,
            {arm: theirs[arm].get(number, lists[arm].clear().drop(DAY)) for arm in lists},
        )
        for number, rows in mine.items()
    }


def _by_day(frame: pl.DataFrame) -> dict[int, pl.DataFrame]:
    parts = frame.partition_by(DAY, as_dict=True, include_key=False, maintain_order=True)
    return {int(number): rows for (number,), rows in parts.items()}


def _figures_by_day(
    request: DayRequest, days: pl.Series, resume: Any, rows: DayRows
) -> dict[int, Floats]:
    """The figures of one day, by its number: as they were left in ``resume``, or computed now."""
    if resume is None:
        return {rows.number: day_figures(request, rows)}
    frames = [rows.log, *rows.lists.values()]
    hashes = (frame.hash_rows().to_numpy() for frame in frames)
    key = fingerprint(
        "online and control", *hashes, [frame.columns for frame in frames], request.key()
    )
    keep = Checkpoint(resume, key)
    return {rows.number: keep(f"day-{days[rows.number]}", lambda: day_figures(request, rows))}


def day_figures(request: DayRequest, rows: DayRows) -> Floats:
    """The figures of one day by arm, reward and estimator; those of the control come last.

    The effect is the difference, paired by session, between the estimator's value of the arm's
    lists and of those the control showed: what a clip or a discount distorts, it distorts in both.
    Where the control drew its lists and logged how likely they were, its value is what it earned.
    The control has no effect.
    """
    control = rows.log.filter(pl.col("arm") == request.control)
    live = [rows.log.filter(pl.col("arm") == arm) for arm in request.arms]
    exposed = [c for c in request.chances if c == "exposure"]
    shown = control.select("session", "item", "rank", *exposed)
    offline = request.estimate(
        control.drop("arm"), {**rows.lists, SHOWN: shown}, reward=request.rewards,
        position_bias=request.model, estimator=request.estimators, context=request.contexts,
        views=request.views, test="none",
    )  # fmt: skip
    drawn = offline.protocol["logged_exposure"] in ("propensity", ABOVE)
    shape = (len(request.arms) + 1, len(request.rewards), len(request.estimators), FIGURES)
    figures = np.full(shape, np.nan)
    for r, reward in enumerate(request.rewards):
        base = mean_reward(control, reward)
        olds = [
            offline.estimate(*((LOGGED, LIVE) if drawn else (SHOWN, e)), reward)
            for e in request.estimators
        ]
        for k, old in enumerate(olds):
            figures[-1, r, k, :2] = old.value, base.value
        for a, arm in enumerate(request.arms):
            online = mean_reward(live[a], reward)
            gain = online.value - base.value, float(np.hypot(online.se, base.se))
            for k, e in enumerate(request.estimators):
                new = offline.estimate(arm, e, reward)
                effect = new - olds[k]
                figures[a, r, k] = new.value, online.value, effect.value, effect.se, *gain
    return figures


def mean_reward(rows: pl.DataFrame, reward: str) -> Estimate:
    """The mean of a reward per session, clustered by user where the log knows users.

    Sessions are added up in the order of their ids: that of the rows changes nothing.
    """
    names = ["session", "user"] if "user" in rows.columns else ["session"]
    each = rows.group_by(names, maintain_order=True).agg(pl.col(reward).sum()).sort(names)
    key, users = Key("logged", reward), each["user"] if "user" in names else None
    return Units(each["session"], {key: (each[reward].to_numpy(),)}, clusters=users).estimate(
        key, mean
    )


def _cases(days: Sequence[object], done: Sequence[Floats], request: DayRequest) -> list[Cases]:
    """The figures of all days as cases, with those of the control beside them."""
    when = tuple(str(day) for day in days for _ in request.arms)
    figures = np.stack(done)
    return [
        Cases(
            str(e), reward, when, request.arms * len(days),
            *figures[:, :-1, r, k].reshape(-1, FIGURES).T, series=True,
            control=(request.control, *figures[:, -1, r, k, :2].T),
        )
        for r, reward in enumerate(request.rewards)
        for k, e in enumerate(request.estimators)
    ]  # fmt: skip
