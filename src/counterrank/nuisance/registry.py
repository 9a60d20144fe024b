"""From a label to its model: ``model("factors(d=5)")``."""

from __future__ import annotations

from counterrank.core.errors import UsageError
from counterrank.core.labels import known_name, options, parse
from counterrank.nuisance.base import PairModel
from counterrank.nuisance.factors import Factors
from counterrank.nuisance.logistic import Logistic
from counterrank.nuisance.rates import Rates

KINDS: tuple[type[PairModel], ...] = (Rates, Logistic, Factors)
MODELS: dict[str, type[PairModel]] = {kind.name: kind for kind in KINDS}


def pair_model(label: str | PairModel) -> PairModel:
    """The model a label stands for; case does not matter."""
    if isinstance(label, PairModel):
        return label
    call = parse(str(label))
    wrong = f'"{call.name}" is not a model of clicks or conversions.'
    kind = MODELS[known_name(call.name, MODELS, wrong)]
    if call.k is not None:
        raise UsageError(f'"{label}" has a cut-off, which a model of pairs does not.')
    return kind(**options(call, kind))
