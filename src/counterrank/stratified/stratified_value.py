r"""The stratified value (Jadidinejad et al. 2021, Eq. 4), and the methods beside it.

Every system is judged by all feedback (holdout), by all of it weighted (IPS, SNIPS, and IPS as the
published code computes it), in each stratum, and stratified.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeGuard

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats, Ints, sum_by
from counterrank.core.parallel import map_threads
from counterrank.matching.hits import Hits
from counterrank.matching.pool import Pool
from counterrank.metrics import IDCG, Measure, nDCG, pnDCG, values
from counterrank.metrics.measure import quotient
from counterrank.stats.functions_of_means import Function, geometric_ratio, ratio
from counterrank.stats.units import Key


@dataclass(frozen=True)
class Stratified:
    r""":math:`\sum_q P_q v_q` with shares :math:`P_q = \bar n_q / \sum_q \bar n_q`.

    :math:`v_q` is the value within stratum q, :math:`n_q` a user's feedback there. The columns are
    two for each stratum, what ``within`` makes :math:`v_q` of, then all :math:`n_q`. A stratum
    where nobody has anything to find has no value and no share.
    """

    strata: int
    within: Function = ratio

    def __call__(self, m: Floats) -> Floats:
        """The value."""
        pairs, n = m[..., : 2 * self.strata], m[..., 2 * self.strata :]
        places = range(0, 2 * self.strata, 2)
        value = np.stack([self.within(pairs[..., q : q + 2]) for q in places], axis=-1)
        there = pairs[..., 1::2] != 0
        share = n / np.where(there, n, 0).sum(axis=-1, keepdims=True)
        total: Floats = np.where(there, share * value, 0).sum(axis=-1)
        return total


class Method(NamedTuple):
    """How a measure is estimated, and in which stratum, if in one."""

    estimator: str
    segment: str | None = None

    @property
    def name(self) -> str:
        """What documents call it."""
        return self.segment or self.estimator

    def keys(self, systems: Sequence[str], measure: Measure) -> tuple[Key, ...]:
        """Those of all systems by one measure."""
        label = str(measure)
        return tuple(Key(system, label, self.estimator, None, self.segment) for system in systems)


HOLDOUT, IPS, SNIPS = Method("holdout"), Method("IPS"), Method("SNIPS")
PUBLISHED, STRATIFIED = Method("IPS-published"), Method("stratified")
OPEN_LOOP = Method("open loop")


@dataclass(frozen=True)
class Methods:
    """All methods of some measures in ``strata``, by name.

    ``published`` are the measures for which IPS is also there as the published code computes it.
    """

    measures: tuple[Measure, ...]
    strata: tuple[str, ...]
    published: tuple[Measure, ...]

    @property
    def within(self) -> list[Method]:
        """Each stratum by itself."""
        return [Method(HOLDOUT.estimator, name) for name in self.strata]

    @property
    def all(self) -> list[Method]:
        """All methods, in the order they are shown; one of them only some measures may have."""
        published = [PUBLISHED] * bool(self.published)
        return [HOLDOUT, IPS, SNIPS, *published, STRATIFIED, *self.within]

    def of(self, measure: Measure) -> list[Method]:
        """The methods of one measure."""
        return [own for own in self.all if own != PUBLISHED or measure in self.published]

    def columns(self, systems: int) -> int:
        """How many values of a user are held for so many systems."""
        scores = 2 + bool(self.published) + len(self.strata)
        return len(self.measures) * (scores * systems + 3) + len(self.strata)

    def function(self, measure: Measure, method: Method) -> Function:
        """What a value is of the means of its columns."""
        within = geometric_ratio if measure.mean == "geometric" else ratio
        return Stratified(len(self.strata), within) if method == STRATIFIED else within

    def groups(
        self, systems: Sequence[str], open_loop: bool
    ) -> Iterator[tuple[Measure, Method, tuple[Key, ...]]]:
        """The keys of all systems under each measure and method."""
        for m in self.measures:
            for method in [*self.of(m), *[OPEN_LOOP] * open_loop]:
                yield m, method, method.keys(systems, m)


def weighted_values(
    measures: Sequence[Measure], hits: Hits, pool: Pool, weight: Floats, *, threads: int = 1
) -> Floats:
    r"""IPS: every measure as :math:`\sum_i w_i c_i` (measures x units).

    :math:`c_i` is what item i contributes to the measure, :math:`w_i` its weight.
    """
    out = np.empty((len(measures), pool.n))

    def fill(part: tuple[int, int, Pool]) -> None:
        begin, end, own = part
        some = hits.part(begin, end)
        w = weight[some.judgment]
        for row, m in enumerate(measures):
            out[row, begin:end] = some.sum(w * m.worth(some, own))

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


def greatest_value(measure: Measure, top: float, items: int) -> float:
    r"""The greatest value of a user: 1 of a share, :math:`g(top) \sum_{r \le k} c(r)` of a sum."""
    if measure.bounded:
        return 1.0
    if not measure.linear or measure.better == "lower":
        return float("inf")
    model, factor = measure.rank_weights()
    one = pl.Series(["item"])
    gain = measure.gains(Pool(one, one, np.ones(1, np.int64), np.array([top]), top))
    ranks = np.arange(1, min(items, measure.k or items) + 1)
    return float(factor * gain[0] * model.at(ranks).sum())


def has_labels(measure: Measure) -> TypeGuard[nDCG]:
    """Whether the published form exists: for nDCG only."""
    return isinstance(measure, nDCG) and not isinstance(measure, (pnDCG, IDCG))


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
        score: Floats = values([form], own, self.pool)[0]
        return score


def inverse_labels(
    measures: Sequence[Measure], pool: Pool, weight: Floats
) -> dict[tuple[str, float], InverseLabels]:
    """A pool for each way in which the measures tell what has a gain."""
    forms = {(m.gain, m.rel): m for m in measures if has_labels(m)}
    return {form: InverseLabels.of(pool, m.gains(pool), weight) for form, m in forms.items()}


def published_values(
    measures: Sequence[Measure], hits: Hits, labels: dict[tuple[str, float], InverseLabels]
) -> Floats:
    """IPS as the published code computes it (measures x units), missing where it has no form."""
    out = np.full((len(measures), hits.n), np.nan)
    for row, m in enumerate(measures):
        if has_labels(m):
            out[row] = labels[m.gain, m.rel].scores(m, hits)
    return out
