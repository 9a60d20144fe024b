"""The one shape of every diagnosis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

VERDICTS = ("pass", "caution", "fail")


@dataclass(frozen=True)
class Diagnosis:
    """``value`` of ``subject`` against ``threshold``, in words: pass, caution or fail."""

    name: str
    subject: str
    value: float
    threshold: float
    verdict: str
    meaning: str


def worst(diagnoses: Iterable[Diagnosis]) -> str:
    """The gravest verdict of all."""
    return gravest(d.verdict for d in diagnoses)


def gravest(verdicts: Iterable[str]) -> str:
    """The gravest of some verdicts."""
    return max(verdicts, key=VERDICTS.index, default="pass")


def graded(value: float, caution: float, fail: float) -> str:
    """Verdict of a value that should be high: below ``caution``, below ``fail``."""
    return "fail" if value < fail else "caution" if value < caution else "pass"
