"""What the numbers rest on: diagnoses with a value, a threshold, a verdict and a sentence."""

from counterrank.diagnostics.diagnosis import VERDICTS, Diagnosis, worst
from counterrank.diagnostics.judged_lists import (
    coverage,
    duplicates,
    judged_share,
    no_relevant,
    relevance,
    sample_size,
    short_lists,
    ties,
    unjudged_users,
)
from counterrank.trust.strata import found_paradoxes, strata_diagnoses

__all__ = [
    "VERDICTS", "Diagnosis", "coverage", "duplicates", "found_paradoxes",
    "judged_share", "no_relevant", "relevance", "sample_size", "short_lists", "strata_diagnoses",
    "ties", "unjudged_users", "worst",
]  # fmt: skip
