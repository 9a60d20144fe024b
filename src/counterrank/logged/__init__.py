"""What would that ranker have earned? Estimators of a target's value from a log."""

from counterrank.logged.basis import VIEWS, Basis, chosen, settled
from counterrank.logged.doubly_robust import DM, DR, SNDR
from counterrank.logged.earned import Earned, audited, together
from counterrank.logged.estimated import INNER, Key, clipped, estimated, helped, kept_weight
from counterrank.logged.estimator import PER, Clipped, Estimator
from counterrank.logged.fitting import Shape, fitted
from counterrank.logged.gather import Valued, Work
from counterrank.logged.grammar import DEFAULTS, ESTIMATORS, estimator
from counterrank.logged.ips import IPS, SNIPS, MeanWeight, OnPolicy
from counterrank.logged.loggers import shares
from counterrank.logged.parts import Asked, Known
from counterrank.logged.reading import LOGGED, Given, Tables, doors, named
from counterrank.logged.refuse import refuse_lists, refuse_scores, refuse_slates, refuse_unseen
from counterrank.logged.regress import Regressor
from counterrank.logged.sessions import Sessions
from counterrank.logged.shared import Shared, settled_items
from counterrank.logged.slate import SlateWeight
from counterrank.logged.sweep import ESTIMATORS as SWEEP
from counterrank.logged.sweep import Choice, SweepRow, choice, swept
from counterrank.logged.targets import Target
from counterrank.logged.weights import CLIPS, WeightRow, Weights

__all__ = [
    "CLIPS", "DEFAULTS", "DM", "DR", "ESTIMATORS", "INNER", "IPS", "LOGGED", "PER", "SNDR", "SNIPS",
    "SWEEP", "VIEWS", "Asked", "Basis", "Choice", "Clipped", "Earned", "Estimator", "Given", "Key",
    "Known", "MeanWeight", "OnPolicy", "Regressor", "Sessions", "Shape", "Shared", "SlateWeight",
    "SweepRow", "Tables", "Target", "Valued", "WeightRow", "Weights", "Work",
    "audited", "choice", "chosen", "clipped", "doors", "estimated", "estimator", "fitted", "helped",
    "kept_weight", "named", "refuse_lists", "refuse_scores",
    "refuse_slates", "refuse_unseen", "settled", "settled_items", "shares", "swept", "together",
]  # fmt: skip
