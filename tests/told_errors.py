r"""Whether estimates err as their standard errors say, which few logs can tell.

Of an error :math:`z = (\hat v - v) / se` the mean is 0 and the mean square 1. Of :math:`n` logs the
first is known to :math:`1 / \sqrt n`, the second to :math:`\sqrt{2 / n}`. Standard errors that are
15 % too small make the second 1.38: some 120 logs show it, and a bias of half an error.
"""

from __future__ import annotations

import numpy as np


def off(z: np.ndarray) -> dict[str, tuple[float, float]]:
    """How far bias and variance are off, and two and a half Monte Carlo errors of that.

    A row for each independent log, a column for each of its estimates. The error of the mean square
    is a share of it, so that a wrong square does not hide behind its own spread.
    """
    square, n = (z**2).mean(axis=1), len(z) ** 0.5
    return {
        "bias": (abs(z.mean()), 2.5 * z.mean(axis=1).std(ddof=1) / n),
        "variance": (abs(square.mean() - 1), 2.5 * square.std(ddof=1) / square.mean() / n),
    }


def assert_told(z: np.ndarray, label: str = "") -> None:
    """Errors are as large as they are said to be, and to both sides."""
    for what, (found, most) in off(z).items():
        assert found <= most, f"{label}: {what} is off by {found:.3f}, at most {most:.3f} by chance"
