"""Average precision and its two answers to missing judgments: AP, InfAP, Bpref."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from counterrank.core.arrays import Floats
from counterrank.matching.hits import Hits
from counterrank.matching.pool import Pool
from counterrank.metrics.measure import (
    Binary,
    Relevant,
    binary_definition,
    nonrelevant_above,
    quotient,
    relevant,
    scatter_hits,
)

EPSILON = 1e-5  # trec_eval's smoothing of InfAP


class PerRelevant(Binary):
    """A term for each relevant item found, added up and divided by all there are to find."""

    @abstractmethod
    def term(self, hits: Hits, pool: Pool) -> tuple[Relevant, Floats]:
        """The relevant hits and their terms."""

    def divisor(self, pool: Pool) -> Floats:
        """What the sum is divided by."""
        return pool.relevant(self.rel)

    def per_unit(self, hits: Hits, pool: Pool) -> Floats:
        found, term = self.term(hits.within(self.k), pool)
        return quotient(found.sum(term), self.divisor(pool))

    def worth(self, hits: Hits, pool: Pool) -> Floats:
        found, term = self.term(hits, pool)
        near = term if self.k is None else term * (found.rank <= self.k)
        return scatter_hits(near / self.divisor(pool)[found.unit], found.place, hits)


@dataclass(frozen=True, kw_only=True)
class AP(PerRelevant):
    r"""Average precision.

    .. math:: \mathrm{AP}@k = \frac1R \sum_{i:\, r_i \le k} rel_i\, \mathrm{P}@r_i

    :math:`R` is the number of relevant items; with ``over="min"`` the divisor is
    :math:`\min(k, R)`, so that a full list of relevant items scores 1.
    """

    over: Literal["all", "min"] = "all"

    about = binary_definition(
        says="Precision at the rank of each relevant item, averaged over all relevant items.",
        formula="AP@k = sum of P@rank(i) over relevant items i with rank(i) <= k, divided by R",
        discount="none; precision at each hit",
        ideal="divided by all R relevant items (over=all) or by min(k, R) (over=min)",
        peers="trec_eval map and map_cut_k agree; Cornac and recent Microsoft recommenders use"
        " over=min.",
        source="Valcarce et al. 2020, Eq. 4",
    )

    def term(self, hits: Hits, pool: Pool) -> tuple[Relevant, Floats]:
        found = relevant(hits, self.rel)
        return found, (found.above + 1) / found.rank

    def divisor(self, pool: Pool) -> Floats:
        R = pool.relevant(self.rel)
        return np.minimum(R, self.k) if self.over == "min" and self.k is not None else R


@dataclass(frozen=True, kw_only=True)
class InfAP(PerRelevant):
    r"""Inferred average precision.

    .. math::
        \mathrm{InfAP}@k = \frac1R \sum_{i:\, r_i \le k} rel_i\, E_i, \quad
        E_i = \frac{1}{r_i} + \frac{r_i - 1}{r_i} \cdot
              \frac{R_i + \varepsilon}{R_i + N_i + 2 \varepsilon}

    :math:`R_i` and :math:`N_i` count the relevant and the judged non-relevant items above item
    :math:`i`; :math:`\varepsilon = 10^{-5}`; :math:`E_i = 1` at rank 1. ``variant="trec"``
    multiplies the second term by the pooled share of the items above, as trec_eval does.
    """

    variant: Literal["paper", "trec"] = "paper"

    about = binary_definition(
        says="Average precision with the precision above a hit estimated from judged items only.",
        formula="InfAP@k = 1/R * sum over relevant i of"
        " 1/r + (r-1)/r * (rel above + e) / (rel above + nonrel above + 2e), r = rank(i)",
        ideal="divided by all R relevant items",
        peers="rec_eval infAP2 agrees; trec_eval infAP is variant=trec, which takes items outside"
        " the judgments as non-relevant.",
        source="Yilmaz & Aslam 2008; Valcarce et al. 2020, Eqs. 10-11",
    )

    def term(self, hits: Hits, pool: Pool) -> tuple[Relevant, Floats]:
        found = relevant(hits, self.rel)
        r, rel, nonrel = found.rank, found.above, nonrelevant_above(hits, self.rel)
        share: Floats | float = 1.0
        if self.variant == "trec":
            share = hits.turn[found.place] / np.maximum(r - 1, 1)
        precision = (rel + EPSILON) / (rel + nonrel + 2 * EPSILON)
        return found, 1 / r + (r - 1) / r * share * precision


@dataclass(frozen=True, kw_only=True)
class Bpref(PerRelevant):
    r"""Binary preference.

    .. math::
        \mathrm{Bpref}@k = \frac1R \sum_{i:\, r_i \le k} rel_i
        \left(1 - \frac{\min(N_i, R)}{\min(N, R)}\right)

    :math:`N_i` is the number of judged non-relevant items above item :math:`i`, :math:`N` that of
    the user. A hit with none above it counts 1.
    """

    about = binary_definition(
        says="How seldom judged non-relevant items stand above relevant ones; the unjudged are"
        " passed over.",
        formula="Bpref@k = 1/R * sum over relevant i of 1 - min(nonrel above, R) / min(N, R)",
        ideal="divided by all R relevant items",
        peers="trec_eval and rec_eval bpref agree (with -M k: Bpref@k); ranx's differs on graded"
        " judgments.",
        source="Buckley & Voorhees 2004; Valcarce et al. 2020, Eq. 9",
    )

    def term(self, hits: Hits, pool: Pool) -> tuple[Relevant, Floats]:
        found, above = relevant(hits, self.rel), nonrelevant_above(hits, self.rel)
        R, N = pool.relevant(self.rel), pool.nonrelevant(self.rel)
        penalty = quotient(np.minimum(above, R[found.unit]), np.minimum(N, R)[found.unit])
        return found, 1 - penalty
