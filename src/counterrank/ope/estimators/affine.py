r"""Trust bias taken out and put in again: the affine correction (Vardasbi et al. 2020).

Readers take what stands higher for better. A view of item :math:`a` at rank :math:`r` earns

.. math:: E[c \mid v = 1, a, r] = \epsilon^-_r + (\epsilon^+_r - \epsilon^-_r)\, \gamma_a

with the chance :math:`\epsilon^+_r` of a click on what is relevant, :math:`\epsilon^-_r` on what is
not, and relevance :math:`\gamma` (Agarwal et al. 2019). No weight mends that: it is affine, not a
factor.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from counterrank.core.arrays import Floats, Ints
from counterrank.core.errors import UsageError
from counterrank.ope.estimators.clipped_weight import Rows
from counterrank.ope.estimators.ips import Clipped
from counterrank.position.models import Flat, PositionModel, WeightTable

DEEPEST = 1000  # ranks at which the two chances are compared


@dataclass(frozen=True)
class Affine(Clipped):
    r"""IPS of rewards as they would be at the target's rank.

    .. math:: \frac1n \sum_\tau \sum_i w_i \left[ v_i\, \epsilon^-_{\rho_i}
              + \frac{\delta_{\rho_i}}{\delta_{r_i}} (c_i - v_i\, \epsilon^-_{r_i}) \right],
              \qquad \delta_r = \epsilon^+_r - \epsilon^-_r

    with the logged rank :math:`r` and the target's :math:`\rho`. ``plus`` and ``minus`` are
    :math:`\epsilon^+` and :math:`\epsilon^-` by rank, written like position models:
    ``Affine(plus=table(0.98,0.97),minus=table(0.6,0.3))``. Only :math:`\delta_\rho / \delta_r` and
    the shift between ranks matter: what a view earns at one rank is a line of what it earns at
    another. Without them, it is IPS. The last value of a table holds for all ranks below.
    """

    plus: PositionModel = field(default=Flat())
    minus: PositionModel = field(default=WeightTable(weights=(0.0,)))
    tables = ("log",)
    formula = "mean of sum_i w_i [v_i m(rho) + d(rho)/d(r) (c_i - v_i m(r))]"
    needs = frozenset({"lists", "views"})

    def __post_init__(self) -> None:
        super().__post_init__()
        span = self.at_rank(np.arange(1, DEEPEST + 1))[1]
        if not span.min() > 0:
            raise UsageError(
                f"{self.name}(plus=...,minus=...) needs plus above minus at every rank.",
                found=f"At rank {int(span.argmin()) + 1} it is not.",
            )

    def at_rank(self, rank: Ints) -> tuple[Floats, Floats]:
        r""":math:`\epsilon^-` and :math:`\delta` of ranks."""
        low, high = _held(self.minus, rank), _held(self.plus, rank)
        return low, high - low

    def columns(self, rows: Rows) -> list[Floats]:
        (low, span), (there, wide) = map(self.at_rank, (rows.rank, np.maximum(rows.target_rank, 1)))
        moved = rows.seen * there + wide / span * (rows.reward - rows.seen * low)
        return [rows.total(moved * rows.weight(self.clip))]


def _held(model: PositionModel, rank: Ints) -> Floats:
    """The model at some ranks; the last value of a table holds below it."""
    if isinstance(model, WeightTable):
        rank = np.minimum(rank, len(model.weights))
    return model.at(rank)
