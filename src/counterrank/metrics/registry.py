"""From a label to its measure: ``measure("AP(rel=4)@100")``."""

from __future__ import annotations

from dataclasses import replace

from counterrank.core.errors import CounterrankError
from counterrank.core.labels import Registry
from counterrank.metrics.average_precision import AP, Bpref, InfAP
from counterrank.metrics.cascade import ARP, ERR, RBP, RR
from counterrank.metrics.dcg import CG, DCG, IDCG, nDCG, pnDCG
from counterrank.metrics.measure import Measure
from counterrank.metrics.precision import F1, Judged, P, Recall, Rprec, Success

KINDS = (
    CG, DCG, IDCG, nDCG, pnDCG, P, Recall, F1, AP, RR, ERR, Bpref, InfAP, Rprec, Success, RBP,
    ARP, Judged,
)  # fmt: skip
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
measure: Registry[Measure] = Registry("a measure", Measure, KINDS, aliases=ALIASES)


def known_measure(label: str) -> Measure | None:
    """The measure of a label; a table may have measures of its own, of which nothing is known."""
    try:
        return measure(label)
    except CounterrankError:
        return None


def geometric_twin(label: str) -> str:
    """The label of the same measure's geometric mean, or nothing if it has none."""
    m = known_measure(label)
    if m is None or m.mean == "geometric" or not m.geometric or m.better != "higher":
        return ""
    return str(replace(m, mean="geometric"))
