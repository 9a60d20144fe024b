"""How good is this list? Judged measures, each a value that prints as its label."""

from counterrank.metrics.average_precision import AP, Bpref, InfAP
from counterrank.metrics.cascade import ARP, ERR, RBP, RR
from counterrank.metrics.dcg import CG, DCG, IDCG, dcg_forms, nDCG, pnDCG
from counterrank.metrics.measure import Binary, Definition, Measure, deepest, unscaled, values
from counterrank.metrics.precision import F1, Judged, P, Recall, Rprec, Success
from counterrank.metrics.registry import ALIASES, DEFAULTS, measure

__all__ = [
    "ALIASES", "AP", "ARP", "CG", "DCG", "DEFAULTS", "ERR", "F1", "P", "RBP", "RR",
    "Binary", "Bpref", "Definition", "InfAP", "Judged", "Measure", "Recall", "Rprec", "Success",
    "IDCG", "dcg_forms", "deepest", "measure", "nDCG", "pnDCG", "unscaled",
    "values",
]  # fmt: skip
