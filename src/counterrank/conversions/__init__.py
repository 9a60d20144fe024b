"""What would that recommender sell? Estimators from what was shown, clicked and bought."""

from counterrank.conversions.conversion_estimators import (
    ConversionMeasure,
    Naive,
    Sales,
    conversion_estimator,
    conversion_measure,
)
from counterrank.conversions.variance import dr_variance, ips_variance, variance_gain

__all__ = [
    "ConversionMeasure", "Naive", "Sales", "conversion_estimator", "conversion_measure",
    "dr_variance", "ips_variance", "variance_gain",
]  # fmt: skip
