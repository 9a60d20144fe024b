"""Does the answer flip inside groups? Stratified evaluation and the paradox audit."""

from counterrank.stratified.agreement import Agreement, agreements
from counterrank.stratified.audit import Audit, Candidates, audited, paradoxes
from counterrank.stratified.face import Blend, Face
from counterrank.stratified.paired import Paired, paired
from counterrank.stratified.paradox import InStratum, Paradox

__all__ = [
    "Agreement", "Audit", "Blend", "Candidates", "Face", "InStratum", "Paired", "Paradox",
    "agreements", "audited", "paired", "paradoxes",
]  # fmt: skip
