"""What would that ranker have earned? Estimators of a target's value from a log."""

from counterrank.logged.basis import VIEWS, Basis, chosen, settled
from counterrank.logged.estimator import PER, Clipped, Estimator
from counterrank.logged.gather import Valued, Work, models, on_policy, valued
from counterrank.logged.grammar import DEFAULTS, ESTIMATORS, estimator
from counterrank.logged.ips import MeanWeight, OnPolicy
from counterrank.logged.loggers import balanced
from counterrank.logged.reading import LOGGED, read
from counterrank.logged.regress import Regressor
from counterrank.logged.sessions import Sessions
from counterrank.logged.sweep import ESTIMATORS as SWEEP
from counterrank.logged.sweep import Choice, SweepRow, choice, swept
from counterrank.logged.targets import Target
from counterrank.logged.weights import CLIPS, Weights

__all__ = [
    "CLIPS", "DEFAULTS", "ESTIMATORS", "LOGGED", "PER", "SWEEP", "VIEWS", "Basis", "Choice",
    "Clipped", "Estimator", "MeanWeight", "OnPolicy", "Regressor", "Sessions", "SweepRow", "Target", "Valued",
    "Weights", "Work", "balanced", "choice", "chosen", "estimator", "models", "on_policy", "read",
    "settled", "swept", "valued",
]  # fmt: skip
