"""How good is this list? Judged measures, each a value that prints as its label."""

from counterrank.ranking.average_precision import AP, Bpref, InfAP
from counterrank.ranking.beside import beside, dcg_forms
from counterrank.ranking.cascade import ARP, ERR, RBP, RR
from counterrank.ranking.dcg import CG, DCG, nDCG, pnDCG
from counterrank.ranking.grammar import ALIASES, DEFAULTS, MEASURES, measure
from counterrank.ranking.measure import Binary, Definition, Measure, deepest, unscaled, values
from counterrank.ranking.precision import F1, Judged, P, Recall, Rprec, Success

__all__ = [
    "ALIASES", "AP", "ARP", "CG", "DCG", "DEFAULTS", "ERR", "F1", "MEASURES", "P", "RBP", "RR",
    "Binary", "Bpref", "Definition",
    "InfAP", "Judged", "Measure", "Recall", "Rprec", "Success", "beside", "dcg_forms", "deepest",
    "measure", "nDCG", "pnDCG", "unscaled", "values",
]  # fmt: skip
