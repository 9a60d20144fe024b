"""How likely was it clicked, and bought once clicked? Models of both, fitted out of fold."""

from counterrank.propensity.fit import Fitted
from counterrank.propensity.folds import Folds
from counterrank.propensity.grammar import MODELS, model
from counterrank.propensity.model import Features, Model
from counterrank.propensity.nuisance import Nuisance, fitted
from counterrank.propensity.pairs import PAIRS, Pairs, training
from counterrank.propensity.rates import Rates

__all__ = [
    "MODELS", "PAIRS", "Features", "Fitted", "Folds", "Model", "Nuisance", "Pairs", "Rates",
    "fitted", "model", "training",
]  # fmt: skip
