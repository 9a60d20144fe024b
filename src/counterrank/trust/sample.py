"""Diagnoses of the judgments themselves."""

from __future__ import annotations

from collections.abc import Sequence

from counterrank.diagnostics.diagnosis import Diagnosis, graded
from counterrank.judged import Ratings
from counterrank.ranking import Measure


def sample_size(users: int) -> Diagnosis:
    """Normal intervals need some 30 users; below 10 they are no guide."""
    text = f"Intervals and tests rest on {users:,} user{'s' * (users != 1)}."
    if users < 30:
        text += " With so few, prefer --interval t and the permutation test."
    return Diagnosis("sample size", "judgments", float(users), 30.0, graded(users, 30, 10), text)


def no_relevant(ratings: Ratings, measures: Sequence[Measure], policy: str) -> Diagnosis:
    """Users with nothing to find under the strictest measure asked for."""
    each = zip(ratings.blank, measures, strict=True)
    share, label = max((blank / ratings.users, str(m)) for blank, m in each)
    fate = "are left out" if policy == "skip" else "count as 0 for every system"
    verdict = "pass" if share <= 0.2 else "caution" if share < 1 else "fail"
    text = f"{share:.1%} of the judged users have nothing to find for {label}; they {fate}."
    if share == 0:
        text = "Every judged user has something to find."
    if share == 1:
        text = f"Nobody has anything to find for {label}: the greatest rating is {ratings.top:g}."
    return Diagnosis("no relevant item", "judgments", share, 0.2, verdict, text)


def relevance(ratings: Ratings) -> Diagnosis | None:
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
    return Diagnosis("relevance", "judgments", share, 1.0, verdict, text)
