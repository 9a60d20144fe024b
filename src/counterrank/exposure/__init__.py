"""How likely is a rank to be seen? Position models, and where stochastic rankers put an item."""

from counterrank.exposure.models import (
    MODELS,
    Exposure,
    Flat,
    Geometric,
    Jarvelin,
    Log2,
    Power,
    Table,
)
from counterrank.exposure.plackett_luce import expected_exposure, rank_probabilities

__all__ = [
    "MODELS", "Exposure", "Flat", "Geometric", "Jarvelin", "Log2", "Power", "Table",
    "expected_exposure", "rank_probabilities",
]  # fmt: skip
