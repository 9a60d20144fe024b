"""One function per verb of the command line."""

from counterrank.verbs.check import Checked, check
from counterrank.verbs.estimate import estimate
from counterrank.verbs.evaluate import evaluate

__all__ = ["Checked", "check", "estimate", "evaluate"]
