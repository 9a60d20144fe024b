"""Can this measure be trusted? Discriminative power, agreement, online and known truth."""

from counterrank.meta.checkpoint import Checkpoint, fingerprint
from counterrank.meta.inputs import at_least, enough_resamples, values_of
from counterrank.meta.values import Mean, Values, geometric_twin

__all__ = [
    "Checkpoint", "Mean", "Values", "at_least", "enough_resamples", "fingerprint",
    "geometric_twin", "values_of",
]  # fmt: skip
