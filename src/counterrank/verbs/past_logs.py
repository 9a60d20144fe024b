"""Past experiments straight from a log with days and arms.

On each day the log of the control says what every other arm's ranker would have earned; what the
arm did earn that day stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from counterrank.aggregate import Mean
from counterrank.api.estimate import estimate
from counterrank.arrays import Floats
from counterrank.errors import InputError, UsageError
from counterrank.estimates import Estimate
from counterrank.exposure import ByContext, Exposure
from counterrank.inference import Keep
from counterrank.logs import Log
from counterrank.meta.online import Cases
from counterrank.ope.clip_sweep import CLIPS
from counterrank.ope.estimators.base import Clipped, Estimator
from counterrank.ope.estimators.registry import estimator
from counterrank.ope.request import LogTables
from counterrank.progress import Progress
from counterrank.schema import Table

SHOWN = "shown"  # the control's own lists, as a run
CONTROL = "control"


@dataclass(frozen=True)
class Terms:
    """What is asked of every day. ``chances`` are columns of chances that all tables have."""

    control: str
    arms: tuple[str, ...]
    rewards: tuple[str, ...]
    estimators: tuple[Estimator, ...]
    model: Exposure | ByContext | None
    contexts: tuple[str, ...]
    views: str
    chances: tuple[str, ...] = ()

    def of(self, arms: Sequence[str], tables: Sequence[Table]) -> Terms:
        """The same, of these arms, the log and their runs."""
        chances = ("exposure", "propensity")
        both = tuple(c for c in chances if all(c in t.frame.columns for t in tables))
        return replace(self, arms=tuple(arms), chances=both)


@dataclass(frozen=True)
class Experiment:
    """A log with days and arms, and for each arm but the control what its ranker would show."""

    log: Log
    arms: dict[str, Table]
    terms: Terms

    @classmethod
    def of(cls, tables: Mapping[str, Table], given: LogTables, terms: Terms) -> Experiment:
        """All rows of the tables; every run must be an arm."""
        log = dated(tables)
        frame = log.frame.with_columns(pl.col("arm").cast(pl.String))
        arms = {table.system: table for table in given.targets.lists(tables)}
        refuse_arms(frame["arm"].unique().sort().to_list(), terms.control, list(arms))
        return cls(replace(log, frame=frame), arms, terms.of(list(arms), [log, *arms.values()]))

    @property
    def days(self) -> list[Any]:
        """The days, in order."""
        return self.log.frame["day"].unique().sort().to_list()


def dated(tables: Mapping[str, Table]) -> Log:
    """The log, or its head, if it has days and arms."""
    log = tables["log"]
    assert isinstance(log, Log)
    for column in ("day", "arm"):
        if not log.has(column):
            raise InputError(
                f'"{log.name}" has no column "{column}".',
                found=f"Its columns are: {', '.join(log.source.columns()[:12])}.",
                todo="Offline figures meet online ones by day and arm: log both.",
            )
    return log


def refuse_arms(there: list[str], control: str, arms: Sequence[str]) -> None:
    """Refuse runs of what is no arm of the log, or of the control."""
    for name in (control, *arms):
        if name not in there:
            raise UsageError(
                f'The log has no arm "{name}".',
                found=f"Its arms are: {', '.join(there)}.",
                todo="Name each run by its arm (arm=path), the control by --control.",
            )
    if control in arms:
        raise UsageError(
            f'"{control}" is the control: its log is what the others are estimated from.',
            todo="Give runs of the other arms.",
        )


def refuse_empty(day: object, rows: Mapping[str, int], terms: Terms) -> None:
    """Refuse a day on which an arm has no rows."""
    for arm in (terms.control, *terms.arms):
        if not rows.get(arm):
            raise InputError(
                f'Arm "{arm}" has no rows on day {day}.',
                todo="Leave out days on which an arm was not live.",
            )


def swept(labels: Sequence[str | Estimator], sweep: str) -> list[Estimator]:
    """The estimators; in a sweep each that can be clipped, over all clips."""
    wanted = [estimator(label) for label in labels]
    if sweep == "clip":
        wanted = [
            kind
            for e in wanted
            for kind in ([replace(e, clip=m) for m in CLIPS] if isinstance(e, Clipped) else [e])
        ]
    return list(dict.fromkeys(wanted))


def from_log(experiment: Experiment, *, progress: Progress, keep: Keep) -> list[Cases]:
    """The cases of every estimator and reward: one per day and arm."""
    log, days, terms = experiment.log.frame, experiment.days, experiment.terms
    runs = {arm: table.frame for arm, table in experiment.arms.items()}

    def one(day: Any) -> Floats:
        mine = log.filter(pl.col("day") == day)
        refuse_empty(day, dict(mine["arm"].value_counts().iter_rows()), terms)
        return one_day(mine, runs, terms)

    done = [keep(f"day-{day}", lambda d=day: one(d)) for day in progress(days, "days")]  # type: ignore[misc]
    return day_by_day(days, done, terms)


def one_day(log: pl.DataFrame, runs: Mapping[str, pl.DataFrame], terms: Terms) -> Floats:
    """The figures of one day, by arm, reward and estimator, from that day's rows of the log.

    The effect is the difference, paired by session, between the estimator's value of the arm's
    lists and of those the control showed: what a clip or a discount distorts, it distorts in both.
    """
    control = log.filter(pl.col("arm") == terms.control)
    live = [log.filter(pl.col("arm") == arm) for arm in terms.arms]
    sessions = control.select("session").unique()
    lists: dict[str, object] = {
        arm: run.drop("system", strict=False).join(sessions, on="session", how="semi")
        for arm, run in runs.items()
    }
    lists[SHOWN] = control.select("session", "item", "rank", *terms.chances)
    found = estimate(
        control.drop("day", "arm", strict=False), lists, rewards=terms.rewards,
        position_bias=terms.model, estimators=terms.estimators, contexts=terms.contexts,
        views=terms.views, test="none",
    )  # fmt: skip
    out = np.empty((len(terms.arms), len(terms.rewards), len(terms.estimators), 6))
    for r, reward in enumerate(terms.rewards):
        base = earned(control, reward)
        for a, arm in enumerate(terms.arms):
            own = earned(live[a], reward)
            gain = own.value - base.value, float(np.hypot(own.se, base.se))
            for k, e in enumerate(terms.estimators):
                new = found.estimate(arm, e, reward)
                effect = new - found.estimate(SHOWN, e, reward)
                out[a, r, k] = new.value, own.value, effect.value, effect.se, *gain
    return out


def day_by_day(days: Sequence[object], done: Sequence[Floats], terms: Terms) -> list[Cases]:
    """The figures of all days as cases."""
    when = tuple(str(day) for day in days for _ in terms.arms)
    who = terms.arms * len(days)
    figures = np.stack(done)
    return [
        Cases(str(e), reward, when, who, *figures[:, :, r, k].reshape(-1, 6).T)
        for r, reward in enumerate(terms.rewards)
        for k, e in enumerate(terms.estimators)
    ]


def earned(rows: pl.DataFrame, reward: str) -> Estimate:
    """The mean of a reward per session, clustered by user where the log knows users.

    Sessions are added up in the order of their ids: that of the rows changes nothing.
    """
    names = ["session", "user"] if "user" in rows.columns else ["session"]
    each = rows.group_by(names, maintain_order=True).agg(pl.col(reward).sum()).sort(names)
    found = Estimate.of(each[reward].to_numpy(), each["session"], Mean())
    return found.clustered(each["user"].to_numpy()) if "user" in names else found
