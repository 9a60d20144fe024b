"""Judged systems: every measure of every unit, bucket by bucket, and what diagnoses ask of them."""

from counterrank.judged.facts import Lists, Ratings
from counterrank.judged.found import Found, again
from counterrank.judged.gather import Gathered, gathered, in_buckets
from counterrank.judged.measured import Asked
from counterrank.judged.part import Measured
from counterrank.judged.refuse import refuse_empty
from counterrank.judged.sums import UnitSums
from counterrank.judged.ties import bracket, tie_bracket
from counterrank.judged.values import UnitValues

__all__ = [
    "Asked", "Found", "Gathered", "Lists", "Measured", "Ratings", "UnitSums", "UnitValues", "again",
    "bracket",
    "gathered", "in_buckets", "refuse_empty", "tie_bracket",
]  # fmt: skip
