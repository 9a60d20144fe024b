"""IPS as the published code computes it: nDCG whose labels are inverse propensities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from counterrank.arrays import Floats, Ints
from counterrank.hits import Hits, Pool
from counterrank.ranking import Measure, nDCG, pnDCG, values


def has_labels(measure: Measure) -> bool:
    """Whether the published form exists: for nDCG only."""
    return isinstance(measure, nDCG) and not isinstance(measure, pnDCG)


@dataclass(frozen=True, eq=False)
class Labelled:
    r"""The pool with the label :math:`1/p_{ui}` for what has a gain and 0 for the rest.

    ``place`` is where each judgment of the pool stands in this one, best label first.
    """

    label: Floats
    place: Ints
    pool: Pool

    @classmethod
    def of(cls, pool: Pool, gains: Floats, weight: Floats) -> Labelled:
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


def labelled(
    measures: Sequence[Measure], pool: Pool, weight: Floats
) -> dict[tuple[str, float], Labelled]:
    """A pool for each way in which the measures tell what has a gain."""
    forms = {(m.gain, m.rel): m for m in measures if isinstance(m, nDCG) and has_labels(m)}
    return {form: Labelled.of(pool, m.gains(pool), weight) for form, m in forms.items()}
