"""From a label to its model: ``model("factors(d=5)")``."""

from __future__ import annotations

from counterrank.core.errors import UsageError
from counterrank.core.labels import known_name, options, parse
from counterrank.nuisance.base import Model
from counterrank.nuisance.factors import Factors
from counterrank.nuisance.logistic import Logistic
from counterrank.nuisance.rates import Rates

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
