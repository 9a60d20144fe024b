"""How likely is a rank to be seen? Position models, shared by every discounted measure."""

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

__all__ = ["MODELS", "Exposure", "Flat", "Geometric", "Jarvelin", "Log2", "Power", "Table"]
