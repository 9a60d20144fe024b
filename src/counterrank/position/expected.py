"""Expected exposure of a stochastic ranker, from lists sampled from it."""

from __future__ import annotations

import numpy as np

from counterrank.core.arrays import Floats, Ints, summed
from counterrank.position.models import Exposure


def expected_exposure(
    lists: Ints, items: Ints, rank: Ints, draws: Ints, model: Exposure
) -> tuple[Ints, Ints, Floats]:
    r"""Mean exposure of each item over the draws of its list (Jeunen et al. 2024, Eq. 6).

    .. math:: \varepsilon(x, a) = \sum_r P(R = r \mid x, a)\, c(r)
              \approx \frac1{D_x} \sum_{d=1}^{D_x} c(r_d(x, a))

    Rows are places in sampled lists: code of the list :math:`x`, code of the item :math:`a`, its
    rank :math:`r_d` in that draw. ``draws`` is :math:`D_x` for each list code; a draw in which the
    candidate generator left the item out adds 0. Returned are lists, items and exposures of the
    distinct pairs, by list and then item.
    """
    return mean_exposure(lists, items, model.at(rank), draws)


def mean_exposure(
    lists: Ints, items: Ints, weight: Floats, draws: Ints
) -> tuple[Ints, Ints, Floats]:
    """The same for weights :math:`c(r_d)` already at hand, as a model by context gives them."""
    width = int(items.max(initial=0)) + 1
    pairs, code = np.unique(lists * width + items, return_inverse=True)
    of, item = pairs // width, pairs % width
    return of, item, summed(code, weight, len(pairs)) / draws[of]
