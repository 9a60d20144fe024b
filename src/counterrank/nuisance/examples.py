r"""Rows for models that need rows: clicked pairs, and those of the others that fit.

All pairs are laid out if there are at most :math:`m` of them. Otherwise :math:`m` of the :math:`N`
pairs are drawn with replacement, whatever their click, and those drawn that were not clicked weigh
:math:`N / m` beside all clicked ones, which weigh 1. So every pair counts once on average, and
whether a pair was clicked changes nothing about the other rows.
"""

from __future__ import annotations

import numpy as np

from counterrank.core.arrays import Floats, Ints
from counterrank.nuisance.base import Task


def examples(task: Task, sample: int) -> tuple[Ints, Ints, Floats, Floats]:
    """User, item, outcome and weight of the rows outside the task's fold."""
    if not task.grid:
        return task.user, task.item, task.y, task.weight
    pairs = task.users * task.items
    drawn = np.arange(pairs)
    if pairs > sample:
        drawn = np.sort(np.random.default_rng([task.seed, 23]).integers(0, pairs, sample))
    clicked = np.sort(task.user * task.items + task.item)
    place = np.minimum(np.searchsorted(clicked, drawn), max(len(clicked) - 1, 0))
    user, item = np.divmod(drawn, task.items)
    kept = task.folds.of(user, item) != task.fold
    if len(clicked):
        kept &= clicked[place] != drawn
    user, item = user[kept], item[kept]
    y = np.append(np.ones(len(clicked)), np.zeros(len(user)))
    weight = np.append(np.ones(len(clicked)), np.full(len(user), pairs / len(drawn)))
    return np.append(task.user, user), np.append(task.item, item), y, weight


def centre(y: Floats, weight: Floats) -> float:
    """The weighted share of ones, half a row from 0 and 1: where a fit starts or gives up."""
    total = float(weight.sum())
    return (float(weight @ y) + 0.5) / (total + 1)
