"""All systems under all measures when judgments or users are gone: nothing is joined again.

Reduced judgments are masked hits. Of per-unit values alone only users can go missing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from counterrank.assess.checkpoint import fingerprint
from counterrank.assess.inputs import judged_hits, read_values
from counterrank.assess.request import RobustnessRequest
from counterrank.assess.unit_values import Average, Values
from counterrank.core.arrays import Bools, Floats, Ints
from counterrank.core.errors import UsageError
from counterrank.data.runs import Policies
from counterrank.data.schema import Input
from counterrank.diagnostics.diagnosis import Diagnosis
from counterrank.matching.hits import Hits
from counterrank.matching.pool import BLOCK, Pool
from counterrank.metrics import Measure

FROM_EVALUATION = ("unit", "measures", "policies", "ranked_by", "largest_rating", "level", "engine")


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

    @property
    def value(self) -> Floats:
        """The value of each measure of each system: measures x systems."""
        value: Floats = self.under(np.ones((1, self.pool.n)))[:, 0]
        return value

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
            stacked = np.stack([c.reshape(systems, n) for c in columns], axis=1)
            counts = self._counts(m)
            top = np.where(counts[:, None] > 0, stacked, 0).reshape(-1, n)
            # Not a matrix product: its last digits would depend on the number of threads.
            total = np.einsum("dn,kn->dk", weights, top).reshape(draws, systems, -1)
            base = (weights @ counts.T)[:, :, None]
            none = np.full(total.shape, np.nan)
            out[place] = m.function(np.divide(total, base, out=none, where=base > 0))
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
        value: Floats = self.under(np.ones((1, len(self.values.units))))[:, 0]
        return value

    def under(self, weights: Floats) -> Floats:
        r"""The same under other weights of the users (draws x users): measures x draws x systems.

        Each value is :math:`g(\sum_u w_u c_u / \sum_u w_u)` over the users that have one.
        """
        out = []
        for place, average in self.forms:
            x = average.scores(self.values.x[:, place])
            there = ~np.isnan(x)
            # Not a matrix product: its last digits would depend on the number of threads.
            total = np.einsum("du,su->ds", weights, np.where(there, x, 0))
            base = np.einsum("du,su->ds", weights, there.astype(float))
            none = np.full(total.shape, np.nan)
            out.append(average.finish(np.divide(total, base, out=none, where=base > 0)))
        return np.stack(out)


@dataclass(frozen=True, eq=False)
class RobustnessBasis:
    """Evidence, the ``labels`` of its measures, and what a result says of where it came from.

    ``key`` is a digest of all that values on reduced judgments depend on, besides kind and size.
    """

    evidence: Evidence | ValueEvidence
    labels: list[str]
    systems: tuple[str, ...]
    key: str
    diagnoses: list[Diagnosis]
    protocol: dict[str, Any]
    inputs: tuple[Input, ...]
    unit_frame: pl.DataFrame

    def __post_init__(self) -> None:
        if len(self.systems) < 2:
            raise UsageError(
                "One system has no order to lose.", todo="Give more runs: ten or more."
            )


def judged_basis(request: RobustnessRequest) -> RobustnessBasis:
    """From judgments and runs."""
    measures, policies = request.measures, request.values.policies
    judged = judged_hits(request.values, measures, request.plan)
    pool, labels = judged.pool, [str(m) for m in measures]
    hits = [x for h in judged.hits for x in (h.unit, h.rank, h.judgment, h.first, h.last, h.depth)]
    key = fingerprint(
        "robustness", asdict(policies), request.samples, request.plan.seed, labels,
        pool.units.to_list(), pool.items.to_list(), pool.size, pool.rating, *hits,
    )  # fmt: skip
    return RobustnessBasis(
        Evidence.of(pool, judged.hits, measures, policies), labels, judged.systems, key,
        judged.diagnoses, {name: judged.protocol[name] for name in FROM_EVALUATION}, judged.inputs,
        judged.unit_frame,
    )  # fmt: skip


def value_basis(request: RobustnessRequest) -> RobustnessBasis:
    """From per-unit values, each measure under each mean asked for."""
    values = read_values(request.values)
    forms = request.forms(values.measures)
    places = tuple((values.measures.index(name), Average.of(form)) for form, name in forms.items())
    key = fingerprint(
        "robustness of values", request.samples, request.plan.seed, list(forms),
        values.units.to_list(), values.x,
    )  # fmt: skip
    protocol = {"unit": "unit", "level": request.plan.level, "engine": "local"}
    return RobustnessBasis(
        ValueEvidence(values, places), list(forms), values.systems, key, [], protocol,
        values.inputs, values.frame(),
    )  # fmt: skip


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
    n = hits[0].n
    rank = np.concatenate([h.rank for h in hits])
    tied = any(h.first is not h.rank for h in hits)
    return Hits(
        n=n * len(hits),
        unit=np.concatenate([h.unit + n * s for s, h in enumerate(hits)]),
        rank=rank,
        judgment=np.concatenate([h.judgment for h in hits]),
        rating=np.concatenate([h.rating for h in hits]),
        first=np.concatenate([h.first for h in hits]) if tied else rank,
        last=np.concatenate([h.last for h in hits]) if tied else rank,
        depth=np.concatenate([h.depth for h in hits]),
        present=np.concatenate([h.present for h in hits]),
        expected=hits[0].expected,
    )
