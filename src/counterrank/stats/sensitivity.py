r"""How far hidden causes could move a value: the marginal sensitivity model (Tan 2006).

The logger may have known more than its logged chance :math:`e_0` of a row says: something hidden
that makes the row likelier and the reward larger. For an odds factor :math:`\Gamma \ge 1` its true
chance :math:`e_0^*` is such that

.. math:: \frac1\Gamma \le \frac{e_0^* / (1 - e_0^*)}{e_0 / (1 - e_0)} \le \Gamma
          \quad\Leftrightarrow\quad
          \frac1{e_0^*} = 1 + \lambda k, \quad k = \frac1{e_0} - 1, \quad
          \frac1\Gamma \le \lambda \le \Gamma

For any prediction :math:`q` of the reward of a view that knows nothing hidden, the true value is
that of the log's chances plus the mean over sessions of :math:`\sum_i (\lambda_i - 1) s_i`, with
the **swing** :math:`s_i = e_i k_i (c_i - v_i q_i)` of a row. The worst :math:`\lambda_i` is
:math:`1/\Gamma` or :math:`\Gamma`, by the sign of :math:`s_i` alone (Zhao, Small and Bhattacharya
2019). So with :math:`P` and :math:`N` the means over sessions of :math:`\sum_i s_i^+` and
:math:`\sum_i s_i^-`, the value :math:`V` lies between

.. math:: V - (1 - 1/\Gamma) P - (\Gamma - 1) N \quad\text{and}\quad
          V + (\Gamma - 1) P + (1 - 1/\Gamma) N

:math:`P` and :math:`N` are plain sums, the same for every :math:`\Gamma`: they merge over
partitions. Of two rankers' difference the swing is the difference of their swings, row by row.
Every :math:`q` gives a bound that holds, :math:`q = 0` (IPS) among them; the sharpest is the
quantile :math:`\Gamma / (1 + \Gamma)` of the reward (Dorn and Guo 2023), which is 0 for rewards
that are rarer than :math:`1 / (1 + \Gamma)`. Of several :math:`q` the nearest bound is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.stats.estimates import Estimate

MOST = 1000.0  # an odds factor beyond which none is sought
GAMMAS = np.exp(np.linspace(0.0, np.log(MOST), 101))  # between which a bound turns: 7 % apart
HALVINGS = 44


@dataclass(frozen=True)
class Bound:
    """The lower bound of a value by one prediction: ``means`` of value, P and N; ``covariance``."""

    means: Floats
    covariance: Floats

    @classmethod
    def of(
        cls, value: Estimate, rise: Estimate, fall: Estimate, other: Estimate | None = None
    ) -> Bound:
        """From estimates over the same units; of the difference from ``other``, if there is one."""
        three, sizes = (value, rise, fall), value.sizes
        means, psi = np.array([e.value for e in three]), np.stack([e.influence for e in three])
        if other is not None:
            means[0] -= other.value
            psi[0] -= other.influence
        return cls(means, sizes.factor / sizes.n**2 * np.einsum("ig,jg->ij", psi, psi))

    def turned(self) -> Bound:
        """That of the value with its sign turned: its lower bound is the upper one's negative."""
        way = np.array([[-1.0, 0, 0], [0, 0, 1], [0, 1, 0]])
        return Bound(way @ self.means, way @ self.covariance @ way.T)

    def shift(self, gamma: float) -> float:
        """How far below the value the bound lies."""
        return float((1 - 1 / gamma) * self.means[1] + (gamma - 1) * self.means[2])

    def end(self, gamma: float, z: float) -> float:
        """The bound, less ``z`` standard errors of it."""
        a = np.array([1.0, 1 / gamma - 1, 1 - gamma])
        return float(a @ self.means - z * np.sqrt(max(a @ self.covariance @ a, 0.0)))


def lower_end(bounds: Sequence[Bound], gamma: float, z: float) -> float:
    """The lower end at an odds factor, by the nearest of several bounds."""
    return min(bounds, key=lambda b: b.shift(gamma)).end(gamma, z)


def tipping_point(bounds: Sequence[Bound], z: float) -> float | None:
    """The smallest odds factor at which the lower end is no longer above 0.

    1 if it never was; None if not even at ``MOST``.
    """
    found = next((n for n, g in enumerate(GAMMAS) if not lower_end(bounds, g, z) > 0), None)
    if not found:
        return None if found is None else 1.0
    low, high = GAMMAS[found - 1], GAMMAS[found]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if lower_end(bounds, middle, z) > 0 else (low, middle)
    return float(high)
