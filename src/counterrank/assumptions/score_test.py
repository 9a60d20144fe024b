r"""The statistics behind the audits: fit what the assumptions allow, and look at what is left.

Under the assumptions :math:`E[y_i] = w_i\, q_{g(i)}\, \kappa_{r(i)}` with a view or its chance
:math:`w`, a quality :math:`q` of each group of comparable rows and a factor :math:`\kappa` of each
rank. If something else, :math:`z_i`, plays no part, then :math:`\sum_i (y_i - \hat y_i) z_i` is 0
up to noise. That is the score test of a Poisson regression; its noise is measured between users.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterrank.core.arrays import Floats, Ints, sum_by

SURE = 3.3  # standard errors; chance alone goes further about once in 1,000 audits
ROUNDS = 6


@dataclass(frozen=True)
class Effect:
    """An effect and its standard error."""

    size: float
    se: float

    @property
    def z(self) -> float:
        """Standard errors away from nothing."""
        return self.size / self.se if self.se > 0 else 0.0

    @property
    def visible(self) -> float:
        """The effect that would have been noticed four times out of five."""
        return (SURE + 0.84) * self.se

    def verdict(self, caution: float, fail: float) -> str:
        """Loud if it is there beyond chance and large enough to matter."""
        size = abs(self.size)
        if abs(self.z) < SURE or size < caution:
            return "pass"
        return "fail" if size >= fail else "caution"


class Fit(NamedTuple):
    """Fitted rewards and what is left of the reward."""

    expected: Floats
    left: Floats


def fit_product(y: Floats, w: Floats, group: Ints, rank: Ints | None = None) -> Fit:
    r"""Fit :math:`\hat y = w\, q_g\, \kappa_r`, in turns until sums over groups and ranks agree.

    Without ``rank`` all :math:`\kappa` are 1 and :math:`q_g = \sum y / \sum w`.
    """
    groups = int(group.max()) + 1
    total = sum_by(group, y, groups)
    expected = w * positive_ratio(total, sum_by(group, w, groups))[group]
    if rank is None:
        return Fit(expected, y - expected)
    ranks = int(rank.max()) + 1
    wanted = sum_by(rank, y, ranks)
    for _ in range(ROUNDS):
        expected *= positive_ratio(wanted, sum_by(rank, expected, ranks))[rank]
        expected *= positive_ratio(total, sum_by(group, expected, groups))[group]
    return Fit(expected, y - expected)


def remove_means(z: Floats, weight: Floats, *groups: Ints) -> Floats:
    """``z`` less its weighted means by each grouping, in turns."""
    z = z.copy()
    for _ in range(ROUNDS if len(groups) > 1 else 1):
        for group in groups:
            size = int(group.max()) + 1
            z -= positive_ratio(sum_by(group, weight * z, size), sum_by(group, weight, size))[group]
    return z


def effect(
    left: Floats, weight: Floats, z: Floats, cluster: Ints, contrast: tuple[float, ...] = (1.0,)
) -> Effect:
    r"""A contrast :math:`a^\top \hat\beta` of the slopes on the columns of ``z``.

    .. math:: \hat\beta = H^{-1} \sum_i e_i z_i, \quad H = \sum_i \omega_i z_i z_i^\top, \quad
              \operatorname{var} = H^{-1} \Big(\sum_u s_u s_u^\top\Big) H^{-1}, \quad
              s_u = \sum_{i \in u} e_i z_i

    with what is left :math:`e`, weights :math:`\omega` (the fitted rewards) and users :math:`u`.
    """
    z = z.reshape(len(left), -1)
    a = np.asarray(contrast)
    inverse = np.linalg.pinv((z * weight[:, None]).T @ z, rcond=1e-10)
    users = int(cluster.max()) + 1
    scores = np.stack([sum_by(cluster, left * column, users) for column in z.T], axis=1)
    variance = a @ inverse @ (scores.T @ scores) @ inverse @ a
    return Effect(float(a @ inverse @ scores.sum(axis=0)), math.sqrt(max(float(variance), 0.0)))


def positive_ratio(top: Floats, bottom: Floats) -> Floats:
    """Quotients, 0 where there is nothing to divide by."""
    out: Floats = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
    return out
