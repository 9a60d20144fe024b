"""What every judged measure is: a value with a label, a definition and a per-unit formula."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from operator import index
from typing import Annotated, ClassVar, Literal, Self

import numpy as np

from counterrank.core.arguments import Between, check_fields
from counterrank.core.arrays import Bools, Floats, Ints, divide, sum_by
from counterrank.core.errors import UsageError
from counterrank.core.faults import DataError, Fault
from counterrank.core.labels import Value
from counterrank.core.parallel import cached_property, map_threads
from counterrank.matching.hits import Hits
from counterrank.matching.pool import Pool
from counterrank.position import Flat, PositionModel
from counterrank.stats.functions_of_means import Function, geometric, mean


@dataclass(frozen=True)
class Definition:
    """What ``counterrank measures NAME`` prints. ``peers`` says who agrees and who differs."""

    says: str
    formula: str
    gain: str = ""
    discount: str = ""
    ideal: str = ""
    empty: str = ""
    peers: str = ""
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Measure(Value):
    """A judged measure at cut-off ``k``, averaged by ``mean`` (geometric: floored at ``floor``).

    One of your own says in `worth` what each hit adds to its user's value, or in `per_unit` what a
    whole list is worth; the other methods have defaults. Options are fields of the dataclass.
    Without ``about``, the first line of its docstring is its definition.
    """

    k: int | None = None
    mean: Literal["arithmetic", "geometric"] = "arithmetic"
    floor: Annotated[float, Between(0, 1, "both")] = 1e-5

    about: ClassVar[Definition] = Definition("", "")
    better: ClassVar[str] = "higher"
    linear: ClassVar[bool] = False  # a sum of gain * exposure: has an exact mean over tie orders
    bounded: ClassVar[bool] = True  # lies between 0 and 1
    geometric: ClassVar[bool] = True  # has a geometric mean
    conversions: ClassVar[str] = ""  # also one of a funnel, by `rank_weights`: of all items or some

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "about" not in vars(cls) and cls.__doc__:
            cls.about = Definition(*[cls.__doc__.strip().partition("\n")[0]] * 2)

    def __post_init__(self) -> None:
        if self.k is not None and not (isinstance(self.k, Integral) and 1 <= self.k < 1 << 31):
            raise UsageError(f"A cut-off must be a whole number from 1, not {self.k}.")
        check_fields(self, self.name)
        if self.floor != Measure.floor and self.mean != "geometric":
            raise UsageError(f"{self.name}(floor=...) needs mean=geometric.")
        if not 0 <= getattr(self, "rel", 0) < np.inf:
            raise UsageError(f"{self.name}(rel=...) must be 0 or more: below is not judged.")

    def __matmul__(self, k: int) -> Self:
        """``nDCG() @ 10``: the same measure at another cut-off."""
        return replace(self, k=index(k))

    def refuse(self, pool: Pool) -> None:
        """Raise if the ratings of this data set make no sense for the measure."""

    @property
    def asks_top(self) -> bool:
        """Whether the greatest rating of the data set must be known before the values."""
        return False

    @property
    def depth(self) -> int | None:
        """The deepest rank it looks at; None: the whole list."""
        return self.k

    @property
    def plain_mean(self) -> bool:
        """Whether the value is the mean of per-unit values between 0 and 1."""
        return self.bounded and self.mean == "arithmetic"

    def per_unit(self, hits: Hits, pool: Pool) -> Floats:
        """The formula: the measure of each unit's list, from that unit's hits and judgments."""
        return hits.sum(self.worth(hits, pool))

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        """What each hit adds to its unit's value, so that hits can be weighted one by one."""
        raise UsageError(
            f"{self} does not say what each item adds, which is needed here.",
            todo="Take a sum over items, such as DCG; a measure of your own says it in worth.",
        )

    def standing(self, pool: Pool) -> Floats | None:
        """What each judgment adds wherever its item is listed, or not at all; None: nothing."""
        return None

    def rank_weights(self) -> tuple[PositionModel, float]:
        r"""Of a linear measure :math:`c(r)` and a factor: what a gain at rank :math:`r` counts.

        What a user's own judgments divide the sum by, as in nDCG and Recall, is left out.
        """
        raise UsageError(f"{self} does not weigh ranks: it is no sum of gains times weights.")

    def gains(self, pool: Pool) -> Floats:
        """How much there is to find in each judgment: 0 where there is nothing."""
        return np.maximum(pool.rating, 0.0)

    def base(self, pool: Pool) -> Floats | None:
        """What each unit adds below the line of a ratio of means; None: units count alike."""
        return None

    def factor(self, base: Floats | None) -> float:
        """A factor common to all units of the data set, from the bases of all of them."""
        return 1.0

    def scale(self, pool: Pool) -> float:
        """The factor where the pool is the whole data set."""
        return self.factor(self.base(pool))

    def defined(self, pool: Pool) -> Bools:
        """Units for which the measure is defined: those with something to find."""
        return pool.best > 0

    def columns(self, x: Floats, base: Floats | None) -> tuple[Floats, ...]:
        """What is averaged over units: their values ``x``, or logarithms of them, floored."""
        return (np.log(np.maximum(x, self.floor)),) if self.mean == "geometric" else (x,)

    @property
    def function(self) -> Function:
        """The measure of all units, from the means of ``columns``."""
        return geometric if self.mean == "geometric" else mean


binary_definition = partial(  # the definition of a binary measure, where it says nothing else
    Definition,
    gain="1 if the rating is rel or better (rel=1 by default), else 0",
    discount="none",
    ideal="none",
    empty="0 for a user with no relevant item (trec_eval's rule); policy no_relevant can skip them",
)


@dataclass(frozen=True, kw_only=True)
class Binary(Measure):
    """A measure that asks only whether an item is relevant: rated ``rel`` or better."""

    rel: float = 1

    def defined(self, pool: Pool) -> Bools:
        return pool.best >= self.rel

    def gains(self, pool: Pool) -> Floats:
        return (pool.rating >= self.rel).astype(float)

    def found(self, hits: Hits) -> Floats:
        """Number of relevant items among the first ``k``."""
        return count_rated(hits, self.rel, self.k)

    def near(self, hits: Hits) -> Floats:
        """1 for each relevant item among the first ``k``, else 0."""
        return rated_hits(hits, self.rel, self.k)


def count_rated(hits: Hits, rel: float, k: int | None) -> Floats:
    """Number of items rated ``rel`` or better among the first ``k``, or its mean over ties."""
    if not hits.expected:
        return relevant(hits.within(k), rel).size.astype(float)
    return hits.sum(rated_hits(hits, rel, k))


def rated_hits(hits: Hits, rel: float, k: int | None) -> Floats:
    """1 for each hit rated ``rel`` or better among the first ``k``, or its mean over ties."""
    if hits.expected:
        return (hits.rating >= rel) * hit_exposure(hits, Flat(), k)
    good = hits.rating >= rel
    return (good if k is None else good & (hits.rank <= k)).astype(float)


def scatter_hits(x: Floats, places: Ints, hits: Hits) -> Floats:
    """Values of some of the hits as values of all: 0 elsewhere."""
    out = np.zeros(len(hits.rank))
    out[places] = x
    return out


def hit_exposure(hits: Hits, model: PositionModel, k: int | None) -> Floats:
    r"""Exposure of each hit: :math:`c(r)\,1[r \le k]`, or its mean over orders of tied items."""
    if not hits.expected:
        return _weights(hits, model, k)
    cut = hits.last.max(initial=1) if k is None else k
    inside = np.minimum(hits.last, cut)
    some = inside >= hits.first
    inside = np.maximum(inside, hits.first)
    share = (inside - hits.first + 1) / (hits.last - hits.first + 1)
    return model.between(hits.first, inside) * share * some


def _weights(hits: Hits, model: PositionModel, k: int | None) -> Floats:
    """:math:`c(r)`, looked up: there are far fewer ranks than hits."""
    cut = hits.deepest if k is None else k
    if hits.deepest > len(hits.rank):
        return model.at(hits.rank) * (hits.rank <= cut)
    weight = np.zeros(hits.deepest + 1)
    weight[1 : cut + 1] = model.at(np.arange(1, min(cut, hits.deepest) + 1))
    return weight[hits.rank]


quotient = partial(divide, empty=0.0)  # 0 where there is nothing to divide by


def deepest(measures: Iterable[Measure]) -> int | None:
    """The deepest rank any of the measures looks at; None: the whole list."""
    cuts = [m.depth for m in measures]
    return None if None in cuts else max(k for k in cuts if k is not None)


def values(measures: Sequence[Measure], hits: Hits, pool: Pool) -> Floats:
    """Every measure of every unit (measures x units)."""
    out = unscaled(measures, hits, pool)
    for row, m in enumerate(measures):
        out[row] *= m.scale(pool)
    return out


def unscaled(measures: Sequence[Measure], hits: Hits, pool: Pool, *, threads: int = 1) -> Floats:
    """The same before what concerns all units of the data set, part by part."""
    out = np.empty((len(measures), pool.n))

    def fill(part: tuple[int, int, Pool]) -> None:
        begin, end, own = part
        found = hits.part(begin, end)
        for row, m in enumerate(measures):
            out[row, begin:end] = x = m.per_unit(found, own)
            if not np.isfinite(x.sum()) and not (known := np.isfinite(x)).all():
                raise _no_number(m, own, ~known)

    map_threads(fill, pool.parts, threads)
    return out


def _no_number(m: Measure, pool: Pool, bad: Bools) -> DataError:
    places = np.flatnonzero(bad)
    first = {"id": pool.units[int(places[0])]}
    return DataError(Fault("no number", "", str(m), len(places), len(bad), first))


@dataclass(frozen=True, eq=False)
class Relevant:
    r"""Relevant hits: ``place`` among all hits, ``unit`` and ``rank`` :math:`r_i` of each."""

    units: int
    place: Ints
    unit: Ints
    rank: Ints

    @cached_property
    def size(self) -> Ints:
        """How many each unit has."""
        return np.bincount(self.unit, minlength=self.units)

    @cached_property
    def above(self) -> Ints:
        r""":math:`R_i`: how many relevant items stand above each."""
        begin: Ints = np.cumsum(self.size) - self.size
        return np.arange(len(self.unit)) - begin[self.unit]

    def sum(self, x: Floats) -> Floats:
        """Sum over each unit's relevant hits."""
        return sum_by(self.unit, x, self.units)


def relevant(hits: Hits, rel: float) -> Relevant:
    """The hits rated ``rel`` or better."""

    def compute() -> Relevant:
        place = np.flatnonzero(hits.rating >= rel)
        return Relevant(hits.n, place, hits.unit[place], hits.rank[place])

    return hits.cached(("relevant", rel), compute)


def first_relevant(hits: Hits, rel: float) -> Floats:
    """1 for the first relevant hit of each list, else 0."""

    def compute() -> Floats:
        found, first = relevant(hits, rel), np.zeros(len(hits.rank))
        first[found.place[found.above == 0]] = 1
        return first

    return hits.cached(("first relevant", rel), compute)


def nonrelevant_above(hits: Hits, rel: float) -> Ints:
    r""":math:`N_i`: how many judged non-relevant items stand above each relevant hit."""

    def compute() -> Ints:
        found = relevant(hits, rel)
        others: Ints = hits.turn[found.place] - found.above
        hidden = hits.rating < 0  # pooled, but not judged
        return others - hits.above(hidden)[found.place] if hidden.any() else others

    return hits.cached(("nonrelevant above", rel), compute)
