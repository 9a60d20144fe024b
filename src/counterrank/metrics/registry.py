"""From a label to its measure: ``measure("AP(rel=4)@100")``."""

from __future__ import annotations

from counterrank.core.errors import UsageError
from counterrank.core.labels import known_name, options, parse
from counterrank.metrics.average_precision import AP, Bpref, InfAP
from counterrank.metrics.cascade import ARP, ERR, RBP, RR
from counterrank.metrics.dcg import CG, DCG, nDCG, pnDCG
from counterrank.metrics.measure import Measure
from counterrank.metrics.precision import F1, Judged, P, Recall, Rprec, Success
from counterrank.position import exposure

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
    wrong = f'"{call.name}" is not a measure.'
    kind = MEASURES[known_name(call.name, [*MEASURES, *ALIASES], wrong, aliases=ALIASES)]
    return kind(k=call.k, **options(call, kind, inner=exposure))
