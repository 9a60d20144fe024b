"""One system under one method as an Estimate, so that all inference applies to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from counterrank.aggregate import Function
from counterrank.arrays import Bools, Floats
from counterrank.estimates import Estimate
from counterrank.moments import Merged
from counterrank.stratified.face import Blend, Face
from counterrank.stratified.summed import SummedBlend, SummedFace, Way


def users(way: Face | Blend) -> Bools:
    """Users who count: with something to find, or for a blend, with feedback."""
    return np.any(way.feedback, axis=0) if isinstance(way, Blend) else way.base > 0


def estimated(way: Way, system: int, units: pl.Series | None) -> Estimate | Merged:
    """The estimate of one system; ``units`` are all users, in the order of the arrays."""
    if isinstance(way, SummedFace):
        return Merged.of(way.own, np.array([way.top[system], way.base]), Ratio(way.mean))
    if isinstance(way, SummedBlend):
        pairs = [place for face in way.faces for place in (face.top[system], face.base)]
        blended = Blended(len(way.faces), way.faces[0].mean)
        return Merged.of(way.own, np.array([*pairs, *way.rows]), blended)
    assert units is not None
    kept = users(way)
    own = units if kept.all() else units.filter(pl.Series(kept))
    if isinstance(way, Face):
        columns = np.stack([way.top[system], way.base], axis=1)[kept]
        return Estimate.of_columns(columns, own, Ratio(way.mean))
    strata = [x for face in way.faces for x in (face.top[system], face.base)]
    columns = np.stack([*strata, *way.feedback], axis=1)[kept]
    return Estimate.of_columns(columns, own, Blended(len(way.faces), way.faces[0].mean))


@dataclass(frozen=True)
class Ratio(Function):
    r""":math:`g(\bar x / \bar b)`, :math:`g` the identity or, for a geometric mean, exp."""

    mean: str

    def finish(self, means: Floats) -> Floats:
        """The value; missing where nobody counts."""
        top, base = means[..., 0], means[..., 1]
        ratio = np.divide(top, base, out=np.full(top.shape, np.nan), where=base != 0)
        value: Floats = np.exp(ratio) if self.mean == "geometric" else ratio
        return value

    def gradient(self, means: Floats) -> Floats:
        """By the mean above and the mean below."""
        top, base = means
        if base == 0:
            return np.full(2, np.nan)
        slope = np.exp(top / base) if self.mean == "geometric" else 1.0
        return slope * np.array([1 / base, -top / base**2])


@dataclass(frozen=True)
class Blended(Function):
    r""":math:`\sum_q \bar n_q\, g(\bar x_q / \bar b_q) / \sum_q \bar n_q`.

    Columns are :math:`x_q, b_q` stratum by stratum, then all :math:`n_q`.
    """

    strata: int
    mean: str

    def finish(self, means: Floats) -> Floats:
        """The blend; missing where some stratum has no value."""
        n = means[..., 2 * self.strata :]
        value = np.stack([Ratio(self.mean).finish(pair) for pair in self._pairs(means)], axis=-1)
        share = n / n.sum(axis=-1, keepdims=True)
        blended: Floats = np.sum(share * value, axis=-1)
        return blended

    def gradient(self, means: Floats) -> Floats:
        """By both means of each stratum, then by the feedback of each."""
        n = means[2 * self.strata :]
        pairs = self._pairs(means)
        value = np.array([Ratio(self.mean).finish(pair) for pair in pairs])
        within = [
            share * Ratio(self.mean).gradient(pair)
            for share, pair in zip(n / n.sum(), pairs, strict=True)
        ]
        return np.concatenate([*within, (value - value @ n / n.sum()) / n.sum()])

    def _pairs(self, means: Floats) -> list[Floats]:
        return [means[..., 2 * q : 2 * q + 2] for q in range(self.strata)]
