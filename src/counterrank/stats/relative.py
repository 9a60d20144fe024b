"""How far estimates are from the truth, in shares of the truth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from counterrank.core.errors import InputError


def relative_rmse(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    r""":math:`\sqrt{\frac1n \sum_i ((\hat v_i - v_i) / v_i)^2}` over systems :math:`i`."""
    v, guess = np.asarray(truth, float), np.asarray(estimate, float)
    if v.shape != guess.shape or v.size == 0:
        raise InputError(
            "Truth and estimates must be as many, and at least one.",
            found=f"{v.size} and {guess.size}.",
        )
    if np.any(v == 0):
        raise InputError(
            "A relative error needs truths other than 0.",
            found=f"Found {int(np.sum(v == 0))} (first: place {int(np.flatnonzero(v == 0)[0])}).",
            todo="Leave out systems that earn nothing.",
        )
    return float(np.sqrt(np.mean(((guess - v) / v) ** 2)))
