"""What would that recommender have sold? Estimators from clicks and conversions after clicks."""

from counterrank.conversions.census import GRID, PAIRS, USERS, Census, Lists, counted, counts
from counterrank.conversions.chances import Chances
from counterrank.conversions.estimated import estimated, width
from counterrank.conversions.estimators import (
    CTR,
    DEFAULTS,
    FORMULAS,
    KINDS,
    Naive,
    OfClicks,
    conversion_estimator,
)
from counterrank.conversions.gather import Asked, Predict, summed_up
from counterrank.conversions.ledger import Ledger, Rules
from counterrank.conversions.measures import DEFAULTS as MEASURES
from counterrank.conversions.measures import Weighting, weighting
from counterrank.conversions.predicted import Fits, fits, known, learnt
from counterrank.conversions.reading import FUNNEL, PREDICTIONS, doors, refuse_both
from counterrank.conversions.record import COLUMN, Record, chosen, given, recorded, together
from counterrank.conversions.refuse import refuse
from counterrank.conversions.sold import Sale, Sold, few_clicks, gathered, sold
from counterrank.conversions.valued import Key, Valued
from counterrank.conversions.variance import (
    VarianceRatio,
    dr_variance,
    ips_variance,
    variance_gain,
)

__all__ = [
    "COLUMN", "CTR", "DEFAULTS", "FORMULAS", "FUNNEL", "GRID", "KINDS", "MEASURES", "PAIRS",
    "PREDICTIONS", "USERS", "Asked", "Census", "Chances", "Fits", "Key", "Ledger", "Lists", "Naive",
    "OfClicks", "Predict", "Record", "Rules", "Sale", "Sold", "Valued", "VarianceRatio",
    "Weighting", "chosen", "conversion_estimator", "counted", "counts", "doors", "dr_variance",
    "estimated", "few_clicks", "fits", "gathered", "given", "ips_variance", "known", "learnt",
    "recorded", "refuse", "refuse_both", "sold", "summed_up", "together", "variance_gain",
    "weighting", "width",
]  # fmt: skip
