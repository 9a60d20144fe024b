"""From a label to its measure: ``measure("AP(rel=4)@100")``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from counterrank.errors import UsageError, nearest
from counterrank.exposure import MODELS, Exposure, Table
from counterrank.ranking.average_precision import AP, Bpref, InfAP
from counterrank.ranking.cascade import ARP, ERR, RBP, RR
from counterrank.ranking.dcg import CG, DCG, nDCG, pnDCG
from counterrank.ranking.measure import Measure
from counterrank.ranking.precision import F1, Judged, P, Recall, Rprec, Success
from counterrank.text import Call, parse

# fmt: off
KINDS: tuple[type[Measure], ...] = (
    CG, DCG, nDCG, pnDCG, P, Recall, F1, AP, RR, ERR, Bpref, InfAP, Rprec, Success, RBP, ARP,
    Judged,
)
# fmt: on
MEASURES: dict[str, type[Measure]] = {kind.name: kind for kind in KINDS}
ALIASES = {
    "MAP": "AP",
    "MRR": "RR",
    "Precision": "P",
    "R": "Recall",
    "HitRate": "Success",
    "Hit": "Success",
    "RPrecision": "Rprec",
}
DEFAULTS = ("DCG@10", "nDCG@10", "P@10", "Recall@10", "AP@10", "RR@10")


def measure(label: str | Measure) -> Measure:
    """The measure a label stands for; case does not matter."""
    if isinstance(label, Measure):
        return label
    if not isinstance(label, str):
        raise UsageError(f"{label!r} is not a measure.", todo='Write a label, like "nDCG@10".')
    call = parse(label)
    kind = MEASURES[_name(call.name, [*MEASURES, *ALIASES], f'"{call.name}" is not a measure.')]
    return kind(k=call.k, **_options(call, kind))


def exposure(value: object) -> Exposure:
    """The position model a parsed value stands for."""
    call = value if isinstance(value, Call) else Call(str(value), {}, (), None)
    name = _name(call.name, MODELS, f'"{call.name}" is not a discount.')
    if call.k is not None:
        raise UsageError(f"{call.name}(...)@{call.k}: a discount has no cut-off.")
    if MODELS[name] is not Table:
        return MODELS[name](**_options(call, MODELS[name]))
    if call.named or not all(isinstance(weight, (int, float)) for weight in call.placed):
        raise UsageError("table(...) takes numbers, as in table(1,0.6,0.4).")
    return Table(tuple(float(weight) for weight in call.placed))


def _name(word: str, known: Iterable[str], wrong: str) -> str:
    by_lower = {name.lower(): ALIASES.get(name, name) for name in known}
    if word.lower() not in by_lower:
        raise UsageError(wrong, found=nearest(word, known), todo=f"There are: {', '.join(known)}.")
    return by_lower[word.lower()]


def _options(call: Call, kind: type) -> dict[str, Any]:
    """Named options, each known to the class and of the right sort."""
    known = {field.name: field for field in fields(kind) if field.name != "k"}
    if call.placed:
        raise UsageError(
            f"{call.name}({call.placed[0]}) gives a value without its option.",
            todo=f"Options are: {', '.join(known)}. Write {call.name}(option=value).",
        )
    options = {}
    for name, value in call.named.items():
        if name not in known:
            raise UsageError(
                f'{call.name} has no option "{name}".',
                found=nearest(name, known),
                todo=f"Options are: {', '.join(known)}.",
            )
        default = known[name].default
        if isinstance(default, Exposure):
            value = exposure(value)
        elif isinstance(default, (int, float)) != isinstance(value, (int, float)) and name != "top":
            sort = "a number" if isinstance(default, (int, float)) else "a word"
            raise UsageError(f"{call.name}({name}=...) takes {sort}.", found=f'Got "{value}".')
        options[name] = value
    return options
