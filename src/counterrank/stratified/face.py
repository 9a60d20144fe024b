"""One way to score all systems at once: a ratio of means over users, with its influence values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats, over
from counterrank.once import once


@dataclass(frozen=True, eq=False)
class Face:
    r"""All systems under one method: :math:`v_s = g(\sum_u x_{su} / \sum_u b_u)`.

    ``top`` is :math:`x` (systems x users) and ``base`` is :math:`b`, which no system changes: who
    counts, or the users' mean weights. :math:`g` is the identity, or exp for a ``geometric`` mean.
    """

    method: str
    top: Floats
    base: Floats
    mean: str = "arithmetic"

    @property
    def n(self) -> int:
        """Number of users."""
        return len(self.base)

    @once
    def counted(self) -> int:
        """Number of users who count."""
        return int(np.count_nonzero(self.base > 0))

    @once
    def value(self) -> Floats:
        """The value of each system."""
        value: Floats = self.under(np.ones((1, len(self.base))))[0]
        return value

    @once
    def influence(self) -> Floats:
        r""":math:`\psi_{su} = g'(r_s)\,(x_{su} - r_s b_u) / \bar b`, systems x users."""
        ratio = over(self.top.sum(axis=1), self.base.sum())
        psi = over(self.top - ratio[:, None] * self.base, self.base.mean())
        return psi * self.value[:, None] if self.mean == "geometric" else psi

    def under(self, weights: Floats) -> Floats:
        """The values under other weights of the users (draws x users): draws x systems."""
        ratio = over(weights @ self.top.T, (weights @ self.base)[:, None])
        return np.exp(ratio) if self.mean == "geometric" else ratio


@dataclass(frozen=True, eq=False)
class Blend:
    r"""The stratified value (Jadidinejad et al. 2021, Eq. 4): :math:`\sum_q P_q\, v_{sq}`.

    :math:`P_q` is the stratum's share of the feedback, :math:`\sum_u n_{uq} / \sum_u n_u`;
    ``feedback`` holds :math:`n_{uq}` (strata x users). The shares are estimates too, and the
    influence values say so.
    """

    method: str
    faces: Sequence[Face]
    feedback: Floats

    @property
    def n(self) -> int:
        """Number of users."""
        return int(self.feedback.shape[1])

    @once
    def counted(self) -> int:
        """Number of users who count: those with feedback."""
        return int(np.count_nonzero(np.any(self.feedback, axis=0)))

    @once
    def something(self) -> int:
        """Number of users with something to find in any stratum."""
        return int(np.count_nonzero(np.any([face.base > 0 for face in self.faces], axis=0)))

    @once
    def share(self) -> Floats:
        """The share of feedback of each stratum."""
        total: Floats = self.feedback.sum(axis=1)
        share: Floats = total / total.sum()
        return share

    @once
    def value(self) -> Floats:
        """The value of each system."""
        value: Floats = self.share @ np.stack([face.value for face in self.faces])
        return value

    @once
    def influence(self) -> Floats:
        r""":math:`\psi_{su} = \sum_q P_q \psi_{squ} + v_{sq}\,(n_{uq} - P_q n_u) / \bar n`."""
        each: Floats = self.feedback.sum(axis=0)
        moved = (self.feedback - self.share[:, None] * each) / each.mean()
        psi = np.zeros_like(self.faces[0].influence)
        for p, face, shift in zip(self.share, self.faces, moved, strict=True):
            psi += p * face.influence + face.value[:, None] * shift
        return psi

    def under(self, weights: Floats) -> Floats:
        """The values under other weights of the users (draws x users): draws x systems."""
        total = weights @ self.feedback.T
        share = total / total.sum(axis=1, keepdims=True)
        each = np.stack([face.under(weights) for face in self.faces])
        blended: Floats = np.einsum("bq,qbs->bs", share, each)
        return blended
