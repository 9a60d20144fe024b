"""How unevenly things are shared out: Gini's index of counts."""

from __future__ import annotations

import numpy as np

from counterrank.core.arrays import AnyInts


def gini_index(count: AnyInts, times: AnyInts) -> float:
    r"""0 where all have equally many, towards 1 where one has all.

    .. math:: G = \frac{2 \sum_{k=1}^n k\, x_{(k)}}{n \sum_k x_k} - \frac{n + 1}{n}

    with :math:`x_{(k)}` the counts of :math:`n` things, the smallest first. They are given as
    different counts and how many things have each: places :math:`c + 1` to :math:`c + t` of equal
    counts add up to :math:`t c + t (t + 1) / 2`.
    """
    order = np.argsort(count)
    x, t = np.asarray(count, float)[order], np.asarray(times, float)[order]
    n, before = t.sum(), np.cumsum(t) - t
    places = t * before + t * (t + 1) / 2
    return float(2 * (x * places).sum() / (n * (x * t).sum()) - (n + 1) / n)
