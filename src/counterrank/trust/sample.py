"""Diagnoses of the judgments themselves."""

from __future__ import annotations

import numpy as np

from counterrank.hits import Pool
from counterrank.ranking import Measure
from counterrank.trust.diagnosis import Diagnosis, graded


def sample_size(pool: Pool) -> Diagnosis:
    """Normal intervals need some 30 users; below 10 they are no guide."""
    text = f"Intervals and tests rest on {pool.n:,} users."
    if pool.n < 30:
        text += " With so few, prefer --interval t and the permutation test."
    return Diagnosis("sample size", "judgments", float(pool.n), 30.0, graded(pool.n, 30, 10), text)


def no_relevant(pool: Pool, measures: list[Measure], policy: str) -> Diagnosis:
    """Users with nothing to find under the strictest measure asked for."""
    share, label = max((float(np.mean(~m.defined(pool))), str(m)) for m in measures)
    fate = "are left out" if policy == "skip" else "count as 0 for every system"
    verdict = "pass" if share <= 0.2 else "caution"
    text = f"{share:.1%} of the judged users have nothing to find for {label}; they {fate}."
    if share == 0:
        text = "Every judged user has something to find."
    return Diagnosis("no relevant item", "judgments", share, 0.2, verdict, text)
