"""The tables of a sample, a block at a time: the log, the runs of every ranker, the judgments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.core.arrays import AnyInts, Bools, Floats, Ints, ranges
from counterrank.data.logs import ABOVE
from counterrank.simulate.rankers import Ranker, choose
from counterrank.simulate.sessions import stream
from counterrank.simulate.world import World

if TYPE_CHECKING:
    from counterrank.simulate.sample import SamplePlan


@dataclass(frozen=True)
class TableParts:
    """A table in parts, each made when asked for."""

    parts: range
    part: Callable[[int], pl.DataFrame]

    def whole(self) -> pl.DataFrame:
        """All parts as one frame."""
        return pl.concat([self.part(number) for number in self.parts])


def log_block(plan: SamplePlan, part: int) -> pl.DataFrame:
    """The log of block ``part``: a row per session and slot."""
    world, who = plan.world, plan.who
    rows = who.block(part)
    day, x, s, places = who.day[rows], who.context[rows], who.set[rows], who.places[rows]
    items, slots = world.items_at(x, s, places), world.slots
    viewed, click, like = _reactions(plan, rows, items, part)
    conversion, dwell, revenue = _after_click(plan, x, items, click, part)
    exposure, propensity, above = _logged_chances(plan, rows, items)

    def wide(column: Ints, kind: type) -> np.ndarray:
        return np.repeat(column.astype(kind), slots)

    def named(column: Ints, names: list[str]) -> pl.Series:
        return pl.Series(names, dtype=pl.Enum(names)).gather(wide(column, np.int32))

    frame = pl.DataFrame(
        {
            "session": wide(np.arange(rows.start, rows.stop), np.int32),
            "user": wide(who.user[rows], np.int32),
            "day": wide(day, np.int32),
            "timestamp": wide(np.arange(rows.start, rows.stop), np.int64),
            "context": wide(x, np.int32),
            "candidates": wide(s, np.int32),
            "policy": named(who.policy[rows], list(world.rankers)),
            "arm": named(who.arm[rows] + 1, ["control", *world.arms]),
            "item": items.ravel().astype(np.int32),
            "rank": np.tile(np.arange(1, slots + 1, dtype=np.int32), len(x)),
            "viewed": viewed.ravel().astype(np.int8),
            "exposure": exposure.ravel(),
            "propensity": propensity.ravel(),
            ABOVE: above.ravel(),
            "click": click.ravel().astype(np.int8),
            "like": like.ravel().astype(np.int8),
            "dwell": dwell.ravel(),
            "conversion": conversion.ravel().astype(np.int8),
            "revenue": revenue.ravel(),
        }
    )
    served = [world.rankers[name] for name in (*world.loggers, *world.arms)]
    if plan.given == "candidates" and not any(ranker.stochastic for ranker in served):
        frame = frame.drop("propensity", ABOVE)  # they would be 1 throughout
    if plan.given == "context":
        frame = frame.drop(ABOVE, strict=False)  # the candidates of a session are not given
    if plan.views == "viewed_only":
        frame = frame.filter(pl.col("viewed") == 1)
    return frame if plan.views == "observed" else frame.drop("viewed")


def _reactions(plan: SamplePlan, rows: slice, items: Ints, part: int) -> tuple[Bools, Bools, Bools]:
    """Views, clicks and likes. See ``behaviour`` for the probabilities."""
    world, who, seed = plan.world, plan.who, plan.seed
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
    plan: SamplePlan, x: Ints, items: Ints, click: Bools, part: int
) -> tuple[Bools, Floats, Floats]:
    """Conversions, dwell and revenue; amounts are gamma variables with shape 2."""
    latent, seed = plan.world.latent, plan.seed
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


def _logged_chances(plan: SamplePlan, rows: slice, items: Ints) -> tuple[Floats, Floats, Floats]:
    """Exposure and propensity of each shown item under its ranker, and that given those above."""
    world, who = plan.world, plan.who
    exposure, propensity, above = (np.ones(items.shape) for _ in range(3))
    slot = np.arange(world.slots)
    for number, ranker in enumerate(world.rankers.values()):
        own = np.flatnonzero(who.policy[rows] == number)
        if not len(own):
            continue
        x, s = who.context[rows][own, None], who.set[rows][own, None]
        places, chances = who.places[rows][own], world.exposures[ranker.name]
        if plan.given == "context":
            exposure[own] = chances.by_context[x, items[own]]
            propensity[own] = chances.placed[x, items[own], slot]
        else:
            exposure[own] = chances.by_candidates[x, s, places]
            propensity[own] = ranker.placed[x, s, places, slot]
            above[own] = ranker.given_above(x[:, 0], s[:, 0], places)
    return exposure, propensity, above


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

    @classmethod
    def of(cls, length: Ints, **columns: npt.NDArray[Any]) -> SharedRows:
        """Cells of so many rows each, one after the other."""
        return cls(np.cumsum(length) - length, length, pl.DataFrame(columns))


def run_cells(plan: SamplePlan, ranker: Ranker) -> SharedRows:
    """A ranker's rows: ranks if it is deterministic given the candidates, otherwise exposures."""
    world, sets, given = plan.world, plan.world.latent.sets, plan.given
    if given == "candidates" and not ranker.stochastic:
        item = np.take_along_axis(sets, ranker.best, axis=2).reshape(-1)
        rank = np.tile(np.arange(1, world.slots + 1, dtype=np.int32), len(item) // world.slots)
        length = np.full(len(item) // world.slots, world.slots)
        return SharedRows.of(length, item=item.astype(np.int32), rank=rank)
    chances = world.exposures[ranker.name]
    if given == "candidates":
        exposure = chances.by_candidates.reshape(-1, world.candidates)
        item = sets.reshape(exposure.shape)
    else:
        exposure = chances.by_context
        item = np.broadcast_to(np.arange(world.items), exposure.shape)
    seen = exposure > 0
    items = item[seen].astype(np.int32)
    return SharedRows.of(seen.sum(axis=1), item=items, exposure=exposure[seen])


def run_block(plan: SamplePlan, cells: SharedRows, part: int) -> pl.DataFrame:
    """The run of one ranker for block ``part``, by its rows in each cell."""
    rows = plan.who.block(part)
    x, s = plan.who.context[rows], plan.who.set[rows]
    session = np.arange(rows.start, rows.stop, dtype=np.int32)
    return cells.spread(session, x if plan.given == "context" else x * plan.world.sets + s)


def draw_run_block(plan: SamplePlan, ranker: Ranker, part: int) -> pl.DataFrame:
    """The same as sampled lists: ``draws`` per session, with a column ``draw`` from 1."""
    world, who, draws = plan.world, plan.who, plan.draws
    rows = who.block(part)
    number = list(world.rankers).index(ranker.name)
    rng = stream(plan.seed, "draws", part * len(world.rankers) + number)
    x, s = np.repeat(who.context[rows], draws), np.repeat(who.set[rows], draws)
    if plan.given == "context":
        s = choose(rng.random(len(x)), ranker.chance, x)
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
    return SharedRows.of(
        pool.sum(axis=1), item=item.astype(np.int32), rating=grade.astype(np.int32)
    )


def judgment_parts(plan: SamplePlan) -> TableParts:
    """The judgments of the users who came, some users at a time."""
    user, first = np.unique(plan.who.user, return_index=True)
    context, grades = plan.who.context[first], judged_cells(plan.world)

    def part(number: int) -> pl.DataFrame:
        some = slice(number * JUDGES, (number + 1) * JUDGES)
        rows = grades.spread(user[some].astype(np.int32), context[some])
        return rows.rename({"session": "user"})

    return TableParts(range(-(-len(user) // JUDGES)), part)
