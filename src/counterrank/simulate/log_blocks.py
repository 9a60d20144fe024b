"""The log, a block of sessions at a time: what was shown, seen and earned."""

from __future__ import annotations

import numpy as np
import polars as pl

from counterrank.core.arrays import Bools, Floats, Ints
from counterrank.simulate.choices import stream
from counterrank.simulate.sessions import SimulatedSessions
from counterrank.simulate.world import World

VIEWS = ("observed", "latent", "viewed_only")


def log_block(
    world: World, who: SimulatedSessions, part: int, *, seed: int, views: str, given: str
) -> pl.DataFrame:
    """The log of block ``part``: a row per session and slot."""
    rows = who.block(part)
    day, x, s, places = who.day[rows], who.context[rows], who.set[rows], who.places[rows]
    items = world.items_at(x, s, places)
    viewed, click, like = _reactions(world, who, rows, items, seed, part)
    conversion, dwell, revenue = _after_click(world, x, items, click, seed, part)
    exposure, propensity = _logged_chances(world, who, rows, items, given)
    slots = world.slots

    def wide(column: Ints, kind: type) -> np.ndarray:
        return np.repeat(column.astype(kind), slots)

    def named(column: Ints, names: list[str]) -> pl.Series:
        return pl.Series(names, dtype=pl.Enum(names)).gather(wide(column, np.int32))

    frame = pl.DataFrame(
        {
            "session": wide(np.arange(rows.start, rows.stop), np.int32),
            "user": wide(who.user[rows], np.int32),
            "day": wide(day, np.int32),
            "context": wide(x, np.int32),
            "candidates": wide(s, np.int32),
            "policy": named(who.policy[rows], list(world.rankers)),
            "arm": named(who.arm[rows] + 1, ["control", *world.arms]),
            "item": items.ravel().astype(np.int32),
            "rank": np.tile(np.arange(1, slots + 1, dtype=np.int32), len(x)),
            "viewed": viewed.ravel().astype(np.int8),
            "exposure": exposure.ravel(),
            "propensity": propensity.ravel(),
            "click": click.ravel().astype(np.int8),
            "like": like.ravel().astype(np.int8),
            "dwell": dwell.ravel(),
            "conversion": conversion.ravel().astype(np.int8),
            "revenue": revenue.ravel(),
        }
    )
    served = [world.rankers[name] for name in (*world.loggers, *world.arms)]
    if given == "candidates" and not any(ranker.stochastic for ranker in served):
        frame = frame.drop("propensity")  # it would be 1 throughout
    if views == "viewed_only":
        frame = frame.filter(pl.col("viewed") == 1)
    return frame if views == "observed" else frame.drop("viewed")


def _reactions(
    world: World, who: SimulatedSessions, rows: slice, items: Ints, seed: int, part: int
) -> tuple[Bools, Bools, Bools]:
    """Views, clicks and likes. See ``behaviour`` for the probabilities."""
    at = who.day[rows, None], who.context[rows, None], items
    lift = world.users.lift(items) * (who.factor[rows] * who.appetite[rows])[:, None]
    reached = stream(seed, "patience", part).random(len(items))
    viewed = reached[:, None] < world.reading.patience[who.context[rows]]
    would = stream(seed, "click", part).random(items.shape) < lift * world.latent.click[at]
    if world.reading.leaves:
        left = viewed & would
        left &= stream(seed, "leave", part).random(items.shape) < world.reading.leaving
        viewed[:, 1:] &= ~np.logical_or.accumulate(left, axis=1)[:, :-1]
    likes = stream(seed, "like", part).random(items.shape) < lift * world.latent.like[at]
    return viewed, viewed & would, viewed & likes


def _after_click(
    world: World, x: Ints, items: Ints, click: Bools, seed: int, part: int
) -> tuple[Bools, Floats, Floats]:
    """Conversions, dwell and revenue; amounts are gamma variables with shape 2."""
    latent = world.latent
    row, slot = np.nonzero(click)
    at = x[row], items[row, slot]
    conversion = np.zeros(click.shape, bool)
    dwell, revenue = np.zeros(click.shape), np.zeros(click.shape)
    n = len(row)
    dwell[row, slot] = latent.dwell[at] * stream(seed, "dwell", part).standard_gamma(2, n) / 2
    bought = stream(seed, "conversion", part).random(n) < latent.convert[at]
    conversion[row, slot] = bought
    amount = latent.price[at[1]] * stream(seed, "revenue", part).standard_gamma(2, n) / 2
    revenue[row, slot] = bought * amount
    return conversion, dwell, revenue


def _logged_chances(
    world: World, who: SimulatedSessions, rows: slice, items: Ints, given: str
) -> tuple[Floats, Floats]:
    """Exposure and propensity of each shown item under the ranker that showed it."""
    exposure, propensity = np.empty(items.shape), np.empty(items.shape)
    slot = np.arange(world.slots)
    for number, ranker in enumerate(world.rankers.values()):
        own = np.flatnonzero(who.policy[rows] == number)
        if not len(own):
            continue
        x, s = who.context[rows][own, None], who.set[rows][own, None]
        places, chances = who.places[rows][own], world.exposures[ranker.name]
        if given == "context":
            exposure[own] = chances.by_context[x, items[own]]
            propensity[own] = chances.placed[x, items[own], slot]
        else:
            exposure[own] = chances.by_candidates[x, s, places]
            propensity[own] = ranker.placed[x, s, places, slot]
    return exposure, propensity
