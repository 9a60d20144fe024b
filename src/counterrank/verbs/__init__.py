"""One function per verb of the command line."""

from counterrank.verbs.check import Checked, check
from counterrank.verbs.estimate import estimate
from counterrank.verbs.evaluate import evaluate
from counterrank.verbs.learn_exposure import LearntExposure, learn_exposure

__all__ = ["Checked", "LearntExposure", "check", "estimate", "evaluate", "learn_exposure"]
