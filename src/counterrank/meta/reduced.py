"""All systems under all measures on reduced judgments: the hits are masked, nothing is joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from counterrank.arrays import Bools, Floats
from counterrank.hits import BLOCK, Hits, Pool
from counterrank.meta.stacked import Repeated, stacked
from counterrank.once import once
from counterrank.policies import Policies
from counterrank.ranking import Measure


@dataclass(frozen=True, eq=False)
class Evidence:
    """Judgments, and what the systems found of them: ``hits`` are those of all, stacked.

    Users who are left without any judgment are not in the judgments any more, as in a table from
    which their rows are gone. Users left without a relevant item count by the policy
    ``no_relevant``. The scale of ratings stays that of all judgments: ``pool.top``.
    """

    pool: Pool
    hits: Hits
    systems: int
    measures: Sequence[Measure]
    policies: Policies

    @classmethod
    def of(
        cls, pool: Pool, hits: Sequence[Hits], measures: Sequence[Measure], policies: Policies
    ) -> Evidence:
        """From the hits of each system."""
        return cls(pool, stacked(hits), len(hits), measures, policies)

    def only(self, kept: Bools) -> Evidence:
        """Some of the judgments."""
        return replace(self, pool=self.pool.only(kept), hits=self.hits.only(kept))

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
        draws, systems, n = len(weights), self.systems, self.pool.n
        every = Repeated.of(self.pool, systems)
        out = np.empty((len(self.measures), draws, systems))
        for place, m in enumerate(self.measures):
            aggregate = m.aggregate(every)
            columns = aggregate.columns(self._per_unit[_form(m)] * m.scale(self.pool))
            columns = columns.reshape(systems, n, -1).swapaxes(1, 2)
            counts = self._counts(m)
            top = np.where(counts[:, None] > 0, columns, 0).reshape(-1, n)
            # Not a matrix product: its last digits would depend on the number of threads.
            total = np.einsum("dn,kn->dk", weights, top).reshape(draws, systems, -1)
            base = (weights @ counts.T)[:, :, None]
            none = np.full(total.shape, np.nan)
            out[place] = aggregate.finish(np.divide(total, base, out=none, where=base > 0))
        return out

    @once
    def _per_unit(self) -> dict[Measure, Floats]:
        """Each formula once, whatever the mean; some systems at a time, so that they fit a cache.

        Values of all users of the first system, then of the second, and so on.
        """
        n = self.pool.n
        forms = {_form(m): np.empty(n * self.systems) for m in self.measures}
        room = max(1, 2 * BLOCK * self.systems // max(len(self.hits.unit), n * self.systems))
        for begin, end in pairwise([*range(0, self.systems, room), self.systems]):
            own = Repeated.of(self.pool, end - begin)
            found = self.hits.part(begin * n, end * n)
            for form, x in forms.items():
                x[begin * n : end * n] = form.per_unit(found, own)
        return forms

    def _counts(self, m: Measure) -> Floats:
        """1 for users who count: systems x users."""
        counts = np.tile(self.pool.size > 0, (self.systems, 1))
        if self.policies.no_relevant == "skip":
            counts &= m.defined(self.pool)
        if self.policies.missing == "skip":
            counts &= self.hits.present.reshape(counts.shape)
        return counts.astype(float)


def _form(m: Measure) -> Measure:
    """The measure without its mean, which does not change what it says of a user."""
    return replace(m, mean="arithmetic", floor=Measure.floor)
