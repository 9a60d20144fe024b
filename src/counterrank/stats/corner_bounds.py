r"""The second interval: the union over corners of what assumptions may do to a value.

Each assumption shifts a value :math:`V` by :math:`d_j`, if it is broken as the log says. A corner
:math:`A` takes some as broken and others not. The interval is the smallest lower and the largest
upper end of

.. math:: V + A d \mp z \sqrt{\sigma_V^2 + 2 A\, \operatorname{cov}(d, V) + A \Sigma_d A^\top}

over all corners. If the truth is one of them, its own interval lies inside the union, so nothing
need be corrected for their number; between two corners the value is linear and its error convex.
Shifts may come from a sample of the units: with influences :math:`\psi` and sizes :math:`n` of all,
:math:`n_s` of the sample, :math:`\operatorname{cov}(d, V) = \sum_{u \in s} \psi_d \psi_V / (n
n_s)` and :math:`\Sigma_d = \sum_{u \in s} \psi_d \psi_d^\top / n_s^2`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.core.errors import InputError
from counterrank.stats.estimates import Estimate
from counterrank.stats.functions_of_means import Range
from counterrank.stats.units import Key

LEAST = 1.96  # standard errors on either side: 1.645 would leave 5 % on one


@dataclass(frozen=True, eq=False)
class Shifts:
    """Shifts of one system's value, their influences (shifts x clusters), and more variance."""

    value: Floats
    psi: Floats
    extra: Floats

    def __sub__(self, other: Shifts) -> Shifts:
        return Shifts(self.value - other.value, self.psi - other.psi, self.extra + other.extra)

    def times(self, factor: float) -> Shifts:
        """The same on another scale."""
        return Shifts(factor * self.value, factor * self.psi, factor**2 * self.extra)


class Ends(NamedTuple):
    """Both ends of a difference, and of the lift."""

    low: float
    high: float
    lift_low: float
    lift_high: float


@dataclass(frozen=True, eq=False)
class CornerBounds:
    """``corners`` (corners x shifts), the ``shifts`` of each key, and the sample's influences.

    ``own`` are those of each key's value, by cluster of the sample of ``n`` units. A key without
    shifts rests on no assumption. ``remedies`` say which shifts would be told, had more been
    logged.
    """

    corners: Floats
    shifts: Mapping[Key, Shifts]
    own: Mapping[Key, Floats]
    n: int
    remedies: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether it is a corner that all assumptions hold."""
        return bool((self.corners == 0).all(axis=1).any())

    def without(self, shifts: Sequence[int]) -> CornerBounds:
        """The corners if some shifts were known to be none."""
        corners = self.corners.copy()
        corners[:, list(shifts)] = 0
        return replace(self, corners=np.unique(corners, axis=0))

    def value(self, key: Key, e: Estimate, width: float) -> Range | None:
        """The second interval of a value."""
        if key not in self.shifts:
            return None
        d = self.shifts[key]
        error = self._error(e.se**2, self._across(d, self.own[key], e), self._within(d, e))
        middle, half = e.value + self.corners @ d.value, max(width, LEAST) * error
        return _ends(middle - half, middle + half, e.bias, e.se)

    def difference(self, a: Key, b: Key, one: Estimate, other: Estimate, width: float) -> Ends:
        r"""The second intervals of a difference and of the lift.

        At each corner the lift is in Fieller's interval of :math:`D + A d` over :math:`B + A d_b`.
        What is no sum of rewards, as nDCG, has none.
        """
        if not {a, b} <= self.own.keys():
            return Ends(*[float("nan")] * 4)
        z, count, clusters = max(width, LEAST), self.corners.shape[1], len(self.own[b])
        nothing = Shifts(np.zeros(count), np.zeros((count, clusters)), np.zeros(count))
        left, right = (self.shifts.get(key, nothing) for key in (a, b))
        d, base, turn = left - right, right, np.sign(other.value) or 1.0
        apart, own = self.own[a] - self.own[b], self.own[b]
        D = one.value - other.value + self.corners @ d.value
        B = np.abs(other.value + self.corners @ base.value)
        scale = one.sizes.factor / one.n**2
        psi = one.influence - other.influence
        dd = self._error(
            scale * float(psi @ psi), self._across(d, apart, one), self._within(d, one)
        )
        bb = self._error(other.se**2, self._across(base, own, one), self._within(base, one))
        db = turn * (
            scale * float(psi @ other.influence) + self._across(d, own, one)
            + self._across(base, apart, one) + self._within(d, one, base)
        )  # fmt: skip
        bias = _bias(one, other)
        low, high = _ends(D - z * dd, D + z * dd, bias, one.se + other.se)
        bottom = B**2 - (z * bb) ** 2
        centre = D * B - z**2 * db
        inner = dd**2 * bottom - 2 * D * B * db + D**2 * bb**2 + z**2 * db**2
        half = z * np.sqrt(np.maximum(inner, 0))
        if not np.all(bottom > 0) or not other.value:
            return Ends(low, high, float("nan"), float("nan"))
        size = abs(other.value)
        return Ends(
            low, high,
            float(np.min((centre - half) / bottom)) + bias[0] / size,
            float(np.max((centre + half) / bottom)) + bias[1] / size,
        )  # fmt: skip

    def _across(self, d: Shifts, own: Floats, e: Estimate) -> Floats:
        """Covariances of each corner's shift with a value."""
        out: Floats = self.corners @ (d.psi @ own) * e.sizes.factor / (e.n * self.n)
        return out

    def _within(self, d: Shifts, e: Estimate, other: Shifts | None = None) -> Floats:
        """Variances of each corner's shift, or its covariances with another's."""
        gram = d.psi @ (d if other is None else other).psi.T * e.sizes.factor / self.n**2
        if other is None:
            gram = gram + np.diag(d.extra)
        out: Floats = np.einsum("cj,jk,ck->c", self.corners, gram, self.corners)
        return out

    def _error(self, own: float, across: Floats, within: Floats) -> Floats:
        out: Floats = np.sqrt(np.maximum(own + 2 * across + within, 0.0))
        return out


def _ends(low: Floats, high: Floats, bias: Range, se: float) -> Range:
    """Over all corners; none where the plain interval has none.

    Others that are no numbers would be left out, and the plain interval would decide alone.
    """
    ends = float(low.min()) + bias[0], float(high.max()) + bias[1]
    if np.isfinite(se) and not np.isfinite(ends).all():
        raise InputError(
            "A second interval has no ends.",
            found="What the log cannot rule out changes a value beyond what numbers hold.",
            todo="Allow for less (--allow, --horizon), or do without the interval: --bounds none.",
        )
    return ends


def _bias(one: Estimate, other: Estimate) -> Range:
    moved = [x - y for x in one.bias for y in other.bias]
    return min(moved), max(moved)
