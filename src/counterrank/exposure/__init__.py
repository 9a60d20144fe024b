"""How likely is a rank to be seen? Position models, and where stochastic rankers put an item.

``counterrank.exposure.learn`` learns them from logs.
"""

from counterrank.exposure.by_context import ByContext
from counterrank.exposure.expected import expected_exposure, mean_weight
from counterrank.exposure.grammar import exposure, model
from counterrank.exposure.models import (
    MODELS,
    BetaGeometric,
    Exposure,
    Flat,
    Geometric,
    Jarvelin,
    Log2,
    Power,
    Table,
)
from counterrank.exposure.plackett_luce import plackett_luce_exposure, rank_probabilities
from counterrank.exposure.saved import position_bias

__all__ = [
    "MODELS", "BetaGeometric", "ByContext", "Exposure", "Flat", "Geometric", "Jarvelin", "Log2",
    "Power", "Table", "expected_exposure", "exposure", "mean_weight", "model",
    "plackett_luce_exposure", "position_bias", "rank_probabilities",
]  # fmt: skip
