r"""Estimators of conversions (Saito 2020). Those of logs serve again: a click is a view.

For a listed pair: click :math:`z`, conversion :math:`y`, ctr :math:`p`, predicted cvr :math:`h`,
weight of the rank :math:`c`. IPS, SNIPS, DM, DR and SNDR are those of `counterrank.ope`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from counterrank.arrays import Floats
from counterrank.conversions.variance import VarianceRatio
from counterrank.errors import UsageError
from counterrank.ope.estimators.base import Estimator
from counterrank.ope.estimators.doubly_robust import DM, DR, SNDR
from counterrank.ope.estimators.ips import IPS, SNIPS, MeanWeight
from counterrank.ope.estimators.registry import estimator
from counterrank.ope.weighted import Weighted

CTR = (IPS, SNIPS, DR, SNDR, MeanWeight)  # what divides by ctr


@dataclass(frozen=True)
class Naive(Estimator):
    r""":math:`\frac1{|U|} \sum_u \sum_i z y c`: what was not clicked counts as not wanted."""

    name: ClassVar[str] = "Naive"
    formula: ClassVar[str] = "1/|U| sum z y c"

    def columns(self, rows: Weighted) -> list[Floats]:
        return [rows.total(rows.reward * rows.e)]


OfClicks = Naive | IPS | SNIPS | DM | DR | SNDR | MeanWeight | VarianceRatio
KINDS = (Naive, IPS, SNIPS, DM, DR, SNDR)
DEFAULTS = ("Naive", "IPS", "SNIPS", "DR")
FORMULAS = {
    "Naive": "1/|U| sum z y c",
    "IPS": "1/|U| sum z y c min(clip, 1/ctr)",
    "SNIPS": "(sum z y c w / sum z c w) * sum c / |U|, w = min(clip, 1/ctr)",
    "DM": "1/|U| sum h c",
    "DR": "1/|U| sum (h + z (y - h) w) c, w = min(clip, 1/ctr)",
    "SNDR": "DM + (sum z (y - h) c w / sum z c w) * sum c / |U|, w = min(clip, 1/ctr)",
}


def conversion_estimator(label: str | Estimator) -> OfClicks:
    """The estimator a label stands for; case does not matter."""
    known: dict[str, type[Estimator]] = {kind.name: kind for kind in KINDS}
    found = estimator(label, known)
    if not isinstance(found, KINDS):
        raise UsageError(f"{found} is not an estimator of conversions.")
    return found
