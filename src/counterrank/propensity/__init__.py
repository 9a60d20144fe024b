"""How likely was it clicked, and bought once clicked? Models of both, fitted out of fold."""

from counterrank.propensity.calibration import (
    Calibration,
    Overlap,
    calibration,
    clicks_calibrated,
    conversions_calibrated,
    overlap,
)
from counterrank.propensity.factors import Factors
from counterrank.propensity.fit import Fitted
from counterrank.propensity.folds import Folds
from counterrank.propensity.grammar import MODELS, model
from counterrank.propensity.logistic import Logistic
from counterrank.propensity.model import Features, Model
from counterrank.propensity.nuisance import Nuisance, fitted
from counterrank.propensity.pairs import PAIRS, Pairs, training
from counterrank.propensity.rates import Rates

__all__ = [
    "MODELS", "PAIRS", "Calibration", "Factors", "Features", "Fitted", "Folds", "Logistic",
    "Model", "Nuisance", "Overlap", "Pairs", "Rates", "calibration", "clicks_calibrated",
    "conversions_calibrated", "fitted", "model", "overlap", "training",
]  # fmt: skip
