"""All systems under all measures on reduced judgments: the hits are masked, nothing is joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from counterrank.arrays import Bools, Floats
from counterrank.hits import Hits, Pool
from counterrank.once import once
from counterrank.policies import Policies
from counterrank.ranking import Measure


@dataclass(frozen=True, eq=False)
class Evidence:
    """Judgments, and what each system found of them.

    Users who are left without any judgment are not in the judgments any more, as in a table from
    which their rows are gone. Users left without a relevant item count by the policy
    ``no_relevant``. The scale of ratings stays that of all judgments: ``pool.top``.
    """

    pool: Pool
    hits: Sequence[Hits]
    measures: Sequence[Measure]
    policies: Policies

    def only(self, kept: Bools) -> Evidence:
        """Some of the judgments."""
        fewer = [hits.only(kept) for hits in self.hits]
        return replace(self, pool=self.pool.only(kept), hits=fewer)

    @property
    def value(self) -> Floats:
        """The value of each measure of each system: measures x systems."""
        value: Floats = self.under(np.ones((1, self.pool.n)))[:, 0]
        return value

    def under(self, weights: Floats) -> Floats:
        r"""The same under other weights of the users (draws x users): measures x draws x systems.

        Each value is :math:`g(\sum_u w_u c_u / \sum_u w_u)` over the users that count, with the
        columns :math:`c` and the function :math:`g` of the measure's aggregate.
        """
        out = np.empty((len(self.measures), len(weights), len(self.hits)))
        for place, m in enumerate(self.measures):
            aggregate = m.aggregate(self.pool)
            x = self._per_unit[_form(m)] * m.scale(self.pool)
            counts = self._counts(m)
            columns = np.stack([aggregate.columns(row) for row in x])
            top = np.moveaxis(np.where(counts[:, :, None], columns, 0), 1, 0)
            total = weights @ top.reshape(self.pool.n, -1)
            base = (weights @ counts.T.astype(float))[:, :, None]
            total = total.reshape(len(weights), len(self.hits), -1)
            none = np.full(total.shape, np.nan)
            out[place] = aggregate.finish(np.divide(total, base, out=none, where=base > 0))
        return out

    @once
    def _per_unit(self) -> dict[Measure, Floats]:
        """Each formula once, whatever the mean: systems x users."""
        forms = {_form(m): np.empty((len(self.hits), self.pool.n)) for m in self.measures}
        for row, hits in enumerate(self.hits):
            for form, x in forms.items():
                x[row] = form.per_unit(hits, self.pool)
        return forms

    def _counts(self, m: Measure) -> Bools:
        """Who counts: systems x users."""
        judged = self.pool.size > 0
        if self.policies.no_relevant == "skip":
            judged = judged & m.defined(self.pool)
        if self.policies.missing == "skip":
            return np.stack([judged & hits.present for hits in self.hits])
        return np.broadcast_to(judged, (len(self.hits), self.pool.n))


def _form(m: Measure) -> Measure:
    """The measure without its mean, which does not change what it says of a user."""
    return replace(m, mean="arithmetic", floor=Measure.floor)
