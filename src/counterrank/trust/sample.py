"""Diagnoses of the judgments themselves."""

from __future__ import annotations

import numpy as np

from counterrank.hits import Pool
from counterrank.ranking import Binary, Measure
from counterrank.trust.diagnosis import Diagnosis, graded


def sample_size(users: int) -> Diagnosis:
    """Normal intervals need some 30 users; below 10 they are no guide."""
    text = f"Intervals and tests rest on {users:,} user{'s' * (users != 1)}."
    if users < 30:
        text += " With so few, prefer --interval t and the permutation test."
    return Diagnosis("sample size", "judgments", float(users), 30.0, graded(users, 30, 10), text)


def no_relevant(pool: Pool, measures: list[Measure], policy: str) -> Diagnosis:
    """Users with nothing to find under the strictest measure asked for."""
    share, label = max((float(np.mean(~m.defined(pool))), str(m)) for m in measures)
    fate = "are left out" if policy == "skip" else "count as 0 for every system"
    verdict = "pass" if share <= 0.2 else "caution" if share < 1 else "fail"
    text = f"{share:.1%} of the judged users have nothing to find for {label}; they {fate}."
    if share == 0:
        text = "Every judged user has something to find."
    if share == 1:
        text = f"Nobody has anything to find for {label}: the greatest rating is {pool.top:g}."
    return Diagnosis("no relevant item", "judgments", share, 0.2, verdict, text)


def relevance(pool: Pool, measures: list[Measure]) -> Diagnosis | None:
    """Share of the judgments that binary measures take as relevant, at the mildest threshold.

    All of them, of several grades, hints at a threshold left at 1 where ratings are stars.
    """
    rels = [m.rel for m in measures if isinstance(m, Binary)]
    judged = np.count_nonzero(pool.rating >= 0)
    if not rels or not judged:
        return None
    share = np.count_nonzero(pool.rating >= min(rels)) / judged
    low, high = max(float(pool.rating.min()), 0.0), pool.top
    text = f"A rating of {min(rels):g} or more counts as relevant: {share:.1%} of the judgments."
    verdict = "pass"
    if share == 1 and low < high:
        verdict = "caution"
        text += (
            f" That is every rating from {low:g} to {high:g}, the lowest too;"
            f" for stars ask for a threshold, as in P(rel={round(low + 0.75 * (high - low)):g})@10."
        )
    return Diagnosis("relevance", "judgments", share, 1.0, verdict, text)
