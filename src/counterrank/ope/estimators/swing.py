r"""What hidden causes could move: the swing of a row, whose signs are summed apart.

See `counterrank.stats.sensitivity`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.ope.estimators.clipped_weight import Rows, Weighted
from counterrank.ope.estimators.ips import Clipped, Estimator


@dataclass(frozen=True)
class Swing(Clipped):
    r""":math:`\frac1n \sum_\tau \sum_i s_i^\pm`, the swing of ``rises`` or of ``falls``.

    .. math:: s_i = e_i k_i (c_i - v_i q_i), \quad k_i = \min(m, 1 / e_{0i}) - 1

    :math:`q` is ``nothing`` or the ``model``'s. ``versus`` the ``baseline`` it is what is left of
    :math:`s_i` less the baseline's. A clip :math:`m` of the weights bounds what they could be.
    """

    part: str = "rises"
    q: str = "nothing"
    versus: str = "nobody"
    about = "swing"

    def columns(self, rows: Rows) -> list[Floats]:
        s = self.of(rows)
        if self.versus == "baseline" and rows.other is not None:
            s = s - self.of(rows.other)
        return [rows.total(self.signed(s))]

    def of(self, rows: Weighted) -> Floats:
        """The swing of each row."""
        k = np.maximum(rows.inverse(self.clip) - 1, 0.0)
        missed = rows.reward - rows.seen * rows.q if self.q == "model" else rows.reward
        swing: Floats = rows.e * k * missed
        return swing

    def signed(self, s: Floats) -> Floats:
        """What of some swings is of this part."""
        return np.maximum(s if self.part == "rises" else -s, 0.0)


def swings_of(e: Estimator, versus: str = "nobody") -> list[tuple[Swing, Swing]]:
    """What rises and falls of an estimator's value, by each prediction that bounds it.

    None where it multiplies weights, or rests on a model alone.
    """
    if not isinstance(e, Clipped) or e.name not in ("IPS", "IIPS", "SNIPS", "DR", "SNDR"):
        return []
    by = ("nothing", "model") if "model" in e.needs else ("nothing",)
    return [(Swing(e.clip, "rises", q, versus), Swing(e.clip, "falls", q, versus)) for q in by]
