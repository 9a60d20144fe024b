"""What would that ranker have earned? Estimators of a target's value from a log."""

from counterrank.logged.basis import LOGGED, VIEWS, Basis, chosen, settled
from counterrank.logged.estimator import PER, Estimator
from counterrank.logged.future import futures
from counterrank.logged.gather import Valued, Work, models, on_policy, valued
from counterrank.logged.grammar import DEFAULTS, ESTIMATORS, estimator
from counterrank.logged.ips import MeanWeight, OnPolicy
from counterrank.logged.refuse import refuse_slates
from counterrank.logged.sessions import Sessions
from counterrank.logged.targets import Target
from counterrank.logged.weights import CLIPS, Weights

__all__ = [
    "CLIPS", "DEFAULTS", "ESTIMATORS", "LOGGED", "PER", "VIEWS", "Basis", "Estimator", "MeanWeight",
    "OnPolicy", "Sessions", "Target", "Valued", "Weights", "Work", "chosen", "estimator", "futures",
    "models", "on_policy", "refuse_slates", "settled", "valued",
]  # fmt: skip
