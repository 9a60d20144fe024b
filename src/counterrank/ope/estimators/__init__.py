"""Estimators of a target's value: each file holds formulas, as few lines over arrays.

From a label to its estimator: ``estimator("IPS(clip=200)")``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from counterrank.core.errors import CounterrankError, UsageError
from counterrank.core.labels import known_name, options, parse
from counterrank.ope.estimators.doubly_robust import DM, DR, SNDR
from counterrank.ope.estimators.ips import IPS, SNIPS, Estimator, OnPolicy
from counterrank.ope.estimators.logged_dcg import LoggedDCG, LoggedNDCG, LoggedPNDCG
from counterrank.ope.estimators.slate import (
    IIPS,
    PI,
    RIPS,
    SIPS,
    SNIIPS,
    SNRIPS,
    SNSIPS,
    CascadeDR,
)

KINDS: tuple[type[Estimator], ...] = (
    OnPolicy, IPS, SNIPS, DM, DR, SNDR, LoggedDCG, LoggedNDCG, LoggedPNDCG,
    IIPS, SNIIPS, SIPS, SNSIPS, RIPS, SNRIPS, PI, CascadeDR,
)  # fmt: skip
ESTIMATORS: dict[str, type[Estimator]] = {kind.name: kind for kind in KINDS}
DEFAULTS = ("IPS", "SNIPS", "DR")


def estimator(
    label: str | Estimator, known: Mapping[str, type[Estimator]] = ESTIMATORS
) -> Estimator:
    """The estimator a label stands for; case does not matter."""
    if isinstance(label, Estimator):
        return label
    call = parse(str(label))
    kind = known[known_name(call.name, known, f'"{call.name}" is not an estimator.')]
    if call.k is not None:
        raise UsageError(
            f'"{label}" is not a label of an estimator.',
            todo="A cut-off belongs to the position model or the measure: log2@10, DCG@10.",
        )
    endless = {k: float("inf") if v == "inf" else v for k, v in call.named.items()}
    return kind(**options(replace(call, named=endless), kind))


def estimator_label(label: object) -> str:
    """The label of an estimator as results have it; other text stays."""
    try:
        return str(estimator(label if isinstance(label, Estimator) else str(label)))
    except CounterrankError:
        return str(label)
