"""Does the answer flip inside groups? Stratified evaluation and the paradox audit."""

from counterrank.stratified.agreement import Agreement, agreements
from counterrank.stratified.audit import Audit, Candidates, audited, paradoxes
from counterrank.stratified.cut import CUTS, Strata, by_values, cut
from counterrank.stratified.estimated import estimated, users
from counterrank.stratified.face import Blend, Face
from counterrank.stratified.faces import (
    HOLDOUT,
    IPS,
    PUBLISHED,
    SNIPS,
    STRATIFIED,
    Methods,
    face,
    faces,
    methods,
)
from counterrank.stratified.feedback import Counts, Feedback, Users
from counterrank.stratified.grounds import Grounds, StratumRow
from counterrank.stratified.layout import Layout
from counterrank.stratified.paired import Paired, paired
from counterrank.stratified.paradox import InStratum, Paradox
from counterrank.stratified.propensities import Propensities
from counterrank.stratified.rows import MethodRow, method_rows
from counterrank.stratified.summed import AnyBlend, AnyFace, SummedBlend, SummedFace, Way
from counterrank.stratified.versus import MethodComparison, versus

__all__ = [
    "CUTS", "HOLDOUT", "IPS", "PUBLISHED", "SNIPS", "STRATIFIED", "Agreement", "AnyBlend",
    "AnyFace", "Audit", "Blend", "Candidates", "Counts", "Face", "Feedback", "Grounds",
    "InStratum", "Layout", "MethodComparison", "MethodRow", "Methods", "Paired", "Paradox",
    "Propensities", "Strata", "StratumRow", "SummedBlend", "SummedFace", "Users", "Way",
    "agreements", "audited", "by_values", "cut", "estimated", "face", "faces", "method_rows",
    "methods", "paired", "paradoxes", "users", "versus",
]  # fmt: skip
