"""Do judgments and lists fit together? Counts that merge over partitions, and their diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np
import polars as pl

from counterrank.core.arrays import Bools, Floats
from counterrank.core.faults import Fault
from counterrank.core.merge import first
from counterrank.data.ids import sort_ids
from counterrank.data.schema import Table
from counterrank.diagnostics.diagnostic import Diagnostic, advise, graded
from counterrank.matching.hits import Coverage, Hits
from counterrank.matching.pool import Pool
from counterrank.metrics import Binary, Measure
from counterrank.stats.estimates import Estimate

TIED = 0.01  # share of tied hits above which it is worth knowing what ties decide


def least_id(parts: list[pl.Series]) -> pl.Series:
    """A rule: the first by id."""
    return sort_ids(pl.concat(parts)).head(1)


def few_ids(parts: list[pl.Series]) -> pl.Series:
    """A rule: the first three, enough for a message."""
    return pl.concat(parts).unique().sort().head(3)


@dataclass(frozen=True)
class RatingStatistics:
    """Counts of the judgments of ``users``.

    ``judged`` are rated 0 or more, ``relevant`` at least as high as the mildest threshold ``rel``
    of the binary measures (None: there are none). ``blank`` counts, for each measure, users with
    nothing to find.
    """

    users: int
    judged: int
    relevant: int
    rel: Annotated[float | None, first]
    low: Annotated[float, min]
    top: Annotated[float, max]
    blank: tuple[int, ...]

    @classmethod
    def of(
        cls, pool: Pool, measures: Sequence[Measure], blank: Sequence[Bools]
    ) -> RatingStatistics:
        """Those of a pool; ``blank`` says for each measure who has nothing to find."""
        rel = min((m.rel for m in measures if isinstance(m, Binary)), default=None)
        return cls(
            users=pool.n,
            judged=int(np.count_nonzero(pool.rating >= 0)),
            relevant=0 if rel is None else int(np.count_nonzero(pool.rating >= rel)),
            rel=rel,
            low=float(pool.rating.min(initial=np.inf)),
            top=pool.top,
            blank=tuple(int(np.count_nonzero(x)) for x in blank),
        )


@dataclass(frozen=True)
class ListStatistics:
    """Counts of one system's lists; ``table`` is what messages call them, ``order`` what ranks.

    ``short`` are lists of judged users with fewer items than the largest cut-off, ``hits`` the
    judged items listed, ``tied`` those whose score ties, ``level`` lists of several items and one
    score. ``ties`` is how far the sums of each
    measure's columns move if ties are broken for the worst and for the best (measures x 2 x
    columns). ``missing`` is the first judged user without a list; ``listed`` and ``judged`` are
    some users, where no user of a partition is both.
    """

    table: Annotated[str, first]
    order: Annotated[str, first]
    coverage: Coverage
    short: int
    hits: int
    tied: int
    level: int
    missing: Annotated[pl.Series, least_id]
    listed: Annotated[pl.Series, few_ids]
    judged: Annotated[pl.Series, few_ids]
    ties: Floats | None = None

    @classmethod
    def of(
        cls,
        run: Table,
        pool: Pool,
        hits: Hits,
        seen: Coverage,
        cut: int | None,
        ties: Floats | None = None,
    ) -> ListStatistics:
        """Those of one run; ``cut`` is the largest cut-off."""
        apart = slice(0, None if seen.covered_users == 0 else 0)
        tied = hits.first is not hits.rank
        return cls(
            table=run.name,
            order=run.order,
            coverage=seen,
            short=0 if cut is None else int(np.count_nonzero(hits.depth[hits.present] < cut)),
            hits=len(hits.rank),
            tied=int(np.count_nonzero(hits.last > hits.first)) if tied else 0,
            level=_level(hits) if tied else 0,
            missing=pool.units.filter(pl.Series(~hits.present)).head(1),
            listed=few_ids([run.frame["user"][apart]]),
            judged=few_ids([pool.units[apart]]),
            ties=ties,
        )

    @property
    def tied_share(self) -> float:
        """Share of the hits whose score ties with another item's."""
        return self.tied / max(self.hits, 1)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Listed users without judgments, judged users without a list; of all, none in common."""
        seen, first = self.coverage, {"id": self.missing[0]} if len(self.missing) else {}
        some = {"listed": _some(self.listed), "judged": _some(self.judged)}
        return (
            Fault("user not judged", self.table, count=seen.unjudged_users),
            Fault(
                "judged user without list",
                self.table,
                "",
                seen.missing_users,
                seen.judged_users,
                first,
                some,
            ),
        )


def _level(hits: Hits) -> int:
    """Lists in which every item could stand anywhere: one score is no score."""
    depth = hits.depth[hits.unit]
    return len(np.unique(hits.unit[(hits.first == 1) & (hits.last == depth) & (depth > 1)]))


def _some(ids: pl.Series) -> str:
    return f"{', '.join(map(repr, ids))}, ... ({ids.dtype})"


def sample_size(users: int) -> Diagnostic:
    """Normal intervals need some 30 users; below 10 they are no guide."""
    text = f"Intervals and tests rest on {users:,} user{'s' * (users != 1)}."
    todo = " With so few, prefer --interval t and the permutation test."
    verdict = graded(users, 30, 10)
    return advise("sample size", "judgments", float(users), 30.0, verdict, text, todo)


def no_relevant(ratings: RatingStatistics, measures: Sequence[Measure], policy: str) -> Diagnostic:
    """Users with nothing to find under the strictest measure asked for."""
    each = zip(ratings.blank, measures, strict=True)
    share, label = max((blank / ratings.users, str(m)) for blank, m in each)
    fate = "are left out" if policy == "skip" else "count as 0 for every system"
    verdict = "pass" if share <= 0.2 else "caution" if share < 1 else "fail"
    text = f"{share:.1%} of the judged users have nothing to find for {label}; they {fate}."
    if share == 0:
        text = "Every judged user has something to find."
    elif share == 1:
        text = f"Nobody has anything to find for {label}: the greatest rating is {ratings.top:g}."
    return Diagnostic("no relevant item", "judgments", share, 0.2, verdict, text)


def relevance(ratings: RatingStatistics) -> Diagnostic | None:
    """Share of the judgments that binary measures take as relevant, at the mildest threshold.

    All of them, of several grades, hints at a threshold left at 1 where ratings are stars.
    """
    rel = ratings.rel
    if rel is None or not ratings.judged:
        return None
    share = ratings.relevant / ratings.judged
    low, high = max(ratings.low, 0.0), ratings.top
    text = f"A rating of {rel:g} or more counts as relevant: {share:.1%} of the judgments."
    verdict = "pass"
    if share == 1 and low < high:
        verdict = "caution"
        text += (
            f" That is every rating from {low:g} to {high:g}, the lowest too;"
            f" for stars ask for a threshold, as in P(rel={round(low + 0.75 * (high - low)):g})@10."
        )
    return Diagnostic("relevance", "judgments", share, 1.0, verdict, text)


def coverage(system: str, seen: Coverage, missing: str, who: str = "judged users") -> Diagnostic:
    """Users who have a list; below 99 % caution, below half fail."""
    share = seen.covered_users / seen.judged_users
    fate = {"zero": "count as 0", "skip": "are left out"}.get(missing, "are refused")
    text = f"{seen.covered_users:,} of {seen.judged_users:,} {who} have a list"
    if seen.missing_users:
        text += f"; the other {seen.missing_users:,} {fate}"
    return Diagnostic("coverage", system, share, 0.99, graded(share, 0.99, 0.5), text + ".")


def unjudged_users(system: str, seen: Coverage) -> Diagnostic:
    """Users of the run without judgments: ignored, but more than half hints at a wrong join."""
    total = seen.covered_users + seen.unjudged_users
    share = seen.unjudged_users / total
    verdict = "caution" if share > 0.5 else "pass"
    text = f"{seen.unjudged_users:,} of {total:,} listed users have no judgment and are ignored."
    return Diagnostic("unjudged users", system, share, 0.5, verdict, text)


def short_lists(system: str, lists: ListStatistics, k: int | None) -> Diagnostic | None:
    """Lists shorter than the largest cut-off: their empty places count as misses."""
    if k is None or not lists.coverage.covered_users:
        return None
    share = lists.short / lists.coverage.covered_users
    verdict = "caution" if share > 0.05 else "pass"
    text = f"{share:.1%} of the lists have fewer than {k} items; empty places count as misses."
    return Diagnostic("short lists", system, share, 0.05, verdict, text)


def duplicates(system: str, seen: Coverage) -> Diagnostic:
    """Rows dropped because their item stood in the list already (policy first)."""
    verdict = "caution" if seen.duplicates else "pass"
    text = f"{seen.duplicates:,} of {seen.rows:,} rows repeat an item of their list."
    todo = " Only its best place was kept."
    return advise("duplicates", system, float(seen.duplicates), 0.0, verdict, text, todo)


def judged_share(system: str, share: float, k: int | None) -> Diagnostic:
    """Share of listed items that are judged, mean over lists: all else counts as worthless."""
    top = "the lists" if k is None else f"the first {k}"
    text = f"{share:.1%} of {top} is judged; all else counts as not relevant."
    return Diagnostic("judged share", system, share, 0.01, graded(share, 0.01, 0.0), text)


def ties(
    system: str,
    lists: ListStatistics,
    measures: Sequence[Measure],
    bracket: Callable[[int], tuple[float, float, float]],
) -> Diagnostic:
    """Share of hits whose score ties with another item's.

    Above 1 % caution; if the best and the worst order differ by more than the interval of some
    measure is wide, fail: the order of ties decides more than chance does. ``bracket`` gives the
    worst and the best value of a measure by its place, and how wide its interval is.
    """
    share = lists.tied_share
    text = f"{share:.1%} of the judged items listed tie with another item."
    verdict = "pass" if share <= TIED else "caution"
    if lists.level:
        text += f" {lists.level:,} of {lists.coverage.covered_users:,} users have no scores: all"
        text += " items of such a list have the same."
    if share > TIED:
        wide = []
        for place, m in enumerate(measures):
            low, high, width = bracket(place)
            if high - low > np.nan_to_num(width):  # one user has no interval
                wide.append(f"{m} {low:.4f} to {high:.4f}")
        if wide:
            verdict = "fail"
            text += f" The order of ties decides: {', '.join(wide)}."
    return Diagnostic("ties", system, share, TIED, verdict, text)


def agreement(
    systems: Sequence[str],
    dcg: Sequence[Estimate],
    ndcg: Sequence[Estimate],
    labels: tuple[str, str],
) -> Diagnostic:
    """Compare the orders of all systems by their DCG and by their nDCG, over the same units.

    An inversion is named by the pair whose two differences are furthest from zero, in standard
    errors of the smaller.
    """
    from counterrank.stats.correlation import inversion_rate

    total, share = (np.array([e.value for e in each]) for each in (dcg, ndcg))
    rate = inversion_rate(total, share)
    flips = [
        (min(abs(_z(dcg[a], dcg[b])), abs(_z(ndcg[a], ndcg[b]))), a, b)
        for a, b in combinations(range(len(systems)), 2)
        if (total[a] - total[b]) * (share[a] - share[b]) < 0
    ]
    if not flips:
        text = f"{labels[0]} and {labels[1]} put the systems in the same order."
        return Diagnostic("agreement", ", ".join(labels), rate, 0.0, "pass", text)
    strength, a, b = max(flips)
    a, b = (a, b) if total[a] > total[b] else (b, a)
    pairs = "1 pair" if len(flips) == 1 else f"{len(flips)} pairs"
    text = (
        f"{labels[0]} and {labels[1]} order {pairs} differently: DCG puts {systems[a]} above"
        f" {systems[b]} ({total[a]:.4f} against {total[b]:.4f}), nDCG the reverse"
        f" ({share[a]:.4f} against {share[b]:.4f}). DCG estimates a total; nDCG, a mean of"
        " ratios, does not (Jeunen et al. 2024, Lemma 5.2)."
    )
    if strength < 1.96:
        text += " One of these differences may be chance."
    return Diagnostic("agreement", ", ".join(labels), rate, 0.0, "caution", text)


def _z(a: Estimate, b: Estimate) -> float:
    """The difference in standard errors; the spread is that of all units, not of a sample."""
    d = a - b
    spread = d.se * np.sqrt((d.n - 1) / d.n)
    return float(d.value / spread) if spread > 0 else 0.0
