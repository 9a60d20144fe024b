"""What an item of a given rating is worth."""

from __future__ import annotations

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.core.errors import UsageError
from counterrank.matching.hits import Pool

GAINS = ("linear", "exp", "binary")
LARGEST = 1000  # 2 to the power of a rating beyond this is no number
POWERS = np.exp2(np.arange(LARGEST + 1)) - 1


def gain(rating: Floats, kind: str, rel: float) -> Floats:
    r"""The rating itself, :math:`2^{r} - 1`, or 1 from ``rel`` on.

    Negative ratings mean "not judged" and gain nothing.
    """
    if kind == "binary":
        return (rating >= rel).astype(float)
    positive = np.maximum(rating, 0)
    if kind == "linear":
        return positive
    grade = positive.astype(np.int64)
    if np.array_equal(grade, positive):  # whole grades: look the power up
        powers: Floats = POWERS[grade]
        return powers
    return np.exp2(positive) - 1


def refuse_overflow(measure: object, pool: Pool) -> None:
    """Exponential gains are for grades, not for counts or seconds."""
    if pool.top > LARGEST:
        raise UsageError(
            f"{measure} raises 2 to the power of ratings.",
            found=f"The greatest rating is {pool.top:g}.",
            todo="Use gain=linear, or map the ratings to grades.",
        )
