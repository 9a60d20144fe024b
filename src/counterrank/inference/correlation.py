"""Do two measures order systems alike? Kendall's tau-b and the rate of inverted pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def kendall(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    r"""Kendall's :math:`\tau_b`: concordant minus discordant pairs, corrected for ties."""
    from scipy.stats import kendalltau

    return float(kendalltau(np.asarray(x, float), np.asarray(y, float)).statistic)


def inversion_rate(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    r"""Share of pairs that ``x`` and ``y`` order differently.

    Pairs equal in both are left out; equal in ``x`` only counts as a disagreement; equal in ``y``
    only as an agreement. Without ties it is :math:`(1 - \tau) / 2`.
    """
    dx = np.sign(np.subtract.outer(np.asarray(x, float), np.asarray(x, float)))
    dy = np.sign(np.subtract.outer(np.asarray(y, float), np.asarray(y, float)))
    counted = (dx != 0) | (dy != 0)
    agree = (dx != 0) & ((dx == dy) | (dy == 0))
    return float(1 - agree.sum() / counted.sum()) if counted.any() else 0.0
