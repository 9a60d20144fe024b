"""Corrections for testing many hypotheses, each on the whole family at once."""

from __future__ import annotations

import numpy as np

from counterrank.core.arrays import Floats

CORRECTIONS = ("none", "holm", "bh", "maxt")


def holm(p: Floats) -> Floats:
    r"""Holm's step-down: :math:`\tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})`.

    Missing p-values stay missing and do not count towards :math:`m`.
    """
    return _stepwise(p, lambda ordered, m: np.maximum.accumulate(ordered * (m - np.arange(m))))


def benjamini_hochberg(p: Floats) -> Floats:
    r"""False discovery rate: :math:`\tilde p_{(i)} = \min_{j \ge i} \min(1, m\, p_{(j)} / j)`."""
    return _stepwise(
        p,
        lambda ordered, m: np.minimum.accumulate((ordered * m / (1 + np.arange(m)))[::-1])[::-1],
    )


def _stepwise(p: Floats, step) -> Floats:  # type: ignore[no-untyped-def]
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    out = np.full(len(p), np.nan)
    out[order] = np.minimum(1, step(p[order], len(order)))
    return out
