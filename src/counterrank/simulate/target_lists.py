"""What each ranker would have shown in every session, as runs keyed by session."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.core.arrays import AnyInts, Ints, ranges
from counterrank.simulate.choices import chosen, stream
from counterrank.simulate.rankers import Ranker
from counterrank.simulate.sessions import SimulatedSessions
from counterrank.simulate.world import World

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
