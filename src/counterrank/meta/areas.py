r"""One number per measure: the area under its curve of tau, with its Monte Carlo error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats
from counterrank.meta.robustness import Track


@dataclass(frozen=True)
class Area:
    """Mean of tau over the sizes from the smallest to the largest, and its Monte Carlo error."""

    value: float
    se: float


def areas(tracks: Sequence[Track], contrast: Floats) -> Area:
    r"""A combination of the measures' areas, averaged over kinds of loss.

    .. math:: A = \frac{1}{K} \sum_k \sum_s v_s \sum_m b_m \bar\tau_{kms}

    :math:`v_s` are the weights of the trapezoid rule over sizes :math:`s`, divided by their sum;
    :math:`b` is ``contrast``: a single 1 for the area of one measure, 1 and -1 for a difference.
    All measures see the same samples, so their differences are paired: the error follows from
    :math:`\sum_m b_m \tau_{kms}` of each sample.
    """
    mean, variance = 0.0, 0.0
    for track in tracks:
        for weight, tau in zip(trapezoid(track.sizes), track.tau, strict=True):
            each = contrast @ tau
            mean += float(weight * each.mean()) / len(tracks)
            if len(each) > 1:
                spread = float(each.var(ddof=1)) / len(each)
                variance += (weight / len(tracks)) ** 2 * spread
    return Area(float(mean), float(np.sqrt(variance)))


def one(place: int, measures: int) -> Floats:
    """The contrast that picks one measure."""
    picked: Floats = np.eye(measures)[place]
    return picked


def trapezoid(sizes: Sequence[float]) -> Floats:
    """Weights of the trapezoid rule, divided by their sum; sizes in any order."""
    order = np.argsort(sizes)
    x = np.asarray(sizes, float)[order]
    weight = np.ones(len(x))
    if len(x) > 1:
        step = np.diff(x)
        weight = (np.append(step, 0) + np.append(0, step)) / 2
    out = np.empty(len(x))
    out[order] = weight / weight.sum()
    return out
