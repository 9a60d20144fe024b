"""What an item of a given rating is worth."""

from __future__ import annotations

import numpy as np

from counterrank.arrays import Floats

GAINS = ("linear", "exp", "binary")


def gain(rating: Floats, kind: str, rel: float) -> Floats:
    r"""The rating itself, :math:`2^{r} - 1`, or 1 from ``rel`` on.

    Negative ratings mean "not judged" and gain nothing.
    """
    if kind == "binary":
        return (rating >= rel).astype(float)
    positive = np.maximum(rating, 0)
    return positive if kind == "linear" else np.exp2(positive) - 1
