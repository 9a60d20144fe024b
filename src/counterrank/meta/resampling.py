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

from counterrank.arrays import Floats, summable
from counterrank.inference import Keep, at_once, weights
from counterrank.progress import Progress, quiet

BLOCK = 100  # resamples in a piece of work


def all_pairs(systems: int) -> list[tuple[int, int]]:
    """Every pair, the later system first, as in an evaluation."""
    return [(b, a) for a, b in combinations(range(systems), 2)]


def under_resampling(
    columns: Sequence[Floats],
    reduce: Callable[[list[Floats]], Floats],
    *,
    resamples: int,
    seed: int,
    progress: Progress = quiet,
    keep: Keep = at_once,
) -> Floats:
    """``reduce`` of each resample's sums (one array per measure, draws x columns), all draws.

    A block of draws has a random stream of its own, so it is the same whichever blocks were kept.
    Sums are exact, so they do not depend on the number of threads.
    """
    matrix = np.hstack(columns)
    matrix = summable(matrix, len(matrix) * float(np.abs(matrix).max()))
    cuts = np.cumsum([c.shape[1] for c in columns])[:-1]

    def block(start: int) -> Floats:
        rng = np.random.default_rng([seed, start])
        drawn = weights(rng, min(BLOCK, resamples - start), len(matrix))
        return reduce(np.split(drawn @ matrix, cuts, axis=1))

    steps = progress(range(0, resamples, BLOCK), "resampling users")
    return np.concatenate([keep(f"users-{b}", lambda b=b: block(b)) for b in steps])  # type: ignore[misc]


def products(x: Floats) -> Floats:
    """Columns of one measure (units x systems): each system, then each product of two.

    Values are centred by unit, which changes no difference.
    """
    x = x - x.mean(axis=1, keepdims=True)
    a, b = np.triu_indices(x.shape[1])
    return np.hstack([x, x[:, a] * x[:, b]])


def differences(sums: Floats, systems: int) -> tuple[Floats, Floats]:
    """:math:`D` and :math:`Q` of every pair (draws x pairs) from the sums of ``products``."""
    left, right = np.array(all_pairs(systems)).T
    a, b = np.triu_indices(systems)
    place = np.zeros((systems, systems), np.int64)
    place[a, b] = place[b, a] = systems + np.arange(len(a))
    square = sums[:, place[left, left]] + sums[:, place[right, right]]
    square -= 2 * sums[:, place[left, right]]
    return sums[:, left] - sums[:, right], np.maximum(square, 0)
