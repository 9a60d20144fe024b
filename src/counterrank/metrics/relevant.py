"""The relevant hits of every list and what stands above each, computed once for all measures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.core.arrays import Floats, Ints, summed
from counterrank.core.cached import once
from counterrank.matching.hits import Hits


@dataclass(frozen=True, eq=False)
class Relevant:
    r"""Relevant hits: ``place`` among all hits, ``unit`` and ``rank`` :math:`r_i` of each."""

    units: int
    place: Ints
    unit: Ints
    rank: Ints

    @once
    def size(self) -> Ints:
        """How many each unit has."""
        return np.bincount(self.unit, minlength=self.units)

    @once
    def above(self) -> Ints:
        r""":math:`R_i`: how many relevant items stand above each."""
        begin: Ints = np.cumsum(self.size) - self.size
        return np.arange(len(self.unit)) - begin[self.unit]

    def sum(self, x: Floats) -> Floats:
        """Sum over each unit's relevant hits."""
        return summed(self.unit, x, self.units)


def relevant(hits: Hits, rel: float) -> Relevant:
    """The hits rated ``rel`` or better."""

    def compute() -> Relevant:
        place = np.flatnonzero(hits.rating >= rel)
        return Relevant(hits.n, place, hits.unit[place], hits.rank[place])

    return hits.kept(("relevant", rel), compute)


def first_relevant(hits: Hits, rel: float) -> Floats:
    """1 for the first relevant hit of each list, else 0."""

    def compute() -> Floats:
        found, first = relevant(hits, rel), np.zeros(len(hits.rank))
        first[found.place[found.above == 0]] = 1
        return first

    return hits.kept(("first relevant", rel), compute)


def nonrelevant_above(hits: Hits, rel: float) -> Ints:
    r""":math:`N_i`: how many judged non-relevant items stand above each relevant hit."""

    def compute() -> Ints:
        found = relevant(hits, rel)
        others: Ints = hits.turn[found.place] - found.above
        hidden = hits.rating < 0  # pooled, but not judged
        return others - hits.above(hidden)[found.place] if hidden.any() else others

    return hits.kept(("nonrelevant above", rel), compute)
