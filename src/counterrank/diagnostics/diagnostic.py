"""The one shape of every diagnostic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterrank.diagnostics.table_reports import TableReport
    from counterrank.stats.units import Functions, Key

STATES = ("pass", "assumed", "untested", "caution", "fail")  # the gravest last


@dataclass(frozen=True)
class Diagnostic:
    """``value`` of ``subject`` against ``threshold``, and the ``state`` that follows.

    ``systems``, ``estimators`` and ``measures`` (or rewards) are what it concerns; none: all.
    """

    name: str
    subject: str
    value: float
    threshold: float
    state: str
    meaning: str
    systems: tuple[str, ...] = ()
    estimators: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()

    def concerns(self, system: str, estimator: str, *measure: str | None) -> bool:
        """Whether a number of a system by an estimator (of a measure or reward) rests on it."""
        told = (system, self.systems), (estimator, self.estimators)
        named = all(not own or one in own for one, own in told)
        return named and (not measure or not self.measures or bool({*measure} & {*self.measures}))

    @property
    def id(self) -> str:
        """The kind of diagnostic, which stays the same from version to version."""
        return re.sub(r"[^a-z0-9]+", "_", self.name.lower()).strip("_")


@dataclass(frozen=True)
class Findings:
    """What a closer look at a table found: ``fault`` stops it, ``faults`` others, by their place.

    ``to_log`` is what should have been logged, most useful first.
    """

    diagnostics: list[Diagnostic] = field(default_factory=list)
    to_log: list[str] = field(default_factory=list)
    fault: str = ""
    faults: dict[int, str] = field(default_factory=dict)

    def note(self, reports: Sequence[TableReport], place: int) -> list[TableReport]:
        """The reports with the faults of the table at a place, and of those beside it."""
        faults = self.faults | ({place: self.fault} if self.fault else {})
        return [replace(r, fault=faults.get(n, r.fault)) for n, r in enumerate(reports)]


def advise(
    name: str, subject: str, value: float, threshold: float, state: str, text: str, todo: str
) -> Diagnostic:
    """A diagnostic that goes on with what to do about it, unless it passes."""
    text += "" if state == "pass" else todo
    return Diagnostic(name, subject, value, threshold, state, text)


def limited(diagnostics: Iterable[Diagnostic], estimators: Iterable[object]) -> list[Diagnostic]:
    """Diagnostics that count against some of the estimators asked for; none if there are none.

    What an estimator never reads does not count against it.
    """
    labels = tuple(map(str, estimators))
    return [replace(d, estimators=labels) for d in diagnostics] if labels else []


def worst(diagnostics: Iterable[Diagnostic]) -> str:
    """The verdict that diagnostics speak for: pass, caution or fail."""
    return verdict_of(gravest(d.state for d in diagnostics))


def gravest(states: Iterable[str]) -> str:
    """The gravest of some states."""
    return max(states, key=STATES.index, default="pass")


def verdict_of(state: str) -> str:
    """Can a number of this state be believed?

    What could have been tested and was not is no reason to; what no data can tell is no bar.
    """
    return {"assumed": "pass", "untested": "caution"}.get(state, state)


def graded(value: float, caution: float, fail: float) -> str:
    """State of a value that should be high: below ``caution``, below ``fail``."""
    return "fail" if value < fail else "caution" if value < caution else "pass"


def graded_size(size: float, share: float) -> str:
    """State of an effective sample size, by itself and as a share of the sample."""
    return gravest([graded(size, 1000, 100), graded(share, 0.05, 0.005)])


def with_concerns(diagnostics: Sequence[Diagnostic], functions: Functions) -> list[Diagnostic]:
    """Diagnostics with the systems and estimators that their subjects name, unless they say so."""
    estimators = {key.estimator for key in functions}
    systems = {key.system: (key.system, "") for key in functions}
    both = {f"{key.system}, {key.estimator}": (key.system, key.estimator) for key in functions}
    named = both | systems
    found = []
    for d in diagnostics:
        system, estimator = named.get(d.subject, ("", ""))
        several = () if system else tuple(d.subject.split(", "))
        some = (estimator,) if estimator else several if estimators.issuperset(several) else ()
        own = d.systems or ((system,) if system else ())
        found.append(replace(d, systems=own, estimators=d.estimators or some))
    return found


def concerning(key: Key) -> set[str]:
    """The subjects of diagnostics that concern a key: its system, alone and by this estimator."""
    return {key.system, f"{key.system}, {key.estimator}", "log", "funnel", "judgments"}
