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

from counterrank import logs
from counterrank.aggregate import Mean
from counterrank.arrays import Floats
from counterrank.blocks import one_kind
from counterrank.errors import InputError, UsageError
from counterrank.estimates import Estimate
from counterrank.exposure import ByContext, Exposure
from counterrank.inference import Keep
from counterrank.logged import CLIPS, Estimator, estimator
from counterrank.logged.estimator import Clipped
from counterrank.logs import Log
from counterrank.meta.online import Cases
from counterrank.progress import Progress
from counterrank.schema import Input, Table
from counterrank.systems import Runs, names_and_tables, split
from counterrank.verbs.estimate import estimate

SHOWN = "shown"  # the control's own lists, as a run
CONTROL = "control"


@dataclass(frozen=True)
class Experiment:
    """A log with days and arms, and for each arm but the control what its ranker would show."""

    log: Log
    arms: dict[str, Table]
    control: str

    @classmethod
    def read(
        cls,
        log: object,
        runs: Runs,
        *,
        rewards: Sequence[str],
        contexts: Sequence[str],
        control: str,
        columns: Mapping[str, str] | None,
    ) -> Experiment:
        """Both through the door; every run must be an arm."""
        read = logs.log(log, rewards=rewards, contexts=contexts, columns=columns)
        for column in ("day", "arm"):
            if not read.has(column):
                raise InputError(
                    f'"{read.name}" has no column "{column}".',
                    found=f"Its columns are: {', '.join(read.source.columns()[:12])}.",
                    todo="Offline figures meet online ones by day and arm: log both.",
                )
        frame = read.frame.with_columns(pl.col("arm").cast(pl.String))
        arms = {
            table.system: table
            for name, run in names_and_tables(runs)
            for table in split(logs.target(run, name=name, columns=columns), name)
        }
        frames = one_kind([frame, *(table.frame for table in arms.values())], "session")
        frame = frames[0]
        arms = {n: replace(t, frame=f) for (n, t), f in zip(arms.items(), frames[1:], strict=True)}
        there = frame["arm"].unique().sort().to_list()
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
        return cls(replace(read, frame=frame), arms, control)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What the result remembers of the tables."""
        return (self.log.input(), *(table.input() for table in self.arms.values()))

    @property
    def days(self) -> list[Any]:
        """The days, in order."""
        return self.log.frame["day"].unique().sort().to_list()


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


def from_log(
    experiment: Experiment,
    estimators: Sequence[Estimator],
    *,
    model: Exposure | ByContext | None,
    contexts: Sequence[str],
    views: str,
    progress: Progress,
    keep: Keep,
) -> list[Cases]:
    """The cases of every estimator and reward: one per day and arm.

    The effect is the difference, paired by session, between the estimator's value of the arm's
    lists and of those the control showed: what a clip or a discount distorts, it distorts in both.
    """
    log, days, arms = experiment.log, experiment.days, list(experiment.arms)
    rewards = log.rewards
    tables = [log.frame, *(table.frame for table in experiment.arms.values())]
    chances = [c for c in ("exposure", "propensity") if all(c in t.columns for t in tables)]

    def one(day: Any) -> Floats:
        mine = log.frame.filter(pl.col("day") == day)
        control = mine.filter(pl.col("arm") == experiment.control)
        live = [mine.filter(pl.col("arm") == arm) for arm in arms]
        _refuse_empty(day, [experiment.control, *arms], [control, *live])
        runs: dict[str, object] = {
            arm: table.frame.join(control.select("session").unique(), on="session", how="semi")
            for arm, table in experiment.arms.items()
        }
        runs[SHOWN] = control.select("session", "item", "rank", *chances)
        found = estimate(
            control.drop("day", "arm"), runs, rewards=rewards, position_bias=model,
            estimators=list(estimators), contexts=contexts, views=views, test="none",
        )  # fmt: skip
        out = np.empty((len(arms), len(rewards), len(estimators), 6))
        for r, reward in enumerate(rewards):
            base = earned(control, reward)
            for a, arm in enumerate(arms):
                own = earned(live[a], reward)
                gain = own.value - base.value, float(np.hypot(own.se, base.se))
                for k, e in enumerate(estimators):
                    new = found.estimate(arm, e, reward)
                    effect = new - found.estimate(SHOWN, e, reward)
                    out[a, r, k] = new.value, own.value, effect.value, effect.se, *gain
        return out

    done = np.stack([keep(f"day-{day}", lambda d=day: one(d)) for day in progress(days, "days")])  # type: ignore[misc]
    when = tuple(str(day) for day in days for _ in arms)
    who = tuple(arms) * len(days)
    return [
        Cases(str(e), reward, when, who, *done[:, :, r, k].reshape(-1, 6).T)
        for r, reward in enumerate(rewards)
        for k, e in enumerate(estimators)
    ]


def earned(rows: pl.DataFrame, reward: str) -> Estimate:
    """The mean of a reward per session, clustered by user where the log knows users."""
    names = ["session", "user"] if "user" in rows.columns else ["session"]
    each = rows.group_by(names, maintain_order=True).agg(pl.col(reward).sum())
    found = Estimate.of(each[reward].to_numpy(), each["session"], Mean())
    return found.clustered(each["user"].to_numpy()) if "user" in names else found


def _refuse_empty(day: object, arms: list[str], parts: list[pl.DataFrame]) -> None:
    for arm, part in zip(arms, parts, strict=True):
        if part.height == 0:
            raise InputError(
                f'Arm "{arm}" has no rows on day {day}.',
                todo="Leave out days on which an arm was not live.",
            )
