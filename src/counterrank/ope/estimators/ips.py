r"""Importance weighting: what was earned, weighted by how much more the target would show it.

Notation: sessions :math:`\tau`, rows :math:`i`, reward :math:`c_i`, exposure :math:`e_i` under the
target and :math:`e_{0i}` under the logger, weight :math:`w_i = e_i \min(m, 1/e_{0i})`, view
:math:`v_i` (its probability at the logged rank where views are latent).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.ope.estimators.base import Clipped, Estimator
from counterrank.ope.importance_weights import Rows, Weighted
from counterrank.stats.functions_of_means import Function, ratio, self_normalised


@dataclass(frozen=True)
class OnPolicy(Estimator):
    r""":math:`\frac1n \sum_\tau \sum_i c_i`: what the logged ranker earned (Jeunen Eq. 2)."""

    name: ClassVar[str] = "OnPolicy"
    formula: ClassVar[str] = "mean over sessions of sum_i c_i"

    def columns(self, rows: Rows) -> list[Floats]:
        return [rows.total(rows.reward)]

    def views(self, rows: Rows) -> Floats:
        return rows.total(rows.seen)


@dataclass(frozen=True)
class IPS(Clipped):
    r""":math:`\frac1n \sum_\tau \sum_i c_i w_i`: unbiased DCG (Jeunen Eqs. 8 and 9)."""

    name: ClassVar[str] = "IPS"
    formula: ClassVar[str] = "mean over sessions of sum_i c_i e_i min(clip, 1/e0_i)"

    def columns(self, rows: Weighted) -> list[Floats]:
        return [rows.total(rows.reward * rows.weight(self.clip))]


@dataclass(frozen=True)
class MeanWeight(Clipped):
    r""":math:`\sum_\tau \sum_i v_i w_i / \sum_\tau \sum_a e(x, a)`: 1 where the weights are right.

    Weighted views of the log over expected views of the target: exposures that are wrong, or that
    the log does not support, move it away from 1.
    """

    name: ClassVar[str] = "MeanWeight"
    formula: ClassVar[str] = "sum v w / sum over sessions and items of e"
    about: ClassVar[str] = "weights"

    def columns(self, rows: Weighted) -> list[Floats]:
        return [rows.weighted_views(self.clip), rows.views]

    def function(self) -> Function:
        return ratio


@dataclass(frozen=True)
class SNIPS(Clipped):
    r"""Self-normalised: :math:`\bar V \cdot \sum_\tau \sum_i c_i w_i / \sum_\tau \sum_i v_i w_i`.

    The ratio is the reward of a view under the target; :math:`\bar V`, the target's expected views
    per session, is known from its lists.
    """

    name: ClassVar[str] = "SNIPS"
    formula: ClassVar[str] = "sum c w / sum v w, times the target's expected views per session"

    def columns(self, rows: Weighted) -> list[Floats]:
        paid, nothing = rows.total(rows.reward * rows.weight(self.clip)), np.zeros(rows.n)
        return [nothing, rows.views, paid, rows.weighted_views(self.clip)]

    def function(self) -> Function:
        return self_normalised
