"""What the numbers rest on: diagnoses with a value, a threshold, a verdict and a sentence."""

from counterrank.diagnostics.diagnosis import VERDICTS, Diagnosis, worst
from counterrank.trust.agreement import Ordered, agreement
from counterrank.trust.lists import coverage, duplicates, judged_share, short_lists, unjudged_users
from counterrank.trust.sample import no_relevant, relevance, sample_size
from counterrank.trust.ties import ties

__all__ = [
    "VERDICTS", "Diagnosis", "Ordered", "agreement", "coverage", "duplicates",
    "judged_share", "no_relevant", "relevance", "sample_size", "short_lists",
    "ties", "unjudged_users", "worst",
]  # fmt: skip
