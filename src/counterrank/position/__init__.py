"""How likely is a rank to be seen? Position models, and where stochastic rankers put an item.

``counterrank.position.learn`` learns them from logs.
"""

from counterrank.position.by_context import ByContext
from counterrank.position.expected import expected_exposure, mean_weight
from counterrank.position.model_file import position_bias
from counterrank.position.models import (
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
from counterrank.position.plackett_luce import plackett_luce_exposure, rank_probabilities
from counterrank.position.registry import exposure, model

__all__ = [
    "MODELS", "BetaGeometric", "ByContext", "Exposure", "Flat", "Geometric", "Jarvelin", "Log2",
    "Power", "Table", "expected_exposure", "exposure", "mean_weight", "model",
    "plackett_luce_exposure", "position_bias", "rank_probabilities",
]  # fmt: skip
