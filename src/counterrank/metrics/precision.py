"""Measures that count relevant items near the top: P, Recall, F1, Success, Rprec, Judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from counterrank.core.arrays import Bools, Floats
from counterrank.core.errors import UsageError
from counterrank.matching.hits import Hits
from counterrank.matching.pool import Pool
from counterrank.metrics.measure import (
    Binary,
    Definition,
    Measure,
    binary_definition,
    count_rated,
    first_relevant,
    quotient,
    rated_hits,
)
from counterrank.position import Flat, PositionModel


def count_listed(hits: Hits, k: int | None) -> Floats:
    """Number of listed items among the first ``k``."""
    return np.minimum(hits.depth, hits.depth.max(initial=0) if k is None else k).astype(float)


@dataclass(frozen=True, kw_only=True)
class P(Binary):
    r"""Precision.

    .. math:: \mathrm{P}@k = \frac1k \sum_{i:\, r_i \le k} rel_i

    With ``over="listed"``, or without a cut-off, the divisor is the number of items listed.
    """

    over: Literal["k", "listed"] = "k"

    conversions: ClassVar[str] = "some"
    linear: ClassVar[bool] = True
    about = binary_definition(
        says="Share of the first k items that are relevant.",
        formula="P@k = relevant items among the first k / k",
        ideal="none: fewer than k relevant items keep P@k below 1",
        peers="trec_eval P_k agrees (divides by k even for short lists); set_P is over=listed;"
        " implicit's 'precision' divides by min(k, relevant) and is not precision.",
        source="Valcarce et al. 2020, Eq. 1",
    )

    def rank_weights(self) -> tuple[PositionModel, float]:
        if self.k is None or self.over == "listed":
            raise UsageError(f"{self} needs a cut-off to weigh ranks.", todo="Write P@10.")
        return Flat(k=self.k), 1 / self.k

    def per_unit(self, hits: Hits, pool: Pool) -> Floats:
        return quotient(self.found(hits), self.divisor(hits, pool))

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        return quotient(self.near(hits), self.divisor(hits, pool)[hits.unit])

    def divisor(self, hits: Hits, pool: Pool) -> Floats:
        """What the count of relevant items is divided by."""
        if self.k is None or self.over == "listed":
            return count_listed(hits, self.k)
        return np.full(hits.n, float(self.k))


@dataclass(frozen=True, kw_only=True)
class Recall(Binary):
    r"""Recall: :math:`\mathrm{Recall}@k = \frac1R \sum_{i:\, r_i \le k} rel_i`.

    :math:`R` is the number of relevant items of the user.
    """

    linear: ClassVar[bool] = True
    about = binary_definition(
        says="Share of the user's relevant items found among the first k.",
        formula="Recall@k = relevant items among the first k / R",
        ideal="none: more than k relevant items keep Recall@k below 1",
        peers="trec_eval recall_k and set_recall, ranx, LensKit agree; some recommender papers"
        " divide by min(k, R).",
        source="Valcarce et al. 2020, Eq. 2",
    )

    def per_unit(self, hits: Hits, pool: Pool) -> Floats:
        return quotient(self.found(hits), pool.relevant(self.rel))

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        return quotient(self.near(hits), pool.relevant(self.rel)[hits.unit])


@dataclass(frozen=True, kw_only=True)
class F1(P):
    r"""Harmonic mean of precision and recall.

    .. math:: \mathrm{F1}@k = \frac{2\, P\, Recall}{P + Recall} = \frac{2\,h}{k + R}

    :math:`h` is the number of relevant items among the first :math:`k`.
    """

    conversions: ClassVar[str] = ""
    about = binary_definition(
        says="One number between precision and recall, near the smaller of the two.",
        formula="F1@k = 2 * P@k * Recall@k / (P@k + Recall@k)",
        peers="trec_eval and rec_eval set_F with -M k is over=listed.",
        source="Valcarce et al. 2020, Eq. 3",
    )

    def divisor(self, hits: Hits, pool: Pool) -> Floats:
        return (super().divisor(hits, pool) + pool.relevant(self.rel)) / 2


@dataclass(frozen=True, kw_only=True)
class Success(Binary):
    r"""Success: :math:`1[\exists\, i:\, r_i \le k,\ rel_i = 1]`, also called hit rate."""

    about = binary_definition(
        says="1 if any of the first k items is relevant, else 0.",
        formula="Success@k = 1 if some relevant item has rank <= k, else 0",
        peers="trec_eval success_k, ranx hit_rate, LensKit Hit agree.",
        source="trec_eval",
    )

    def per_unit(self, hits: Hits, pool: Pool) -> Floats:
        return (self.found(hits) > 0).astype(float)

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        return first_relevant(hits, self.rel) * self.near(hits)


@dataclass(frozen=True, kw_only=True)
class Rprec(Binary):
    r"""R-precision: :math:`\frac1R \sum_{i:\, r_i \le \min(R, k)} rel_i`."""

    about = binary_definition(
        says="Precision at the number of relevant items the user has; there it equals recall.",
        formula="Rprec = relevant items among the first R / R",
        ideal="none: always reachable",
        peers="trec_eval Rprec agrees (with -M k: Rprec@k); ranx r_precision agrees.",
        source="trec_eval",
    )

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        R = pool.relevant(self.rel)
        cut = R if self.k is None else np.minimum(R, self.k)
        near = (hits.rating >= self.rel) & (hits.rank <= cut[hits.unit])
        return quotient(near.astype(float), R[hits.unit])


@dataclass(frozen=True, kw_only=True)
class Judged(Measure):
    r"""Share of the listed items that the user has judged: how much of the list is evidence."""

    linear: ClassVar[bool] = True
    about: ClassVar[Definition] = Definition(
        says="How much of the list rests on judgments; the rest is assumed worthless.",
        formula="Judged@k = judged items among the first k / listed items among the first k",
        gain="1 if the item has a judgment of 0 or more",
        discount="none",
        ideal="none",
        empty="0 for a user without a list; every judged user counts",
        peers="ir_measures Judged@k agrees where lists are full; trec_eval 10 unj_k is the"
        " unjudged share of k.",
        source="Valcarce et al. 2020, section 6.3.1",
    )

    def defined(self, pool: Pool) -> Bools:
        return np.ones(pool.n, bool)

    def per_unit(self, hits: Hits, pool: Pool) -> Floats:
        return quotient(count_rated(hits, 0, self.k), count_listed(hits, self.k))

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        return quotient(rated_hits(hits, 0, self.k), count_listed(hits, self.k)[hits.unit])

    def gains(self, pool: Pool) -> Floats:
        return (pool.rating >= 0).astype(float)
