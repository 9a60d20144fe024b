"""From a label to its estimator: ``estimator("IPS(clip=200)")``."""

from __future__ import annotations

from dataclasses import fields

from counterrank.errors import UsageError, nearest
from counterrank.logged.dcg import DCG, nDCG, pnDCG
from counterrank.logged.doubly_robust import DM, DR, SNDR
from counterrank.logged.estimator import Estimator
from counterrank.logged.ips import IPS, SNIPS, OnPolicy
from counterrank.logged.slate import IIPS, PI, RIPS, SIPS, SNIIPS, SNRIPS, SNSIPS, CascadeDR
from counterrank.text import parse

KINDS: tuple[type[Estimator], ...] = (
    OnPolicy, IPS, SNIPS, DM, DR, SNDR, DCG, nDCG, pnDCG,
    IIPS, SNIIPS, SIPS, SNSIPS, RIPS, SNRIPS, PI, CascadeDR,
)  # fmt: skip
ESTIMATORS: dict[str, type[Estimator]] = {kind.name: kind for kind in KINDS}
DEFAULTS = ("IPS", "SNIPS", "DR")


def estimator(label: str | Estimator) -> Estimator:
    """The estimator a label stands for; case does not matter."""
    if isinstance(label, Estimator):
        return label
    call = parse(str(label))
    by_lower = {name.lower(): kind for name, kind in ESTIMATORS.items()}
    kind = by_lower.get(call.name.lower())
    if kind is None:
        raise UsageError(
            f'"{call.name}" is not an estimator.',
            found=nearest(call.name, ESTIMATORS),
            todo=f"There are: {', '.join(ESTIMATORS)}.",
        )
    if call.k is not None or call.placed:
        raise UsageError(
            f'"{label}" is not a label of an estimator.',
            todo=f"Write {kind.name}, or {kind.name}(option=value); cut-offs belong to the"
            " position model.",
        )
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    for option in call.named:
        if option not in known:
            raise UsageError(
                f'{kind.name} has no option "{option}".',
                found=nearest(option, known),
                todo=f"Options are: {', '.join(sorted(known))}." if known else "It has none.",
            )
    named = {k: float("inf") if v == "inf" else v for k, v in call.named.items()}
    return kind(**named)
