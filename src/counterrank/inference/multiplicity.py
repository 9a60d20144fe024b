"""Corrections for testing many hypotheses, each on the whole family at once."""

from __future__ import annotations

import numpy as np

from counterrank.arrays import Floats

CORRECTIONS = ("none", "holm", "bh", "maxt", "tukey")


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


def tukey_hsd(values: Floats, pairs: list[tuple[int, int]]) -> Floats:
    r"""Tukey's honestly significant difference for systems measured on the same units.

    :math:`q = |\bar x_a - \bar x_b| / \sqrt{MSE / n}` against the studentised range of :math:`m`
    systems with :math:`(n-1)(m-1)` degrees of freedom; MSE is what remains after unit and system
    effects.
    """
    from scipy.stats import studentized_range

    n, m = values.shape
    if n < 2:
        return np.ones(len(pairs))
    mean = values.mean(axis=0)
    rest = values - values.mean(axis=1, keepdims=True) - mean + values.mean()
    freedom = (n - 1) * (m - 1)
    mse = np.sum(rest**2) / freedom
    difference = np.array([abs(mean[a] - mean[b]) for a, b in pairs])
    if mse == 0:
        return np.where(difference > 0, 1e-12, 1.0)
    # Beyond some 10,000 degrees of freedom the quantiles no longer change, but SciPy slows down;
    # below 1e-12 its integral is rounding, and no p is 0.
    p = studentized_range.sf(difference / np.sqrt(mse / n), m, min(freedom, 10_000))
    return np.array([min(max(float(x), 1e-12), 1.0) for x in p])


def _stepwise(p: Floats, step) -> Floats:  # type: ignore[no-untyped-def]
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    out = np.full(len(p), np.nan)
    out[order] = np.minimum(1, step(p[order], len(order)))
    return out
