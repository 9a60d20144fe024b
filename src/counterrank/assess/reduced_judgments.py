"""Reduced judgments: five ways to lose some, and all systems under all measures on the rest.

Nothing is joined again: reduced judgments are masked hits. Of per-unit values alone only users can
go missing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from counterrank.assess.unit_values import Average, Values
from counterrank.core.arrays import Bools, Floats, Ints, concat, divide
from counterrank.data.ids import number_rows
from counterrank.data.runs import Policies
from counterrank.matching.hits import Hits
from counterrank.matching.pool import BLOCK, Pool
from counterrank.metrics import Measure
from counterrank.metrics.dcg import Graded, adds_up
from counterrank.metrics.measure import quotient

AT_RANDOM = ("ratings", "items", "users")
REDUCTIONS = (*AT_RANDOM, "popular_items", "large_users")
OF_USERS = ("users", "large_users")
SIZES = (1.0, *(share / 100 for share in range(90, 0, -5)), 0.01)

SAYS = {
    "ratings": "judgments are missing at random",
    "items": "whole items are missing at random",
    "users": "whole users are missing at random",
    "popular_items": "the items with the most judgments are missing",
    "large_users": "the users with the most judgments are missing",
}


@dataclass(frozen=True, eq=False)
class Reductions:
    """What may go missing from one pool. A size is the share of judgments, items or users left.

    Each sample has a random stream of its own, so that neither the order of the work nor other
    sizes and kinds change it. Of items or users with equally many judgments, those of the smaller
    id go first.
    """

    pool: Pool
    seed: int = 0

    @cached_property
    def item(self) -> Ints:
        """The item of each judgment, numbered by id."""
        return number_rows(self.pool.items.to_frame())[0]

    def total(self, kind: str) -> int:
        """How many judgments, items or users there are to lose."""
        if kind in OF_USERS:
            return self.pool.n
        return len(self.pool.rating) if kind == "ratings" else int(self.item.max()) + 1

    def left(self, kind: str, size: float) -> int:
        """How many of them are left; at least one."""
        return max(1, round(size * self.total(kind)))

    def samples(self, kind: str, size: float, samples: int) -> int:
        """How many samples differ: one where nothing is drawn, or nothing is left out."""
        drawn = kind in AT_RANDOM and self.left(kind, size) < self.total(kind)
        return samples if drawn else 1

    def left_over(self, kind: str, size: float, sample: int) -> Bools:
        """Which judgments are left or, where users go missing, which users."""
        total, left = self.total(kind), self.left(kind, size)
        if kind in AT_RANDOM:
            key = (self.seed, REDUCTIONS.index(kind), round(size * 1e9), sample)
            chosen = np.random.default_rng(key).choice(total, left, replace=False, shuffle=False)
        else:
            number = self.pool.size if kind == "large_users" else np.bincount(self.item)
            chosen = np.argsort(-number, kind="stable")[total - left :]  # then by rising id
        flag = np.zeros(total, bool)
        flag[chosen] = True
        return flag if kind in OF_USERS or kind == "ratings" else flag[self.item]


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
        return cls(pool, stack(hits), len(hits), measures, policies)

    def only(self, which: Bools) -> Evidence:
        """Some of the judgments."""
        return replace(self, pool=self.pool.only(which), hits=self.hits.only(which))

    def among(self, kept: Bools) -> Floats:
        r"""Values on some of the judgments (samples x judgments): measures x samples x systems.

        What adds up over hits,

        .. math:: \frac1N \sum_u \frac{1}{d_u} \sum_{i \in u} t_i\, 1[i\ \text{kept}]

        with terms :math:`t_i` that no sample changes, divisors :math:`d_u` and :math:`N` users who
        count, is one product for all samples. Other measures look at the hits of each.
        """
        bare = replace(self, pool=replace(self.pool, items=self.pool.items.clear()))
        out = np.empty((len(self.measures), len(kept), self.systems))
        if rest := [place for place, m in enumerate(self.measures) if not adds_up(m)]:
            other = replace(bare, measures=[self.measures[place] for place in rest])
            out[rest] = np.stack([other.only(which).value for which in kept], axis=1)
        pools = [bare.pool.only(which) for which in kept] if len(rest) < len(out) else []
        for place, m in enumerate(self.measures):
            if adds_up(m):
                counted = [self._counted(m, pool) for pool in pools]
                each = [quotient(c, m.divisor(p)) for c, p in zip(counted, pools, strict=True)]
                shares = np.stack(each)[:, self.pool.unit] * kept
                number = np.stack([self._present(c).sum(axis=1) for c in counted])
                total = (self._terms(m) @ np.ascontiguousarray(shares.T)).T
                out[place] = m.function(divide(total, number)[..., None])
        return out

    def _terms(self, m: Graded) -> csr_array:
        """What each judgment adds to a system's sums, systems x judgments; kept by the hits."""

        def compute() -> csr_array:
            begin = np.searchsorted(self.hits.unit, np.arange(self.systems + 1) * self.pool.n)
            shape = self.systems, len(self.pool.rating)
            return csr_array((m.terms(self.hits), self.hits.judgment, begin), shape)

        return self.hits.cached(("by judgment", m.gain, m.rel, m.rank_discount, m.k), compute)

    @property
    def value(self) -> Floats:
        """The value of each measure of each system: measures x systems."""
        return self.under(np.ones((1, self.pool.n)))[:, 0]

    def under(self, weights: Floats) -> Floats:
        r"""The same under other weights of the users (draws x users): measures x draws x systems.

        Each value is :math:`g(\sum_u w_u c_u / \sum_u w_u)` over the users that count, with the
        columns :math:`c` and the function :math:`g` of the measure.
        """
        draws, systems, n = len(weights), self.systems, self.pool.n
        every = RepeatedPool.of(self.pool, systems)
        out = np.empty((len(self.measures), draws, systems))
        for place, m in enumerate(self.measures):
            columns = m.columns(self._per_unit[_form(m)], m.base(every))
            counts = self._present(self._counted(m, self.pool)).astype(float)
            own = [np.where(counts > 0, c.reshape(systems, n), 0) for c in columns]
            total = np.stack([weights @ x.T for x in own], axis=2)
            base = (weights @ counts.T)[:, :, None]
            out[place] = m.function(divide(total, base))
        return out

    @cached_property
    def _per_unit(self) -> dict[Measure, Floats]:
        """Each formula once, whatever the mean; some systems at a time, so that they fit a cache.

        Values of all users of the first system, then of the second, and so on.
        """
        n = self.pool.n
        forms = {_form(m): np.empty(n * self.systems) for m in self.measures}
        step = max(1, 2 * BLOCK * self.systems // max(len(self.hits.unit), n * self.systems))
        for begin, end in pairwise([*range(0, self.systems, step), self.systems]):
            pool = RepeatedPool.of(self.pool, end - begin)
            hits = self.hits.part(begin * n, end * n)
            for form, x in forms.items():
                x[begin * n : end * n] = form.per_unit(hits, pool)
        return forms

    def _counted(self, m: Measure, pool: Pool) -> Bools:
        """Users whom a measure counts, as some judgments say."""
        counts: Bools = pool.size > 0
        return counts & m.defined(pool) if self.policies.no_relevant == "skip" else counts

    def _present(self, counted: Bools) -> Bools:
        """Those of them who count for each system (systems x users), or one row for all."""
        if self.policies.missing != "skip":
            return counted[None]
        return counted & self.hits.present.reshape(self.systems, -1)


def _form(m: Measure) -> Measure:
    """The measure without its mean, which does not change what it says of a user."""
    return replace(m, mean="arithmetic", floor=Measure.floor)


@dataclass(frozen=True, eq=False)
class ValueEvidence:
    """Per-unit values: ``forms`` are the measures, where each stands among them and its mean."""

    values: Values
    forms: tuple[tuple[int, Average], ...]

    @property
    def pool(self) -> Pool:
        """The users; of their judgments nothing is known."""
        units = self.values.units
        return Pool(units, units.clear(), np.ones(len(units), np.int64), np.zeros(0), 0.0)

    @property
    def value(self) -> Floats:
        """The value of each measure of each system: measures x systems."""
        return self.under(np.ones((1, len(self.values.units))))[:, 0]

    def under(self, weights: Floats) -> Floats:
        r"""The same under other weights of the users (draws x users): measures x draws x systems.

        Each value is :math:`g(\sum_u w_u c_u / \sum_u w_u)` over the users that have one.
        """
        out = []
        for place, average in self.forms:
            x = average.scores(self.values.x[:, place])
            there = ~np.isnan(x)
            total, base = (weights @ own.T for own in (np.where(there, x, 0), there.astype(float)))
            out.append(average.finish(divide(total, base)))
        return np.stack(out)


@dataclass(frozen=True)
class RepeatedPool(Pool):
    """One pool as several systems meet it: what it says of its units, once for each system."""

    one: Pool = field(kw_only=True)
    times: int = field(kw_only=True)

    @classmethod
    def of(cls, pool: Pool, times: int) -> RepeatedPool:
        """The pool for so many systems; what it has counted already is not counted again."""
        return cls(pool.units, pool.items, pool.size, pool.rating, pool.top, one=pool, times=times)

    @property
    def n(self) -> int:
        """Number of units of all systems."""
        return self.times * self.one.n

    @cached_property
    def best(self) -> Floats:
        """The greatest rating of each unit."""
        return np.tile(self.one.best, self.times)

    def cached(self, name: Hashable, compute: Callable[[], Floats]) -> Floats:
        """Kept by the pool itself, as it says the same for each system; so parts share it."""
        first = self.one.cached(name, lambda: compute()[: self.one.n])
        return super().cached(name, lambda: np.tile(first, self.times))

    def _count(self, low: float, high: float) -> Floats:
        return super().cached((low, high), lambda: np.tile(self.one._count(low, high), self.times))

    def sum(self, worth: Callable[[Floats, Ints], npt.NDArray[Any]]) -> Floats:
        """Sum over each unit's judgments of ``worth(rating, rank)``."""
        return np.tile(self.one.sum(worth), self.times)


def stack(hits: Sequence[Hits]) -> Hits:
    """The hits of several systems; unit u of system s becomes u + s n."""
    return Hits.join(
        hits,
        concat([h.unit + h.n * s for s, h in enumerate(hits)]),
        concat([h.judgment for h in hits]),
        np.concatenate([h.rating for h in hits]),
        concat([h.depth for h in hits]),
        hits[0].expected,
    )
