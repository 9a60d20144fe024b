r"""With a model of the reward: the direct method and its doubly robust repair.

:math:`\hat q(x, a)` predicts the reward of a view; it was learned from other users' sessions.
"""

from __future__ import annotations

from dataclasses import dataclass

from counterrank.core.arrays import Floats
from counterrank.ope.estimators.clipped_weight import Weighted
from counterrank.ope.estimators.ips import Clipped, Estimator
from counterrank.stats.functions_of_means import Function, self_normalised

MODEL = frozenset({"model", "views"})


@dataclass(frozen=True)
class DM(Estimator):
    r""":math:`\frac1n \sum_\tau \sum_a e(x, a)\, \hat q(x, a)`: as good as the model is."""

    weighs = False
    formula = "mean over sessions of sum_a e(x,a) q(x,a)"
    needs = MODEL
    fills = True

    def columns(self, rows: Weighted) -> list[Floats]:
        return [rows.direct]


@dataclass(frozen=True)
class DR(Clipped):
    r""":math:`\frac1n \sum_\tau [\sum_a e \hat q + \sum_i w_i (c_i - v_i \hat q_i)]`.

    The model's value plus the weighted error it makes on what was logged: unbiased if either the
    exposures or the model are right.
    """

    tells = True
    trust = 4
    formula = "mean over sessions of sum_a e q + sum_i w_i (c_i - v_i q_i)"
    needs = MODEL
    fills = True

    def columns(self, rows: Weighted) -> list[Floats]:
        missed = rows.reward - rows.seen * rows.q
        return [rows.direct + rows.total(missed * rows.weight(self.clip))]

    def predicted(self, rows: Weighted) -> Floats:
        return rows.q


@dataclass(frozen=True)
class SNDR(Clipped):
    r"""Doubly robust with self-normalised weights.

    .. math:: \bar D + \bar V \sum_\tau \sum_i w_i (c_i - v_i \hat q_i) / \sum_\tau \sum_i v_i w_i

    :math:`\bar D` is the direct method's value, :math:`\bar V` the target's views per session.
    """

    tells = True
    trust = 3
    formula = "DM + views per session * sum w (c - v q) / sum v w"
    needs = MODEL
    fills = True

    def columns(self, rows: Weighted) -> list[Floats]:
        missed = (rows.reward - rows.seen * rows.q) * rows.weight(self.clip)
        return [rows.direct, rows.views, rows.total(missed), rows.weighted_views(self.clip)]

    def function(self) -> Function:
        return self_normalised

    def predicted(self, rows: Weighted) -> Floats:
        return rows.q
