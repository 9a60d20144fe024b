r"""Kendall's :math:`\tau_b` of one order of systems with many others at once."""

from __future__ import annotations

import numpy as np

from counterrank.arrays import Floats

SAME = 1e-12  # share of the largest value below which a difference is rounding


def taus(full: Floats, reduced: Floats) -> Floats:
    r""":math:`\tau_b` of ``full`` with ``reduced``, over the last axis (the systems).

    .. math:: \tau_b = \frac{\sum_{i<j} a_{ij} b_{ij}}{\sqrt{\sum a_{ij}^2 \sum b_{ij}^2}}

    :math:`a_{ij}` and :math:`b_{ij}` are the signs of the difference of systems i and j. Where one
    side sees no difference at all it says nothing of the order, and tau is 0.
    """
    a, b = _signs(full), _signs(reduced)
    top: Floats = (a * b).sum(axis=-1)
    pairs = (a * a).sum(axis=-1) * (b * b).sum(axis=-1)
    tau: Floats = np.divide(top, np.sqrt(pairs), out=np.zeros(top.shape), where=pairs > 0)
    return tau


def _signs(x: Floats) -> Floats:
    """Sign of the difference of every pair; 0 where the values differ by rounding only.

    A system without a value is neither before nor behind any other.
    """
    one, other = np.triu_indices(x.shape[-1], 1)
    difference = x[..., one] - x[..., other]
    rounding = SAME * np.abs(np.nan_to_num(x, nan=0.0)).max(axis=-1, keepdims=True)
    signs: Floats = np.where(np.abs(difference) > rounding, np.sign(difference), 0.0)
    return signs
