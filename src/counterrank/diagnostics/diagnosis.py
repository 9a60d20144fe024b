"""The one shape of every diagnosis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterrank.diagnostics.table_reports import TableReport

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


@dataclass(frozen=True)
class Findings:
    """What a closer look at a table found: ``fault`` stops it, ``faults`` others, by their place.

    ``to_log`` is what should have been logged, most useful first.
    """

    diagnoses: list[Diagnosis] = field(default_factory=list)
    to_log: list[str] = field(default_factory=list)
    fault: str = ""
    faults: dict[int, str] = field(default_factory=dict)

    def note(self, reports: Sequence[TableReport], place: int) -> list[TableReport]:
        """The reports with the faults of the table at a place, and of those beside it."""
        faults = self.faults | ({place: self.fault} if self.fault else {})
        return [replace(r, fault=faults.get(n, r.fault)) for n, r in enumerate(reports)]


def advise(
    name: str, subject: str, value: float, threshold: float, verdict: str, text: str, todo: str
) -> Diagnosis:
    """A diagnosis that goes on with what to do about it, unless it passes."""
    text += "" if verdict == "pass" else todo
    return Diagnosis(name, subject, value, threshold, verdict, text)


def worst(diagnoses: Iterable[Diagnosis]) -> str:
    """The gravest verdict of all."""
    return gravest(d.verdict for d in diagnoses)


def gravest(verdicts: Iterable[str]) -> str:
    """The gravest of some verdicts."""
    return max(verdicts, key=VERDICTS.index, default="pass")


def graded(value: float, caution: float, fail: float) -> str:
    """Verdict of a value that should be high: below ``caution``, below ``fail``."""
    return "fail" if value < fail else "caution" if value < caution else "pass"


def graded_size(size: float, share: float) -> str:
    """Verdict of an effective sample size, by itself and as a share of the sample."""
    return gravest([graded(size, 1000, 100), graded(share, 0.05, 0.005)])
