"""What is kept of the importance weights: sums that merge over buckets, and the largest ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Floats, Ints, dot, summed
from counterrank.logged.rows import Weighted

CLIPS = (*(float(2**j) for j in range(13)), float("inf"))
EDGES = 2.0 ** np.arange(-6.5, 12.5)  # between which weights are counted: 1 is in a middle
FIRST = 6  # added to a power of two gives its place among the edges
KEPT = 3000  # of the largest weights, for their tail


@dataclass(frozen=True)
class WeightRow:
    """The share of rows with weights from ``low`` to below ``high``, and of all weight."""

    system: str
    low: float
    high: float
    rows: float
    weight: float


@dataclass(frozen=True)
class Weights:
    r"""Sums of a target's weights :math:`w_i`, and of what they should add up to.

    ``count`` rows have some weight; ``seen`` is :math:`\sum v_i w_i`, which estimates ``views``,
    the target's expected views :math:`\sum e`; ``unlogged`` is the part of ``views`` on items the
    sessions' logs do not have, ``unknown`` on items no session's log has; ``places`` are the views
    of lists as long as the logged ones; ``heaviest`` is the largest :math:`v_i w_i`, ``largest``
    are the largest :math:`w_i`; ``rows`` and ``mass`` count and add up the weights between
    neighbouring ``EDGES``. ``square`` and ``total``
    are :math:`\sum v w^2` and :math:`\sum v w` for each of ``clips``, the last of which is
    infinity: no clipping.
    """

    clips: tuple[float, ...]
    count: int
    seen: float
    views: float
    unlogged: float
    unknown: float
    places: float
    heaviest: float
    largest: Floats
    rows: Floats
    mass: Floats
    total: Floats
    square: Floats

    @classmethod
    def of(
        cls, rows: Weighted, unlogged: Floats, unknown: Floats, clips: tuple[float, ...]
    ) -> Weights:
        """The weights of one bucket."""
        w = rows.weight(float("inf"))
        some = w > 0
        total, square = np.empty(len(clips)), np.empty(len(clips))
        for j, clip in enumerate(clips):
            cut = rows.weight(clip)
            total[j] = dot(rows.seen, cut)
            square[j] = dot(rows.seen * cut, cut)
        place = _bin(w[some])
        return cls(
            clips, int(some.sum()), float(total[-1]), float(rows.views.sum()),
            float(unlogged.sum()), float(unknown.sum()), float(rows.place.sum()),
            float((rows.seen * w).max(initial=0)), _largest(w),
            np.bincount(place, minlength=len(EDGES) + 1).astype(float),
            summed(place, w[some], len(EDGES) + 1), total, square,
        )  # fmt: skip

    def __add__(self, other: Weights) -> Weights:
        return Weights(
            self.clips,
            self.count + other.count,
            self.seen + other.seen,
            self.views + other.views,
            self.unlogged + other.unlogged,
            self.unknown + other.unknown,
            self.places + other.places,
            max(self.heaviest, other.heaviest),
            np.sort(np.concatenate([self.largest, other.largest]))[-KEPT:],
            self.rows + other.rows,
            self.mass + other.mass,
            self.total + other.total,
            self.square + other.square,
        )

    def spread(self, system: str) -> list[WeightRow]:
        """How many rows weigh how much, from the first bin that holds any to the last."""
        ends = np.concatenate([[0], EDGES, [np.inf]])
        held = np.flatnonzero(self.rows)
        whole = np.maximum([[self.count], [self.mass.sum()]], np.finfo(float).tiny)
        shares = np.stack([self.rows, self.mass]) / whole
        return [
            WeightRow(system, float(ends[b]), float(ends[b + 1]), *map(float, shares[:, b]))
            for b in (range(held[0], held[-1] + 1) if len(held) else ())
        ]

    def effective(self, clip: float = float("inf")) -> float:
        r"""Effective number of views, :math:`(\sum v w)^2 / \sum v w^2` (Kish)."""
        j = self.clips.index(clip)
        return float(self.total[j] ** 2 / self.square[j]) if self.square[j] > 0 else 0.0


def _bin(w: Floats) -> Ints:
    """Between which of ``EDGES`` each weight lies: by its power of two, half a power up or down."""
    part, power = np.frexp(w)
    found: Ints = np.clip(power + (part >= 0.5**0.5) + FIRST, 0, len(EDGES))
    return found


def _largest(w: Floats) -> Floats:
    """The ``KEPT`` largest weights in order; a bound from a sample leaves few to choose from."""
    if len(w) > 16 * KEPT:
        some = w[::16]
        high = w[w >= np.partition(some, -KEPT // 8)[-KEPT // 8]]
        w = high if len(high) >= KEPT else w
    return np.sort(np.partition(w, -KEPT)[-KEPT:] if len(w) > KEPT else w)
