"""What would that ranker have earned? Estimators of a target's value from a log."""

from counterrank.logged.basis import VIEWS, Basis, chosen, settled
from counterrank.logged.doubly_robust import DM, DR, SNDR
from counterrank.logged.estimated import INNER, Key, clipped, estimated, helped, kept_weight
from counterrank.logged.estimator import PER, Clipped, Estimator
from counterrank.logged.fitting import models
from counterrank.logged.future import futures
from counterrank.logged.gather import Valued, Work, on_policy, valued
from counterrank.logged.grammar import DEFAULTS, ESTIMATORS, estimator
from counterrank.logged.ips import IPS, SNIPS, MeanWeight, OnPolicy
from counterrank.logged.loggers import balanced
from counterrank.logged.reading import LOGGED, read
from counterrank.logged.refuse import refuse_lists, refuse_scores, refuse_slates, refuse_unseen
from counterrank.logged.regress import Regressor
from counterrank.logged.sessions import Sessions
from counterrank.logged.slate import SlateWeight
from counterrank.logged.sweep import ESTIMATORS as SWEEP
from counterrank.logged.sweep import Choice, SweepRow, choice, swept
from counterrank.logged.targets import Target
from counterrank.logged.weights import CLIPS, WeightRow, Weights

__all__ = [
    "CLIPS", "DEFAULTS", "DM", "DR", "ESTIMATORS", "INNER", "IPS", "LOGGED", "PER", "SNDR", "SNIPS",
    "SWEEP", "VIEWS", "Basis", "Choice", "Clipped", "Estimator", "Key", "MeanWeight", "OnPolicy",
    "Regressor", "Sessions", "SlateWeight", "SweepRow", "Target", "Valued", "WeightRow", "Weights",
    "Work",
    "balanced", "choice", "chosen", "clipped", "estimated", "estimator", "futures", "helped",
    "kept_weight", "models", "on_policy", "read", "refuse_lists", "refuse_scores", "refuse_slates",
    "refuse_unseen", "settled", "swept", "valued",
]  # fmt: skip
