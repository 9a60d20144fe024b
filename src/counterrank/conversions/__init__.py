"""What would that recommender have sold? Estimators from clicks and conversions after clicks."""

from counterrank.conversions.conversion_estimators import (
    ConversionMeasure,
    Naive,
    conversion_estimator,
    conversion_measure,
)
from counterrank.conversions.variance import dr_variance, ips_variance, variance_gain

__all__ = [
    "ConversionMeasure", "Naive", "conversion_estimator", "conversion_measure", "dr_variance",
    "ips_variance", "variance_gain",
]  # fmt: skip
