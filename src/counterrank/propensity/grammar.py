"""From a label to its model: ``model("factors(d=5)")``."""

from __future__ import annotations

from counterrank.errors import UsageError
from counterrank.propensity.factors import Factors
from counterrank.propensity.logistic import Logistic
from counterrank.propensity.model import Model
from counterrank.propensity.rates import Rates
from counterrank.text import known_name, options, parse

KINDS: tuple[type[Model], ...] = (Rates, Logistic, Factors)
MODELS: dict[str, type[Model]] = {kind.name: kind for kind in KINDS}


def model(label: str | Model) -> Model:
    """The model a label stands for; case does not matter."""
    if isinstance(label, Model):
        return label
    call = parse(str(label))
    wrong = f'"{call.name}" is not a model of clicks or conversions.'
    kind = MODELS[known_name(call.name, MODELS, wrong)]
    if call.k is not None:
        raise UsageError(f'"{label}" has a cut-off, which a model of pairs does not.')
    return kind(**options(call, kind))
