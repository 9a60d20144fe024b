"""What would that recommender have sold? Estimators from clicks and conversions after clicks."""

from counterrank.conversions.estimators import (
    CTR,
    DEFAULTS,
    FORMULAS,
    KINDS,
    Naive,
    OfClicks,
    conversion_estimator,
)
from counterrank.conversions.gather import Predict, Work, summed_up
from counterrank.conversions.ledger import GRID, PAIRS, USERS, Ledger
from counterrank.conversions.measures import DEFAULTS as MEASURES
from counterrank.conversions.measures import Weighting, weighting
from counterrank.conversions.predicted import (
    COLUMN,
    clicks_of_model,
    known,
    learnt,
    of_ledger,
    of_model,
    of_run,
)
from counterrank.conversions.reading import Tables, read
from counterrank.conversions.valued import Key, Valued, estimated, valued
from counterrank.conversions.variance import (
    VarianceRatio,
    dr_variance,
    ips_variance,
    variance_gain,
)

__all__ = [
    "COLUMN", "CTR", "DEFAULTS", "FORMULAS", "GRID", "KINDS", "MEASURES", "PAIRS", "USERS", "Key",
    "Ledger", "Naive", "OfClicks", "Predict", "Tables", "Valued", "VarianceRatio", "Weighting",
    "Work", "clicks_of_model", "conversion_estimator", "dr_variance", "estimated", "ips_variance",
    "known",
    "learnt", "of_ledger", "of_model", "of_run", "read", "summed_up", "valued", "variance_gain",
    "weighting",
]  # fmt: skip
