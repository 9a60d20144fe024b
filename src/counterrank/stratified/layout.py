"""Feedback laid out for one pass over the systems: its strata, its weights, its users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.arrays import Bools, Floats, Ints, mapped, summed
from counterrank.hits import Hits, Pool
from counterrank.ranking import Measure, nDCG, unscaled
from counterrank.ranking.measure import ratio
from counterrank.stratified.cut import Strata
from counterrank.stratified.published import Labelled, has_labels, labelled


@dataclass(frozen=True, eq=False)
class Layout:
    """The feedback of some users (``pool``), cut into ``strata``, each of them a pool of its own.

    ``item`` is the place of each judgment's item in the catalogue, ``code`` its stratum; ``kept``
    says which judgments a stratum holds. ``weight`` is one over the propensity of each judgment, 0
    where that is unknown; without any propensities it is None. ``labels`` are there where IPS is
    also wanted as the published code computes it.
    """

    pool: Pool
    item: Ints
    strata: Strata
    code: Ints
    weight: Floats | None
    kept: tuple[Bools, ...]
    pools: tuple[Pool, ...]
    labels: dict[tuple[str, float], Labelled]

    @classmethod
    def of(
        cls,
        pool: Pool,
        item: Ints,
        strata: Strata,
        code: Ints,
        propensity: Floats | None,
        published: Sequence[Measure] = (),
    ) -> Layout:
        """A pool, the item, the stratum and the propensity (NaN: unknown) of each judgment.

        ``published`` are measures for which the published form of IPS is wanted.
        """
        kept = [code == q for q in range(len(strata.names))]
        weight = None if propensity is None else np.nan_to_num(1 / propensity, nan=0.0)
        whole = len(kept) == 1  # one stratum is all there is, to the last bit
        pools = tuple(pool if whole else pool.only(own) for own in kept)
        labels = {} if weight is None else labelled(published, pool, weight)
        return cls(pool, item, strata, code, weight, tuple(kept), pools, labels)

    def scores(self, measures: Sequence[Measure], hits: Hits, *, threads: int) -> Floats:
        """One system's per-user values: ways x measures x users, not scaled yet.

        The ways are all feedback, all feedback weighted (if there are weights), labelled (if there
        are labels), each stratum.
        """
        ways = [unscaled(measures, hits, self.pool, threads=threads)]
        if self.weight is not None:
            ways.append(weighted(measures, hits, self.pool, self.weight, threads=threads))
        if self.labels:
            ways.append(np.stack([self._labelled(m, hits) for m in measures]))
        for kept, pool in zip(self.kept, self.pools, strict=True):
            own = hits if pool is self.pool else hits.only(kept)
            ways.append(unscaled(measures, own, pool, threads=threads))
        return np.stack(ways)

    def _labelled(self, measure: Measure, hits: Hits) -> Floats:
        """The published form of IPS, missing for measures that have none."""
        if isinstance(measure, nDCG) and has_labels(measure):
            return self.labels[measure.gain, measure.rel].scores(measure, hits)
        return np.full(self.pool.n, np.nan)


def weighted(
    measures: Sequence[Measure], hits: Hits, pool: Pool, weight: Floats, *, threads: int = 1
) -> Floats:
    r"""Every measure with each item weighted: :math:`\sum_i w_i\, worth_i` (measures x units)."""
    out = np.empty((len(measures), pool.n))

    def fill(part: tuple[int, int, Pool]) -> None:
        begin, end, own = part
        found = hits.part(begin, end)
        w = weight[found.judgment]
        for row, m in enumerate(measures):
            out[row, begin:end] = found.sum(w * m.worth(found, own))

    mapped(fill, pool.parts, threads)
    for row, m in enumerate(measures):
        standing = m.standing(pool)
        if standing is not None:
            out[row] += summed(pool.unit, weight * standing, pool.n)
    return out


def mean_weight(measure: Measure, pool: Pool, weight: Floats) -> Floats:
    r"""Each user's mean weight: :math:`a_u = \sum_i g_i w_i / \sum_i g_i`.

    :math:`g_i` is the gain of a judged item, for binary measures 1 if it is relevant. A user with
    nothing to gain has the mean over all judged items. Unknown weights (0) are left out.
    """
    known = (weight > 0).astype(float)
    gain = known * measure.gains(pool)
    some = summed(pool.unit, gain, pool.n) > 0
    gain = np.where(some[pool.unit], gain, known)
    return ratio(summed(pool.unit, gain * weight, pool.n), summed(pool.unit, gain, pool.n))
