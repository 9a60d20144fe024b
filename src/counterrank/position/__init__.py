"""How likely is a rank to be seen? Position models, and where stochastic rankers put an item.

``counterrank.position.learn`` learns them from logs.
"""

from counterrank.position.model_file import position_bias
from counterrank.position.models import (
    BetaGeometric,
    ByContext,
    Flat,
    Geometric,
    Jarvelin,
    Log2,
    PositionModel,
    Power,
    WeightTable,
    exposure,
    position_model,
)
from counterrank.position.plackett_luce import rank_probabilities
from counterrank.position.two_stage_exposure import expected_exposure

__all__ = [
    "BetaGeometric", "ByContext", "Flat", "Geometric", "Jarvelin", "Log2", "PositionModel",
    "Power", "WeightTable", "expected_exposure", "exposure",
    "position_bias", "position_model", "rank_probabilities",
]  # fmt: skip
