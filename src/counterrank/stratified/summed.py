r"""Methods made of sums: the same numbers as from values per user, which are not kept.

A root of the columns' centred products stands for the users: its rows are few, and products of
what is linear in the columns are the same, so influence values are formed of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from counterrank.arrays import Floats, Ints, over
from counterrank.moments import Moments, Sums
from counterrank.once import once
from counterrank.stratified.face import Blend, Face


@dataclass(frozen=True, eq=False)
class SummedFace:
    r"""All systems under one method: :math:`v_s = g(\bar x_s / \bar b)`, as a `Face`.

    ``top`` and ``base`` are the places of :math:`x_s` and :math:`b` among the columns of ``sums``.
    """

    method: str
    sums: Sums
    top: Ints
    base: int
    mean: str
    counted: int

    @property
    def n(self) -> int:
        """Number of users."""
        return self.sums.moments.n

    @once
    def value(self) -> Floats:
        """The value of each system."""
        return self._value(self.sums.moments.mean)

    @once
    def influence(self) -> Floats:
        """Influence values of the rows of the root, systems x rows."""
        mean, root = self.sums.moments.mean, self.sums.moments.centred
        ratio = over(mean[self.top], mean[self.base])
        psi = over(root[:, self.top] - root[:, [self.base]] * ratio, mean[self.base]).T
        return psi * self.value[:, None] if self.mean == "geometric" else psi

    @once
    def own(self) -> Sums:
        """The sums over those who count."""
        return _among(self.sums, self.counted)

    def resampled(self, draws: int) -> Floats:
        """The values in resamples: draws x systems."""
        return self._value(self.sums.drawn(draws))

    def _value(self, means: Floats) -> Floats:
        ratio = over(means[..., self.top], means[..., [self.base]])
        return np.exp(ratio) if self.mean == "geometric" else ratio


@dataclass(frozen=True, eq=False)
class SummedBlend:
    """The stratified value, as a `Blend`; ``rows`` are the places of each stratum's feedback."""

    method: str
    sums: Sums
    faces: Sequence[SummedFace]
    rows: Ints
    counted: int
    something: int

    @property
    def n(self) -> int:
        """Number of users."""
        return self.sums.moments.n

    @once
    def share(self) -> Floats:
        """The share of feedback of each stratum."""
        total = self.sums.moments.mean[self.rows]
        share: Floats = total / total.sum()
        return share

    @once
    def value(self) -> Floats:
        """The value of each system."""
        value: Floats = self.share @ np.stack([face.value for face in self.faces])
        return value

    @once
    def influence(self) -> Floats:
        """Influence values of the rows of the root, systems x rows."""
        each = self.sums.moments.centred[:, self.rows].T
        moved = each - self.share[:, None] * each.sum(axis=0)
        moved /= self.sums.moments.mean[self.rows].sum()
        psi = np.zeros_like(self.faces[0].influence)
        for p, face, shift in zip(self.share, self.faces, moved, strict=True):
            psi += p * face.influence + face.value[:, None] * shift
        return psi

    @once
    def own(self) -> Sums:
        """The sums over those who count."""
        return _among(self.sums, self.counted)

    def resampled(self, draws: int) -> Floats:
        """The values in resamples: draws x systems."""
        total = self.sums.drawn(draws)[:, self.rows]
        share = total / total.sum(axis=1, keepdims=True)
        each = np.stack([face.resampled(draws) for face in self.faces])
        blended: Floats = np.einsum("bq,qbs->bs", share, each)
        return blended


def _among(sums: Sums, counted: int) -> Sums:
    """The sums over ``counted`` users, where all others add nothing to any column that matters.

    Ratios do not change by a factor common to all means, nor do influence values by the centre.
    """
    moments = sums.moments
    own = Moments(
        n=counted,
        clusters=counted,
        centre=moments.mean * (moments.n / max(counted, 1)),
        lean=np.zeros(moments.wide),
        root=np.column_stack([moments.centred, moments.root[:, -1]]),
    )
    return replace(sums, moments=own)


AnyFace = Face | SummedFace
AnyBlend = Blend | SummedBlend
Way = AnyFace | AnyBlend
