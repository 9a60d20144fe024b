"""Measures that the diagnoses look at, to be computed in one go with those asked for."""

from __future__ import annotations

from collections.abc import Sequence

from counterrank.metrics.dcg import DCG, nDCG
from counterrank.metrics.measure import Measure, deepest
from counterrank.metrics.precision import Judged


def dcg_forms(measures: Sequence[Measure]) -> list[tuple[DCG, nDCG]]:
    """DCG and nDCG in each form asked for; if in none, to the largest cut-off."""
    asked = [m for m in measures if isinstance(m, DCG)] or [DCG(k=deepest(measures))]
    forms = dict.fromkeys((m.k, m.gain, m.rel, m.discount) for m in asked)
    return [
        (
            DCG(k=k, gain=gain, rel=rel, discount=discount),
            nDCG(k=k, gain=gain, rel=rel, discount=discount),
        )
        for k, gain, rel, discount in forms
    ]


def metrics_for_diagnosis(measures: Sequence[Measure], *, systems: int) -> list[Measure]:
    """The judged share of lists and, where there are systems to order, DCG and nDCG."""
    pairs = dcg_forms(measures) if systems > 1 else []
    looked_at: list[Measure] = [Judged(k=deepest(measures)), *(m for pair in pairs for m in pair)]
    return [m for m in dict.fromkeys(looked_at) if m not in measures]
