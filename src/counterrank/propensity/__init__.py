"""How likely was it seen, clicked, and bought once clicked? Popularity, and fitted models."""

from counterrank.propensity.calibration import (
    Calibration,
    Overlap,
    calibrated,
    clicks_calibrated,
    overlap,
)
from counterrank.propensity.encoding import Encoded, encoded
from counterrank.propensity.factors import Factors
from counterrank.propensity.fit import Fitted
from counterrank.propensity.folds import Folds
from counterrank.propensity.grammar import MODELS, model
from counterrank.propensity.logistic import Logistic
from counterrank.propensity.model import Features, Model
from counterrank.propensity.nuisance import Nuisance, fitted
from counterrank.propensity.pairs import PAIRS, Pairs, refuse_unclicked, training
from counterrank.propensity.popularity import Popularity, Propensity, per_row, popularity
from counterrank.propensity.powerlaw import PowerLaw, power_law
from counterrank.propensity.rates import Rates

__all__ = [
    "MODELS", "PAIRS", "Calibration", "Encoded", "Factors", "Features", "Fitted", "Folds",
    "Logistic", "Model", "Nuisance", "Overlap", "Pairs", "Popularity", "PowerLaw", "Propensity",
    "Rates", "calibrated", "clicks_calibrated", "encoded", "fitted",
    "model", "overlap", "per_row", "popularity", "power_law",
    "refuse_unclicked", "training",
]  # fmt: skip
