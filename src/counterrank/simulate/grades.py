"""What users think of the items that may be shown to them: true quality, graded."""

from __future__ import annotations

import numpy as np
import polars as pl

from counterrank.core.arrays import Ints
from counterrank.simulate.sessions import SimulatedSessions
from counterrank.simulate.target_lists import SharedRows
from counterrank.simulate.world import World

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
