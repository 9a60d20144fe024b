"""Feedback laid out for one pass over the systems: its strata, its weights, its users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.core.arrays import Bools, Floats, Ints, sum_by
from counterrank.core.parallel import map_threads
from counterrank.matching.hits import Hits
from counterrank.matching.pool import Pool
from counterrank.metrics import Measure, nDCG, pnDCG, unscaled, values
from counterrank.metrics.measure import quotient
from counterrank.stratified.cut import Strata


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
    labels: dict[tuple[str, float], InverseLabels]

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
        labels = {} if weight is None else inverse_labels(published, pool, weight)
        return cls(pool, item, strata, code, weight, tuple(kept), pools, labels)

    def scores(self, measures: Sequence[Measure], hits: Hits, *, threads: int) -> list[Floats]:
        """One system's per-user values (measures x users), not scaled yet, by what is looked at.

        That is all feedback, all feedback weighted (if there are weights), with labels (if there
        are labels), each stratum.
        """
        scores = [unscaled(measures, hits, self.pool, threads=threads)]
        if self.weight is not None:
            scores.append(weighted_values(measures, hits, self.pool, self.weight, threads=threads))
        if self.labels:
            scores.append(np.stack([self._published(m, hits) for m in measures]))
        for kept, pool in zip(self.kept, self.pools, strict=True):
            own = hits if pool is self.pool else hits.only(kept)
            scores.append(unscaled(measures, own, pool, threads=threads))
        return scores

    def _published(self, measure: Measure, hits: Hits) -> Floats:
        """The published form of IPS, missing for measures that have none."""
        if isinstance(measure, nDCG) and has_labels(measure):
            return self.labels[measure.gain, measure.rel].scores(measure, hits)
        return np.full(self.pool.n, np.nan)


def weighted_values(
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

    map_threads(fill, pool.parts, threads)
    for row, m in enumerate(measures):
        standing = m.standing(pool)
        if standing is not None:
            out[row] += sum_by(pool.unit, weight * standing, pool.n)
    return out


def mean_user_weight(measure: Measure, pool: Pool, weight: Floats) -> Floats:
    r"""Each user's mean weight: :math:`a_u = \sum_i g_i w_i / \sum_i g_i`.

    :math:`g_i` is the gain of a judged item, for binary measures 1 if it is relevant. A user with
    nothing to gain has the mean over all judged items. Unknown weights (0) are left out.
    """
    known = (weight > 0).astype(float)
    gain = known * measure.gains(pool)
    some = sum_by(pool.unit, gain, pool.n) > 0
    gain = np.where(some[pool.unit], gain, known)
    return quotient(sum_by(pool.unit, gain * weight, pool.n), sum_by(pool.unit, gain, pool.n))


def has_labels(measure: Measure) -> bool:
    """Whether the published form exists: for nDCG only."""
    return isinstance(measure, nDCG) and not isinstance(measure, pnDCG)


@dataclass(frozen=True, eq=False)
class InverseLabels:
    r"""The pool with the label :math:`1/p_{ui}` for what has a gain and 0 for the rest.

    ``place`` is where each judgment of the pool stands in this one, best label first.
    """

    label: Floats
    place: Ints
    pool: Pool

    @classmethod
    def of(cls, pool: Pool, gains: Floats, weight: Floats) -> InverseLabels:
        """Labels of the judgments that have a gain."""
        label = np.where(gains > 0, weight, 0.0)
        order = np.lexsort((-label, pool.unit))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        own = Pool(pool.units, pool.items.gather(pl.Series(order)), pool.size, label[order], 1.0)
        return cls(label, place, own)

    def scores(self, measure: nDCG, hits: Hits) -> Floats:
        r"""nDCG of each unit, with gain :math:`2^{1/p} - 1` and the ideal of the same labels."""
        own = replace(hits, rating=self.label[hits.judgment], judgment=self.place[hits.judgment])
        form = nDCG(k=measure.k, gain="exp", discount=measure.discount, ideal=measure.ideal)
        found: Floats = values([form], own, self.pool)[0]
        return found


def inverse_labels(
    measures: Sequence[Measure], pool: Pool, weight: Floats
) -> dict[tuple[str, float], InverseLabels]:
    """A pool for each way in which the measures tell what has a gain."""
    forms = {(m.gain, m.rel): m for m in measures if isinstance(m, nDCG) and has_labels(m)}
    return {form: InverseLabels.of(pool, m.gains(pool), weight) for form, m in forms.items()}
