"""What would that recommender have sold? Estimators from clicks and conversions after clicks."""

from counterrank.conversions.estimators import Naive, conversion_estimator
from counterrank.conversions.measures import ConversionMeasure, conversion_measure
from counterrank.conversions.variance import dr_variance, ips_variance, variance_gain

__all__ = [
    "ConversionMeasure", "Naive", "conversion_estimator", "conversion_measure", "dr_variance",
    "ips_variance", "variance_gain",
]  # fmt: skip
