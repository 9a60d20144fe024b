"""The grid: worlds of two generators, how their logs are told to `cr.estimate`, and true lifts.

A cell is a kind of world and of log; every seed of it is another world with another log. True lifts
are those over the horizon of a claim: the week after the log of two weeks has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import signature
from typing import Any, Literal

import numpy as np
import polars as pl

import counterrank as cr
from calibration.faults import FAULTS
from counterrank.simulate import World, platform
from worlds.feed import Feed

DAYS, HORIZON = 14, 7
SIZES = (2_000, 10_000, 50_000)
NAMED = {"worlds": ("user_kind", "device"), "simulator": ("context",)}
BASE = {
    "worlds": {"skill": 0.2, "steepness": 1.0, "days": DAYS},
    "simulator": {
        "examination": "power(eta=1)",
        "days": DAYS + HORIZON,
        "traffic": 0.0,
        "length_spread": 0.5,
    },
}
STOCHASTIC = {"worlds": {"logger": "stochastic"}, "simulator": {"ranker": "plackett_luce"}}
CHANCES = ("exposure", "propensity", "propensity_above", "conditional_propensity")


@dataclass(frozen=True)
class Case:
    """One log with its runs, the other arguments of `cr.estimate`, and each run's true lift."""

    log: pl.DataFrame
    runs: dict[str, pl.DataFrame]
    call: dict[str, Any]
    lifts: dict[str, float]


@dataclass(frozen=True)
class Cell:
    """A kind of world and log, in a group: the grid's clean and broken ones, the opening table's
    eight rows, and large clean logs, of which it is asked how much is held back.

    ``world`` are options of the generator, ``faults`` what goes wrong in writing the simulator's
    log. ``curve`` is the position model that is given: the true one (on average), or how it is
    learned. ``contexts`` are named (those that matter, or these) or not, ``views`` logged or not,
    ``weigh`` is the column that a stochastic logger's rows are weighed by, ``untimed`` logs have no
    day. ``options`` are further ones of `cr.estimate`, as far as it has them. Only the estimator
    that decides is asked for: rows of one do not depend on which others there are.
    """

    name: str
    world: dict[str, Any] = field(default_factory=dict)
    group: Literal["clean", "broken", "table", "large"] = "broken"
    curve: Literal["true", "views", "harvest"] = "views"
    contexts: bool | tuple[str, ...] = True
    views: bool = True
    weigh: Literal["rank", "exposure", "propensity"] = "rank"
    untimed: bool = False
    reward: str = "click"
    faults: dict[str, float] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    sizes: tuple[int, ...] = (10_000,)

    def case(self, generator: str, sessions: int, seed: int) -> Case:
        """One log of so many sessions."""
        of = {"worlds": _of_worlds, "simulator": _of_simulator}[generator]
        found = of(self, sessions, seed)
        gone = {name for name in CHANCES if name != self.weigh}
        gone |= set() if self.views else {"viewed"}
        gone |= {"day", "timestamp"} if self.untimed else set()
        hidden = self.world.get("hide", ())
        asked = {True: NAMED[generator], False: ()}.get(self.contexts, self.contexts)
        named = [c for c in asked if c not in hidden]
        known = signature(cr.estimate).parameters
        more = {name: v for name, v in self.options.items() if name in known}
        call = {"reward": self.reward, "context": named, "estimator": "DR", **found.call, **more}
        return Case(found.log.drop(gone, strict=False), found.runs, call, found.lifts)


def _of_worlds(cell: Cell, sessions: int, seed: int) -> Case:
    """A log of `worlds.feed`; what has no list of each kind at this seed takes the next world."""
    options = {**BASE["worlds"], "by": cell.reward, **cell.world}
    for attempt in range(10):
        feed = Feed(**{**options, "seed": seed + 100_003 * attempt})
        try:
            week = feed.log(sessions, seed=seed, horizon=HORIZON)
            break
        except ValueError as said:
            if "no mixture of lists" not in str(said) or attempt == 9:
                raise
    call: dict[str, Any] = {
        "position_bias": feed.position_bias if cell.curve == "true" else cell.curve
    }
    if week.loggers:
        call["logger"] = week.loggers
    lifts = {name: week.lift(name, cell.reward, later=True) for name in week.runs}
    return Case(week.log, week.runs, call, lifts)


def _of_simulator(cell: Cell, sessions: int, seed: int) -> Case:
    """The first two weeks of a sample of three, and candidates that users are dealt to.

    ``equal`` and ``slightly_worse`` serve a share of the users by ``ideal`` and the rest by
    ``random``, such that their lift in the logged days is 0 and -3 %: by user, so that carry-over
    within a user is that of one ranker.
    """
    options = {**BASE["simulator"], **cell.world}
    log_days, later_days = range(DAYS), range(DAYS, DAYS + HORIZON)
    for attempt in range(20):
        world = World(**{**options, "seed": seed + 100_003 * attempt})
        before = _lifts(world, cell.reward, log_days)
        if before["random"] < -0.05 < 0.05 < before["ideal"]:
            break
    every = round(sessions * (DAYS + HORIZON) / DAYS)
    names = ["ideal", "random", "short_form", "long_form"]
    sample = platform(world, sessions=every, seed=seed, runs=names)
    later = _lifts(world, cell.reward, later_days)
    rng = np.random.default_rng([seed, 11])
    log = sample.log.filter(pl.col("day") < DAYS)
    who = log.select("session", "user").unique("session", maintain_order=True)
    runs = {
        new: sample.runs[old].join(who, on="session", how="semi", maintain_order="left")
        for new, old in zip(("better", "worse", "hidden_up", "hidden_down"), names, strict=True)
    }
    lifts = dict(zip(runs, (later[name] for name in names), strict=True))
    for name, due in (("equal", 0.0), ("slightly_worse", -0.03)):
        share = (due - before["random"]) / (before["ideal"] - before["random"])
        users = who.select("user").unique().sort("user")
        dealt = users.filter(pl.Series(rng.random(len(users)) < share))
        mine = who.join(dealt, on="user", how="semi")
        runs[name] = pl.concat(
            [
                runs["better"].join(mine, on="session", how="semi", maintain_order="left"),
                runs["worse"].join(mine, on="session", how="anti", maintain_order="left"),
            ]
        )
        lifts[name] = share * later["ideal"] + (1 - share) * later["random"]
    for fault, strength in cell.faults.items():
        log, runs = FAULTS[fault](log, runs, strength, rng)
    curve = f"{BASE['simulator']['examination']}@{world.slots}"
    call = {"position_bias": curve if cell.curve == "true" else cell.curve}
    return Case(log, runs, call, lifts)


def _lifts(world: World, reward: str, days: range) -> dict[str, float]:
    """True lifts of the rankers over the mean of these days."""
    still = not (world.drift or world.traffic)
    known = [world.truth(day=day) for day in (days[:1] if still else days)]
    value = {name: np.mean([t[name][reward].value for t in known]) for name in known[0]}
    return {name: float(v / value["logged"] - 1) for name, v in value.items()}


def _sized(name: str, *args: Any, **options: Any) -> Cell:
    return Cell(name, *args, **options, sizes=SIZES)


PL = STOCHASTIC["worlds"]
DRIFT = {"hidden_worth": 1.0}
TRAITS = {"trait_taste": 2.0}
SERVED = {"trait_taste": 4.0, "loggers": 2}
IPS = {"estimator": "IPS"}
DEVICES = {"device_taste": 2.0, "hide": ("device",)}
INTENTS = {**PL, "intent_taste": 2.0, "pool": 20}
WORLDS = [
    _sized("clean", group="clean"),
    Cell("clean, no contexts", group="clean", contexts=False),
    Cell("clean, page named", group="clean", contexts=("user_kind", "page")),
    Cell("clean, no views, curve known", group="clean", views=False, curve="true"),
    Cell("clean, no views, curve harvested", group="clean", views=False, curve="harvest"),
    Cell("clean, stochastic, exposures", PL, "clean", weigh="exposure"),
    Cell("clean, stochastic, propensities", PL, "clean", weigh="propensity"),
    Cell("clean, stochastic, no views", PL, "clean", "true", views=False, weigh="exposure"),
    Cell("clean, personalised logger", {**TRAITS, "personal": 2.0}, "clean"),
    Cell("clean, no time", group="clean", untimed=True),
    Cell("trust 0.1", {"trust": 0.1}),
    _sized("trust 0.2", {"trust": 0.2}),
    Cell("trust 0.4, no views", {"trust": 0.4}, curve="true", views=False),
    Cell("interaction 0.15", {"interaction": 0.15}),
    Cell("interaction 0.4", {"interaction": 0.4}),
    Cell("cascade 0.2", {"examination": 0.2}),
    Cell("cascade 0.6", {"examination": 0.6}),
    Cell("carry-over 0.2", {"carry_over": 0.2}),
    Cell("carry-over 0.5", {"carry_over": 0.5}),
    Cell("carry-over 0.5, no time", {"carry_over": 0.5}, untimed=True),
    Cell("drift 0.5", {**DRIFT, "drift": 0.5}),
    _sized("drift 1.5", {**DRIFT, "drift": 1.5}),
    Cell("drift 1.5, no time", {**DRIFT, "drift": 1.5}, untimed=True),
    Cell("hidden device 0.3", {**DEVICES, "device_curve": 0.3}),
    _sized("hidden device 0.6", {**DEVICES, "device_curve": 0.6}),
    Cell("personalised 1, harvested", {**TRAITS, "personal": 1.0}, curve="harvest", views=False),
    Cell("personalised 2, harvested", {**TRAITS, "personal": 2.0}, curve="harvest", views=False),
    Cell("confounding 0.7", {**INTENTS, "confounding": 0.7}, weigh="exposure"),
    _sized("confounding 1.5", {**INTENTS, "confounding": 1.5}, weigh="exposure"),
    Cell(
        "confounding 1.5, no views",
        {**INTENTS, "confounding": 1.5},
        curve="true",
        views=False,
        weigh="exposure",
    ),
    Cell("late 2, hidden kind later", {"late": 2.0, "late_hidden": 3.0}, reward="purchase"),
    Cell("late 5, hidden kind later", {"late": 5.0, "late_hidden": 3.0}, reward="purchase"),
    Cell("selection 0.5", {"selection": 0.5}),
    Cell("selection, leads away 0.2", {"leave": 0.2}),
    Cell("assignment 2", {**SERVED, "assignment": 2.0}),
    Cell("assignment 4, also by kind", {**SERVED, "assignment": 4.0, "assignment_kind": 4.0}),
    Cell("lost views 0.3", {"lost_views": 0.3}),
    Cell("lost views 0.4 below", {"lost_below": 0.4}),
    Cell("exposures 10 % off", {**PL, "exposure_error": 0.1}, weigh="exposure"),
    Cell(
        "exposures 10 % off, by IPS", {**PL, "exposure_error": 0.1}, weigh="exposure", options=IPS
    ),
    Cell("leak 0.5", {"leak": 0.5}),
    Cell("leak 2", {"leak": 2.0}),
    Cell("peek 0.03", {"peek": 0.03}),
    _sized("several, weak", {"trust": 0.1, "interaction": 0.15, "examination": 0.2}),
    Cell("several, strong", {"trust": 0.3, "interaction": 0.3, "carry_over": 0.3}),
    Cell("several, stochastic", {**INTENTS, "trust": 0.2, "confounding": 0.7}, weigh="exposure"),
]
BROKEN = {"trust": 0.3, "interaction": 0.3}
OPENING = [
    Cell("assumptions hold, contexts named", {}, "table"),
    Cell("broken, contexts named", BROKEN, "table"),
    Cell("broken, no contexts, few sessions", BROKEN, "table", contexts=False, sizes=(2_000,)),
    Cell("trust bias, no contexts", {"trust": 0.4}, "table", contexts=False),
    Cell(
        "logger knows more than the log", {**INTENTS, "confounding": 2.0}, "table", weigh="exposure"
    ),
    Cell("hidden device with its own curve", {**DEVICES, "device_curve": 0.5}, "table"),
    Cell("the past favours what the future leaves", {**DRIFT, "drift": 2.0}, "table"),
    Cell(
        "personalised, curve harvested",
        {**TRAITS, "personal": 2.0},
        "table",
        "harvest",
        views=False,
    ),
]
SP = STOCHASTIC["simulator"]
WRONG = {"exposure_error": 0.1}
TWO = ("power(eta=1)", "power(eta=0.4)")
SIMULATED = [
    _sized("clean", group="clean"),
    Cell("clean, no contexts", group="clean", contexts=False),
    Cell("clean, no views, curve known", group="clean", views=False, curve="true"),
    Cell("clean, no views, curve harvested", group="clean", views=False, curve="harvest"),
    Cell("clean, stochastic, exposures", SP, "clean", weigh="exposure"),
    Cell("stochastic, propensities, little overlap", SP, weigh="propensity"),
    Cell("clean, stochastic, no views", SP, "clean", "true", views=False, weigh="exposure"),
    Cell("clean, no time", group="clean", untimed=True),
    Cell("trust 0.1", {"trust": 0.1}),
    _sized("trust 0.3", {"trust": 0.3}),
    Cell("trust 0.6, no views", {"trust": 0.6}, curve="true", views=False),
    Cell("interaction 0.2", {"interaction": 0.2}),
    _sized("interaction 0.5", {"interaction": 0.5}),
    Cell("cascade 0.1", {"cascading": 0.1}),
    _sized("cascade 0.3", {"cascading": 0.3}),
    Cell("cascade 0.3, stochastic", {**SP, "cascading": 0.3}, weigh="exposure"),
    Cell("carry-over 0.2", {"carry_over": 0.2}),
    Cell("carry-over 0.5", {"carry_over": 0.5}),
    Cell("carry-over 0.5, no time", {"carry_over": 0.5}, untimed=True),
    Cell("drift 0.3", {"drift": 0.3}),
    Cell("drift 1", {"drift": 1.0}),
    _sized("traffic 0.5", {"traffic": 0.5}),
    Cell("missing support 0.2", {"missing_support": 0.2}),
    Cell("hidden curve of a context", {"examination": TWO}, contexts=False),
    Cell("hidden curve, any user", {"examination": TWO, "user_contexts": "any"}, contexts=False),
    Cell("late 2, a kind later", faults={"late": 2.0}, reward="conversion"),
    Cell("late 5, a kind later", faults={"late": 5.0}, reward="conversion"),
    Cell("selection 0.5", faults={"selection": 0.5}),
    Cell("selection, leads away 0.2", faults={"leave": 0.2}),
    Cell("lost views 0.3", faults={"lost_views": 0.3}),
    Cell("lost views 0.4 below", faults={"lost_below": 0.4}),
    Cell("exposures 10 % off", SP, weigh="exposure", faults=WRONG),
    Cell("exposures 10 % off, by IPS", SP, weigh="exposure", faults=WRONG, options=IPS),
    Cell("peek 0.03", faults={"peek": 0.03}),
    _sized("several, weak", {"trust": 0.1, "interaction": 0.2, "cascading": 0.1}),
    Cell("several, strong", {"trust": 0.4, "interaction": 0.4, "carry_over": 0.4}),
]
LARGE = [
    Cell("clean, a week ahead", {}, "large", sizes=(20_000,)),
    Cell("clean, no horizon", {}, "large", options={"horizon": 0}, sizes=(20_000,)),
    Cell("clean, no drift", {}, "large", options={"allow": {"drift": 0.0}}, sizes=(20_000,)),
]
GRID = {"worlds": [*WORLDS, *OPENING, *LARGE], "simulator": [*SIMULATED, *LARGE]}
