"""Measures of a user who reads from the top and stops: RR, ERR, RBP, ARP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterrank.core.arrays import Bools, Floats, products_before
from counterrank.core.errors import UsageError
from counterrank.matching.hits import Hits
from counterrank.matching.pool import Pool
from counterrank.metrics.dcg import LARGEST, gain, refuse_overflow
from counterrank.metrics.measure import (
    Binary,
    Definition,
    Measure,
    binary_definition,
    first_relevant,
    hit_exposure,
    quotient,
    relevant,
    scatter_hits,
)
from counterrank.position import Geometric, PositionModel


@dataclass(frozen=True, kw_only=True)
class RR(Binary):
    r"""Reciprocal rank: :math:`\mathrm{RR}@k = 1 / \min\{r_i :\, rel_i = 1,\ r_i \le k\}`, or 0."""

    about = binary_definition(
        says="One over the rank of the first relevant item.",
        formula="RR@k = 1 / rank of the first relevant item, 0 if it is beyond k",
        discount="1 / rank, of the first hit only",
        ideal="none: always reachable",
        peers="trec_eval recip_rank, ranx mrr, LensKit RecipRank agree.",
        source="Valcarce et al. 2020, Eq. 6 (its minimum runs over ranks of relevant items)",
    )

    def per_unit(self, hits: Hits, pool: Pool) -> Floats:
        found = relevant(hits.within(self.k), self.rel)
        return found.sum((found.above == 0) / found.rank)

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        return first_relevant(hits, self.rel) * self.near(hits) / hits.rank


@dataclass(frozen=True, kw_only=True)
class ERR(Measure):
    r"""Expected reciprocal rank.

    .. math::
        \mathrm{ERR}@k = \sum_{i:\, r_i \le k} \frac{G_i}{r_i} \prod_{j:\, r_j < r_i} (1 - G_j),
        \qquad G_i = \frac{2^{g_i} - 1}{2^{g_{\max}}}

    :math:`G_i` is the chance that item :math:`i` satisfies, from its rating :math:`g_i`.
    :math:`g_{\max}` is the greatest rating of the data set (``top="data"``), of the user
    (``top="user"``, as rec_eval) or a given number.
    """

    top: str | float = "data"

    about: ClassVar[Definition] = Definition(
        says="Expected value of one over the rank at which the user stops, satisfied.",
        formula="ERR@k = sum of G(i) / rank(i) * product of (1 - G(j)) over items j above i,"
        " G = (2^rating - 1) / 2^max",
        gain="(2^rating - 1) / 2^max; max of the data set (top=data), of the user (top=user), or"
        " given (top=4)",
        discount="1 / rank, times the chance to get there",
        ideal="none: the best is below 1",
        empty="0 for a user without a positive rating; policy no_relevant can skip them",
        peers="rec_eval err is top=user, which inflates users without the best grade; gdeval and"
        " ir_measures use a fixed maximum (top=4).",
        source="Chapelle et al. 2009; Valcarce et al. 2020, Eqs. 7-8",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top not in ("data", "user") and not isinstance(self.top, (int, float)):
            raise UsageError(f'ERR(top=...) takes data, user or a number, not "{self.top}".')

    def defined(self, pool: Pool) -> Bools:
        return pool.best > 0

    def gains(self, pool: Pool) -> Floats:
        return gain(pool.rating, "exp", rel=1)

    def per_unit(self, hits: Hits, pool: Pool) -> Floats:
        near = hits.within(self.k)
        return near.sum(self._chance(near, pool))

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        near = hits.within(self.k)
        places = np.flatnonzero(hits.rank <= (self.k or hits.deepest))
        return scatter_hits(self._chance(near, pool), places, hits)

    def _chance(self, hits: Hits, pool: Pool) -> Floats:
        """One over the rank, times the chance that the user gets there and stops."""
        stop = gain(hits.rating, "exp", rel=1) / self._most(hits, pool)
        return products_before(hits.size, 1 - stop) * stop / hits.rank

    def _most(self, hits: Hits, pool: Pool) -> Floats | float:
        r""":math:`2^{g_{\max}}`, common to all or for each hit."""
        if self.top == "user":
            best: Floats = np.exp2(np.maximum(pool.best, 0))
            return best[hits.unit]
        return float(np.exp2(max(pool.top, 0) if self.top == "data" else float(self.top)))

    @property
    def asks_top(self) -> bool:
        return True

    def refuse(self, pool: Pool) -> None:
        refuse_overflow(self, pool)
        if not isinstance(self.top, str) and not pool.top <= self.top <= LARGEST:
            raise UsageError(
                f"{self} expects ratings up to {self.top:g} (at most {LARGEST}).",
                found=f"The greatest is {pool.top:g}.",
            )


@dataclass(frozen=True, kw_only=True)
class RBP(Binary):
    r"""Rank-biased precision.

    .. math:: \mathrm{RBP}@k = (1 - p) \sum_{i:\, r_i \le k} rel_i\, p^{r_i - 1}

    :math:`p` is the persistence: the chance to look at the next item.
    """

    p: float = 0.8

    conversions: ClassVar[str] = "some"
    linear: ClassVar[bool] = True
    about = binary_definition(
        says="Rate of relevant items among those looked at by a user who goes on with chance p.",
        formula="RBP@k = (1 - p) * sum of p^(rank(i) - 1) over relevant items i with rank(i) <= k",
        discount="geometric: p^(rank - 1), p = 0.8",
        ideal="none: the best depends on p and the number of relevant items",
        peers="ir_measures RBP(p=0.8,rel=1), ranx rbp.80, trec_eval 10 rbp agree for the same p.",
        source="Moffat & Zobel 2008",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        Geometric(self.p)

    def rank_weights(self) -> tuple[PositionModel, float]:
        return Geometric(self.p, k=self.k), 1 - self.p

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        relevant = hits.rating >= self.rel
        return (1 - self.p) * relevant * hit_exposure(hits, Geometric(self.p), self.k)


@dataclass(frozen=True, kw_only=True)
class ARP(Binary):
    r"""Average relevance position: the mean rank of the user's relevant items; lower is better.

    .. math:: \mathrm{ARP}@k = \frac1R \sum_i rel_i \min(r_i, k + 1)

    A relevant item that is not listed within :math:`k` takes rank :math:`k + 1`, so the cut-off is
    needed: without it, shorter lists would lose less by leaving items out.
    """

    better: ClassVar[str] = "lower"
    bounded: ClassVar[bool] = False
    about = binary_definition(
        says="Mean rank of the relevant items; lower is better.",
        formula="ARP@k = 1/R * sum over relevant items i of min(rank(i), k + 1)",
        discount="none: the rank itself",
        ideal="(R + 1) / 2",
        empty="0 for a user with no relevant item: the same for every system; policy no_relevant"
        " can skip them. A user without a list has every item at k + 1",
        peers="Saito's slides sum the ranks of complete rankings (RankSum of a funnel); per"
        " relevant item that is ARP.",
        source="Saito 2020; Joachims et al. 2017",
    )

    def refuse(self, pool: Pool) -> None:
        if self.k is None:
            raise UsageError(
                "ARP needs a cut-off: an item that is not listed takes the rank below it.",
                todo="Ask for ARP@100, or for the length of your lists.",
            )

    def per_unit(self, hits: Hits, pool: Pool) -> Floats:
        R = pool.relevant(self.rel)
        return quotient(hits.sum(self._gap(hits)) + self._worst * R, R)

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        return quotient(self._gap(hits), pool.relevant(self.rel)[hits.unit])

    def standing(self, pool: Pool) -> Floats:
        return quotient(self._worst * self.gains(pool), pool.relevant(self.rel)[pool.unit])

    @property
    def _worst(self) -> int:
        """The rank of what is not listed."""
        return (self.k or 0) + 1

    def _gap(self, hits: Hits) -> Floats:
        """How far each relevant hit stands above the rank of what is not listed, below 0."""
        near = (hits.rating >= self.rel) & (hits.rank < self._worst)
        return ((hits.rank - self._worst) * near).astype(float)
