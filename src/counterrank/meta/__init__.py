"""Can this measure be trusted? Discriminative power, agreement, online and known truth."""

from counterrank.meta.checkpoint import Checkpoint, fingerprint
from counterrank.meta.inputs import at_least, values_of
from counterrank.meta.values import Mean, Values

__all__ = ["Checkpoint", "Mean", "Values", "at_least", "fingerprint", "values_of"]
