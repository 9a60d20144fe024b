r"""DCG as it is usually computed from logs, for comparison with the unbiased one (Jeunen Table 2).

The label :math:`l_i` is the raw reward :math:`c_i` or the de-biased :math:`c_i \min(m, 1/e_{0i})`;
the discount :math:`d(r)` of the target's rank is logarithmic or the learned position model. Learned
and de-biased, DCG is IPS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arguments import one_of
from counterrank.core.arrays import Floats, Ints
from counterrank.metrics.dcg import DCG, nDCG, pnDCG
from counterrank.ope.estimators.clipped_weight import Rows
from counterrank.ope.estimators.ips import Clipped
from counterrank.stats.functions_of_means import Function, ratio


@dataclass(frozen=True)
class LoggedDCG(Clipped):
    r""":math:`\frac1n \sum_\tau \sum_i l_i\, d(r_i)`."""

    discount: str = "log2"
    label: str = "raw"
    name = DCG.name
    formula = "mean over sessions of sum_i label_i d(target rank of i)"
    needs = frozenset({"lists"})
    tables = ("log",)
    total = "no"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(f"{self.name}(discount=...)", self.discount, ("log2", "learnt"))
        one_of(f"{self.name}(label=...)", self.label, ("raw", "debiased"))

    def columns(self, rows: Rows) -> list[Floats]:
        return [self.gained(rows)]

    def labels(self, rows: Rows) -> Floats:
        """The gain of each row."""
        if self.label == "raw":
            return rows.reward
        return rows.reward * rows.inverse(self.clip)

    def gained(self, rows: Rows) -> Floats:
        """DCG of each session's target list."""
        if self.discount == "learnt":
            return rows.total(self.labels(rows) * rows.e)
        return rows.total(self.labels(rows) * _discount(rows.target_rank))

    def ideal(self, rows: Rows) -> Floats:
        """DCG of each session's rows in the best order: largest labels first."""
        session, label = rows.session, self.labels(rows)
        falling = label[np.lexsort((-label, session))]
        place = np.arange(len(label)) - rows.start[session] + 1
        return rows.total(falling * (rows.place if self.discount == "learnt" else _discount(place)))


@dataclass(frozen=True)
class LoggedNDCG(LoggedDCG):
    r""":math:`\frac1n \sum_\tau DCG_\tau / IDCG_\tau`; 0 where nothing was earned."""

    name = nDCG.name
    formula = "mean over sessions of DCG / ideal DCG of the same labels"

    def columns(self, rows: Rows) -> list[Floats]:
        ideal = self.ideal(rows)
        return [np.divide(self.gained(rows), ideal, out=np.zeros(rows.n), where=ideal > 0)]


@dataclass(frozen=True)
class LoggedPNDCG(LoggedDCG):
    r""":math:`\sum_\tau DCG_\tau / \sum_\tau IDCG_\tau`: normalised after averaging."""

    name = pnDCG.name
    formula = "sum over sessions of DCG / sum of ideal DCG"

    def columns(self, rows: Rows) -> list[Floats]:
        return [self.gained(rows), self.ideal(rows)]

    def function(self) -> Function:
        return ratio


def _discount(rank: Ints) -> Floats:
    """The weight of each rank in DCG; rank 0 stands for not listed."""
    model, _ = DCG().rank_weights()
    return model.at(np.maximum(rank, 1)) * (rank > 0)
