"""The tables of a sample, a block at a time: the log, the runs of every ranker, the judgments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.core.arrays import AnyInts, Bools, Floats, Ints, ranges
from counterrank.simulate.rankers import Ranker, chosen
from counterrank.simulate.sessions import SimulatedSessions, stream
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


STOCHASTIC = ("exposure", "draws")


@dataclass(frozen=True)
class SharedRows:
    """Rows shared by all sessions of a cell, a candidate set or a context."""

    start: Ints
    length: Ints
    rows: pl.DataFrame

    def spread(self, session: AnyInts, cell: Ints) -> pl.DataFrame:
        """Each session with the rows of its cell."""
        length = self.length[cell]
        frame = self.rows[ranges(self.start[cell], length)]
        return frame.insert_column(0, pl.Series("session", np.repeat(session, length)))


def cells(world: World, ranker: Ranker, given: str) -> SharedRows:
    """A ranker's rows: ranks if it is deterministic given the candidates, otherwise exposures."""
    sets = world.latent.sets
    if given == "candidates" and not ranker.stochastic:
        item = np.take_along_axis(sets, ranker.best, axis=2).reshape(-1)
        rank = np.tile(np.arange(1, world.slots + 1, dtype=np.int32), len(item) // world.slots)
        length = np.full(len(item) // world.slots, world.slots)
        rows = pl.DataFrame({"item": item.astype(np.int32), "rank": rank})
    else:
        chances = world.exposures[ranker.name]
        if given == "candidates":
            exposure = chances.by_candidates.reshape(-1, world.candidates)
            item = sets.reshape(exposure.shape)
        else:
            exposure = chances.by_context
            item = np.broadcast_to(np.arange(world.items), exposure.shape)
        keep = exposure > 0
        length = keep.sum(axis=1)
        rows = pl.DataFrame({"item": item[keep].astype(np.int32), "exposure": exposure[keep]})
    return SharedRows(np.cumsum(length) - length, length, rows)


def run_rows(
    world: World, who: SimulatedSessions, part: int, shared: SharedRows, given: str
) -> pl.DataFrame:
    """The run of one ranker for block ``part``."""
    rows = who.block(part)
    x, s = who.context[rows], who.set[rows]
    session = np.arange(rows.start, rows.stop, dtype=np.int32)
    return shared.spread(session, x if given == "context" else x * world.sets + s)


def drawn_run(
    world: World,
    who: SimulatedSessions,
    part: int,
    ranker: Ranker,
    given: str,
    *,
    draws: int,
    seed: int,
) -> pl.DataFrame:
    """The same as sampled lists: ``draws`` per session, with a column ``draw`` from 1."""
    rows = who.block(part)
    number = list(world.rankers).index(ranker.name)
    rng = stream(seed, "draws", part * len(world.rankers) + number)
    x, s = np.repeat(who.context[rows], draws), np.repeat(who.set[rows], draws)
    if given == "context":
        s = chosen(rng.random(len(x)), ranker.chance, x)
    items = world.items_at(x, s, ranker.lists(rng, x, s))
    session = rows.start + np.arange(len(x), dtype=np.int32) // draws
    draw = np.tile(np.arange(1, draws + 1, dtype=np.int32), len(x) // draws)
    return pl.DataFrame(
        {
            "session": np.repeat(session.astype(np.int32), world.slots),
            "draw": np.repeat(draw, world.slots),
            "item": items.ravel().astype(np.int32),
            "rank": np.tile(np.arange(1, world.slots + 1, dtype=np.int32), len(x)),
        }
    )


CUTS = (0.5, 0.75, 0.9, 29 / 30)
JUDGES = 1 << 14  # users in a block


def judged_cells(world: World) -> SharedRows:
    """Grades 0 to 4 of the items in each context's candidate sets.

    The grade is that of the item's click quality among all such pairs of context and item: the
    lower half has 0, and each quantile in ``CUTS`` adds 1.
    """
    quality = world.latent.quality
    pool = np.zeros(quality.shape, bool)
    pool[np.arange(world.contexts)[:, None, None], world.latent.sets] = True
    grade = np.digitize(quality, np.quantile(quality[pool], CUTS))[pool]
    item = np.nonzero(pool)[1]
    length = pool.sum(axis=1)
    rows = pl.DataFrame({"item": item.astype(np.int32), "rating": grade.astype(np.int32)})
    return SharedRows(np.cumsum(length) - length, length, rows)


def judges(who: SimulatedSessions) -> Ints:
    """The users who came, and the context of each: users x 2."""
    user, first = np.unique(who.user, return_index=True)
    return np.stack([user, who.context[first]], axis=1)


def judgment_rows(everyone: Ints, grades: SharedRows, part: int) -> pl.DataFrame:
    """The judgments of block ``part`` of the users."""
    user, context = everyone[part * JUDGES : (part + 1) * JUDGES].T
    return grades.spread(user.astype(np.int32), context).rename({"session": "user"})
