r"""All pairs of systems in all measures under resampled users, from sums alone.

Let :math:`w_u` say how often user :math:`u` was drawn. A pair's difference is
:math:`D = \sum_u w_u d_u`, and its variance under random signs :math:`Q = \sum_u w_u d_u^2`. Both
follow from the systems' values :math:`x_a` and their products :math:`x_a x_b`, so one product of
weights and columns serves all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats, summable
from counterrank.core.parallel import Progress, quiet
from counterrank.data.ids import hash_ids
from counterrank.stats.compare import Plan
from counterrank.stats.draws import POISSON, Draws, resample
from counterrank.stats.permutation import Keep, at_once

BLOCK = 250  # resamples in a piece of work


def all_pairs(systems: int) -> list[tuple[int, int]]:
    """Every pair, the later system first, as in an evaluation."""
    return [(b, a) for a, b in combinations(range(systems), 2)]


def resample_users(
    units: pl.Series,
    columns: Sequence[Floats],
    reduce: Callable[[list[Floats]], Floats],
    plan: Plan,
    *,
    progress: Progress = quiet,
    keep: Keep = at_once,
) -> Floats:
    """``reduce`` of each resample's sums (one array per measure, draws x columns), all draws.

    A user's weights depend on seed and id alone. Sums are those of as many users as there are,
    however many a resample has. They are exact before that, so the number of threads changes
    nothing.
    """
    largest = len(POISSON) - 1  # weight
    exact = [summable(c, largest * float(np.abs(c).sum(axis=0).max())) for c in columns]
    matrix = np.hstack([np.ones((len(units), 1)), *exact])
    cuts = np.cumsum([c.shape[1] for c in columns])[:-1]
    ids, draws = hash_ids(units), Draws(plan.resamples, 0, plan.seed)

    def block(start: int) -> Floats:
        wanted = range(start, min(start + BLOCK, plan.resamples))
        sums = resample(matrix, ids, draws, wanted)
        share = len(units) / np.maximum(sums[:, :1], 1)
        return reduce(np.split(sums[:, 1:] * share, cuts, axis=1))

    steps = progress(range(0, plan.resamples, BLOCK), "resampling users")
    return np.concatenate([keep(f"users-{b}", lambda b=b: block(b)) for b in steps])  # type: ignore[misc]


def products(x: Floats) -> Floats:
    """Columns of one measure (units x systems): each system, then each product of two.

    Values are centred by unit, which changes no difference.
    """
    x = x - x.mean(axis=1, keepdims=True)
    a, b = np.triu_indices(x.shape[1])
    return np.hstack([x, x[:, a] * x[:, b]])


def differences_of_sums(sums: Floats, systems: int) -> tuple[Floats, Floats]:
    """:math:`D` and :math:`Q` of every pair (draws x pairs) from the sums of ``products``."""
    left, right = np.array(all_pairs(systems)).T
    a, b = np.triu_indices(systems)
    place = np.zeros((systems, systems), np.int64)
    place[a, b] = place[b, a] = systems + np.arange(len(a))
    square = sums[:, place[left, left]] + sums[:, place[right, right]]
    square -= 2 * sums[:, place[left, right]]
    return sums[:, left] - sums[:, right], np.maximum(square, 0)
