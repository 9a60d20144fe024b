"""Cumulative gain and its relatives: CG, DCG, nDCG and post-normalised DCG."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal, TypeGuard

import numpy as np

from counterrank.core.arrays import Bools, Floats
from counterrank.core.errors import UsageError
from counterrank.matching.hits import Hits
from counterrank.matching.pool import Pool
from counterrank.metrics.measure import Definition, Measure, deepest, hit_exposure, quotient
from counterrank.position import Flat, Log2, PositionModel
from counterrank.stats.functions_of_means import Function, ratio_or_zero

LARGEST = 1000  # 2 to the power of a rating beyond this is no number
POWERS = np.exp2(np.arange(LARGEST + 1)) - 1


def gain(rating: Floats, kind: str, rel: float) -> Floats:
    r"""The rating itself, :math:`2^{r} - 1`, or 1 from ``rel`` on.

    Negative ratings mean "not judged" and gain nothing.
    """
    if kind == "binary":
        return (rating >= rel).astype(float)
    positive = np.maximum(rating, 0)
    if kind == "linear":
        return positive
    grade = positive.astype(np.int64)
    if np.array_equal(grade, positive):  # whole grades: look the power up
        return POWERS[grade]
    return np.exp2(positive) - 1


def refuse_overflow(measure: object, pool: Pool) -> None:
    """Exponential gains are for grades, not for counts or seconds."""
    if pool.top > LARGEST:
        raise UsageError(
            f"{measure} raises 2 to the power of ratings.",
            found=f"The greatest rating is {pool.top:g}.",
            todo="Use gain=linear, or map the ratings to grades.",
        )


graded_definition = partial(  # the definition of a graded measure, where it says nothing else
    Definition,
    gain="the rating (gain=linear), 2^rating - 1 (gain=exp) or 1 from rel on (gain=binary)",
    discount="1 / log2(rank + 1), or any exposure model as for DCG",
    ideal="none",
    empty="0 for a user with nothing to gain; policy no_relevant can skip them",
)


@dataclass(frozen=True, kw_only=True)
class Graded(Measure):
    """A measure that adds up gains. ``rel`` matters only to ``gain="binary"``."""

    gain: Literal["linear", "exp", "binary"] = "linear"
    rel: float = 1

    linear: ClassVar[bool] = True
    bounded: ClassVar[bool] = False
    conversions: ClassVar[str] = "some"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rel != 1 and self.gain != "binary":
            raise UsageError(
                f"{self.name}(rel=...) has no effect: its gain is the rating itself.",
                todo=f"Write {self.name}(gain=binary,rel={self.rel:g}), or leave rel out.",
            )

    def defined(self, pool: Pool) -> Bools:
        return gain(pool.best, self.gain, self.rel) > 0

    def gains(self, pool: Pool) -> Floats:
        return gain(pool.rating, self.gain, self.rel)

    @property
    def asks_top(self) -> bool:
        return self.gain == "exp"

    def refuse(self, pool: Pool) -> None:
        if self.gain == "exp":
            refuse_overflow(self, pool)

    @property
    @abstractmethod
    def rank_discount(self) -> PositionModel:
        r""":math:`c(r)`: what a gain at rank :math:`r` counts, before the cut-off."""

    def rank_weights(self) -> tuple[PositionModel, float]:
        return self.rank_discount if self.k is None else self.rank_discount @ self.k, 1.0

    def per_unit(self, hits: Hits, pool: Pool) -> Floats:
        return self.total(hits)

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        return self.terms(hits)

    def divisor(self, pool: Pool) -> Floats:
        """What each unit's `total` is divided by, where judgments alone decide it."""
        return np.ones(pool.n)

    def total(self, hits: Hits) -> Floats:
        r""":math:`\sum_i g_i\, c(r_i)` over the hits within the cut-off."""
        form = (self.gain, self.rel, self.rank_discount, self.k)
        return hits.cached(form, lambda: hits.sum(self.terms(hits)))

    def terms(self, hits: Hits) -> Floats:
        r""":math:`g_i\, c(r_i)` of each hit, 0 beyond the cut-off."""
        c = self.rank_discount
        form = ("terms", self.gain, self.rel, c, self.k)
        gains = partial(gain, hits.rating, self.gain, self.rel)
        return hits.cached(form, lambda: gains() * hit_exposure(hits, c, self.k))


@dataclass(frozen=True, kw_only=True)
class CG(Graded):
    r"""Cumulative gain.

    .. math:: \mathrm{CG}@k = \sum_{i:\, r_i \le k} g_i

    :math:`g_i` is the gain of item :math:`i`, :math:`r_i` its rank.
    """

    about = graded_definition(
        says="The gains of the first k items added up; their order does not matter.",
        formula="CG@k = sum of g(i) over items with rank(i) <= k",
        discount="none",
        peers="trec_eval: not offered. ranx 'hits' equals CG(gain=binary).",
        source="Jarvelin & Kekalainen 2002",
    )

    @property
    def rank_discount(self) -> PositionModel:
        return Flat()


@dataclass(frozen=True, kw_only=True)
class DCG(Graded):
    r"""Discounted cumulative gain.

    .. math:: \mathrm{DCG}@k = \sum_{i:\, r_i \le k} g_i\, c(r_i), \qquad c(r) = 1/\log_2(r+1)

    :math:`g_i` is the gain, :math:`r_i` the rank, :math:`c` the exposure model ``discount``. With
    :math:`c` the chance that a rank is seen, the mean over users estimates a total: what the list
    earns (Jeunen et al. 2024).
    """

    discount: PositionModel = field(default=Log2())

    about = graded_definition(
        says="Gains weighted by how likely their rank is seen. Its mean estimates a total.",
        formula="DCG@k = sum of g(i) * c(rank(i)) over items with rank(i) <= k",
        discount="1 / log2(rank + 1); any exposure model: discount=power(eta=1), geometric(p=0.9),"
        " jarvelin(base=2), table(1,0.5), flat",
        peers="ranx 'dcg' and scikit-learn dcg_score agree (ties aside); ranx 'dcg_burges' is"
        " gain=exp; LensKit's default is discount=jarvelin.",
        source="Jarvelin & Kekalainen 2002; as an off-policy estimate Jeunen et al. 2024",
    )

    @property
    def rank_discount(self) -> PositionModel:
        return self.discount


@dataclass(frozen=True, kw_only=True)
class nDCG(DCG):  # noqa: N801 - the literature's name
    r"""Normalised discounted cumulative gain.

    .. math:: \mathrm{nDCG}@k = \mathrm{DCG}@k \,/\, \mathrm{IDCG}@k

    :math:`\mathrm{IDCG}@k` is the DCG of the user's judged items, best first, cut at :math:`k`
    (``ideal="k"``) or not cut at all (``ideal="all"``); with ``ideal="list"`` that of the items of
    the list itself, best first, cut at :math:`k`.
    """

    ideal: Literal["k", "all", "list"] = "k"

    conversions: ClassVar[str] = ""
    bounded: ClassVar[bool] = True
    about = graded_definition(
        says="DCG as a share of the best this user allows. Its mean is not the mean DCG rescaled:"
        " it can reverse the order of systems (see the agreement diagnostic).",
        formula="nDCG@k = DCG@k / IDCG@k",
        ideal="the user's judged items, best first, cut at k (ideal=k) or uncut (ideal=all); or"
        " the list's own items, best first, cut at k (ideal=list), which says nothing of what is"
        " not listed",
        empty="0 for a user with nothing to gain (trec_eval's rule); policy no_relevant can skip",
        peers="trec_eval ndcg_cut agrees; ndcg with -M k is ideal=all; scikit-learn agrees but"
        " averages ties; ranx 'ndcg' agrees; LensKit: discount=jarvelin, such users skipped;"
        " XGBoost and allRank: gain=exp, such users count 1; RecTools: ideal always has k hits.",
        source="Jarvelin & Kekalainen 2002",
    )

    @property
    def depth(self) -> int | None:
        return None if self.ideal == "list" else self.k

    def per_unit(self, hits: Hits, pool: Pool) -> Floats:
        return quotient(self.total(hits), self.best_total(hits, pool))

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        return quotient(self.terms(hits), self.best_total(hits, pool)[hits.unit])

    def divisor(self, pool: Pool) -> Floats:
        return self.best(pool)

    def best_total(self, hits: Hits, pool: Pool) -> Floats:
        """The DCG of each unit's ideal list, also where it is made of the list's own items."""
        return hits.sum(self.best_terms(hits)) if self.ideal == "list" else self.divisor(pool)

    def best(self, pool: Pool) -> Floats:
        """The DCG of each unit's judged items, best first."""
        depth = self.k if self.ideal == "k" else None

        def compute() -> Floats:
            weight = self.discount.best(int(pool.size.max(initial=1)), depth)
            gains = partial(gain, kind=self.gain, rel=self.rel)
            return pool.sum(lambda rating, rank: gains(rating) * weight[rank - 1])

        return pool.cached((self.gain, self.rel, self.discount, depth), compute)

    def best_terms(self, hits: Hits) -> Floats:
        r""":math:`g_i\, c(r^*_i)`: each hit at its rank among its list's hits, best first."""

        def compute() -> Floats:
            gains = gain(hits.rating, self.gain, self.rel)
            order = np.lexsort((-gains, hits.unit))
            rank = np.empty_like(hits.turn)
            rank[order] = hits.turn  # units stay where they are, so turns are ranks from 0
            return gains * self.discount.best(int(rank.max(initial=0)) + 1, self.k)[rank]

        return hits.cached(("best", self.gain, self.rel, self.discount, self.k), compute)


@dataclass(frozen=True, kw_only=True)
class IDCG(nDCG):
    r"""Ideal discounted cumulative gain: the most that a list of a user could have.

    .. math:: \mathrm{IDCG}@k = \sum_{j=1}^{k} g_{(j)}\, c(j)

    :math:`g_{(j)}` is the :math:`j`-th largest gain among the items of ``ideal``, as for nDCG. But
    for ``ideal="list"`` it is the same for every system: it says what there is to find.
    """

    bounded: ClassVar[bool] = False
    about = graded_definition(
        says="The DCG of the best possible list: what there is to find, and what nDCG divides by.",
        formula="IDCG@k = sum of g(j) * c(j) over the k largest gains g(1) >= g(2) >= ...",
        ideal="as for nDCG: judged items cut at k, uncut, or the list's own items",
        empty="0 for a user with nothing to gain; a user without a list has one all the same",
        peers="ranx and scikit-learn compute it inside nDCG and do not offer it.",
        source="Jarvelin & Kekalainen 2002",
    )

    def per_unit(self, hits: Hits, pool: Pool) -> Floats:
        return self.best_total(hits, pool)

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        return self.best_terms(hits) if self.ideal == "list" else np.zeros(len(hits.rank))

    def standing(self, pool: Pool) -> Floats | None:
        if self.ideal == "list":
            return None
        rank = np.arange(len(pool.unit)) - pool.start[pool.unit]
        depth = self.k if self.ideal == "k" else None
        weight = self.discount.best(int(pool.size.max(initial=1)), depth)
        terms: Floats = self.gains(pool) * weight[rank]
        return terms


@dataclass(frozen=True, kw_only=True)
class pnDCG(nDCG):  # noqa: N801 - the paper's name
    r"""Post-normalised DCG: the ratio of means instead of the mean of ratios.

    .. math:: \mathrm{pnDCG}@k = \sum_u \mathrm{DCG}_u@k \,/\, \sum_u \mathrm{IDCG}_u@k

    It orders systems exactly as DCG does and is at most 1. A unit's value is its DCG divided by
    the mean ideal of all judged users; where every user counts, the values average to the measure.
    """

    geometric: ClassVar[bool] = False
    about = graded_definition(
        says="Mean DCG as a share of the best mean DCG: between 0 and 1, in the order of DCG.",
        formula="pnDCG@k = mean over users of DCG@k / mean over users of IDCG@k",
        ideal="as for nDCG, but averaged over users before dividing",
        empty="a user with nothing to gain adds 0 above and below",
        peers="No other tool seen offers it.",
        source="Jeunen et al. 2024, section 5",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mean != "arithmetic":
            raise UsageError("pnDCG is a ratio of means; it has no geometric form.")
        if self.ideal == "list":
            raise UsageError(
                "pnDCG(ideal=list) would divide systems by different ideals.",
                todo="Use pnDCG, or nDCG(ideal=list).",
            )

    @property
    def plain_mean(self) -> bool:
        return False

    def per_unit(self, hits: Hits, pool: Pool) -> Floats:
        return self.total(hits)  # the ideal divides means, not values

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        return self.terms(hits)

    def base(self, pool: Pool) -> Floats:
        return self.best(pool)

    def factor(self, base: Floats | None) -> float:
        mean = base.mean() if base is not None and len(base) else 0.0
        return float(1 / mean) if mean else 0.0

    def columns(self, x: Floats, base: Floats | None) -> tuple[Floats, ...]:
        assert base is not None
        return x, base

    @property
    def function(self) -> Function:
        return ratio_or_zero


def adds_up(m: Measure) -> TypeGuard[Graded]:
    """Whether it is the mean of `total` over `divisor`; a class of one's own may say otherwise."""
    own = type(m) in (CG, DCG) or (type(m) is nDCG and m.ideal != "list")
    return own and m.mean == "arithmetic"


def dcg_forms(measures: Sequence[Measure]) -> list[tuple[DCG, nDCG]]:
    """DCG and nDCG in each form asked for; if in none, to the largest cut-off."""
    asked = [m for m in measures if isinstance(m, DCG)] or [DCG(k=deepest(measures))]
    forms = dict.fromkeys(DCG(k=m.k, gain=m.gain, rel=m.rel, discount=m.discount) for m in asked)
    return [(m, nDCG(k=m.k, gain=m.gain, rel=m.rel, discount=m.discount)) for m in forms]
