"""From a label to its position model: ``exposure("power(eta=0.5)@10")``."""

from __future__ import annotations

from counterrank.core.errors import UsageError
from counterrank.core.labels import Call, known_name, options, parse
from counterrank.position.by_context import ByContext
from counterrank.position.models import MODELS, Exposure, WeightTable


def exposure(value: object) -> Exposure:
    """The position model that a label, or a part of one already parsed, stands for."""
    if isinstance(value, Exposure):
        return value
    call = value if isinstance(value, Call) else parse(str(value))
    name = known_name(call.name, MODELS, f'"{call.name}" is not a discount.')
    if MODELS[name] is not WeightTable:
        return MODELS[name](k=call.k, **options(call, MODELS[name]))
    if call.named or not all(isinstance(weight, (int, float)) for weight in call.placed):
        raise UsageError("table(...) takes numbers, as in table(1,0.6,0.4).")
    return WeightTable(tuple(float(weight) for weight in call.placed), k=call.k)


def position_model(label: str) -> Exposure | ByContext:
    """A position model, or one per context: ``by(device,log2,phone=geometric(p=0.8))``.

    The first place of ``by`` names the column, a second one the model of values not listed.
    """
    call = parse(label)
    if call.name.lower() != ByContext.name:
        return exposure(call)
    if not 1 <= len(call.placed) <= 2 or not isinstance(call.placed[0], str) or call.k:
        raise UsageError(
            f'"{label}" does not say which column it goes by.',
            todo="Write by(COLUMN,value=model,...), as in by(device,phone=geometric,tv=log2).",
        )
    models = {str(context): exposure(value) for context, value in call.named.items()}
    default = exposure(call.placed[1]) if len(call.placed) == 2 else None
    return ByContext(call.placed[0], models, default)
