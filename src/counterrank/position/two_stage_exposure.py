"""How likely an item is seen where a candidate generator and a ranker draw lists by chance."""

from __future__ import annotations

import numpy as np

from counterrank.core.arrays import Floats, Ints, sum_by


def expected_exposure(
    lists: Ints, items: Ints, weight: Floats, draws: Ints
) -> tuple[Ints, Ints, Floats]:
    r"""Mean exposure of each item over the draws of its list (Jeunen et al. 2024, Eq. 6).

    .. math:: \varepsilon(x, a) = \sum_r P(R = r \mid x, a)\, c(r)
              \approx \frac1{D_x} \sum_{d=1}^{D_x} c(r_d(x, a))

    Rows are places in sampled lists: code of the list :math:`x`, code of the item :math:`a`, the
    ``weight`` :math:`c(r_d)` of its rank in that draw. ``draws`` is :math:`D_x` for each list code;
    a draw in which the candidate generator left the item out adds 0. Returned are lists, items and
    exposures of the distinct pairs, by list and then item.
    """
    width = int(items.max(initial=0)) + 1
    pairs, code = np.unique(lists * width + items, return_inverse=True)
    of, item = pairs // width, pairs % width
    return of, item, sum_by(code, weight, len(pairs)) / draws[of]
