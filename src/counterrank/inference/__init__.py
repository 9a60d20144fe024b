"""Is the difference real? Intervals, paired tests, corrections, rank correlation."""

from counterrank.inference.dependent import (
    DependentCorrelations,
    dependent_correlations,
    williams,
)
from counterrank.inference.intervals import INTERVALS, RESAMPLES, interval, intervals
from counterrank.inference.multiplicity import CORRECTIONS, benjamini_hochberg, holm
from counterrank.inference.permutation import (
    DRAWS,
    Keep,
    Permuted,
    at_once,
    flipped_test,
    permutation_test,
)
from counterrank.inference.power import detectable
from counterrank.inference.relative import relative_rmse
from counterrank.inference.resample import resampled, weights
from counterrank.inference.tests import TESTS, bootstrap_test, t_test, wilcoxon

__all__ = [
    "CORRECTIONS", "DRAWS", "INTERVALS", "RESAMPLES", "TESTS", "DependentCorrelations", "Keep",
    "Permuted", "at_once", "benjamini_hochberg", "bootstrap_test", "dependent_correlations",
    "detectable", "flipped_test", "holm", "interval", "intervals",
    "permutation_test", "relative_rmse", "resampled", "t_test", "weights",
    "wilcoxon", "williams",
]  # fmt: skip
