"""Differences from one system, as a page shows them: turned, signed and coloured by what holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from counterrank.documents.requirements import Key, Row, direction, key_of, known, known_ends
from counterrank.report.drawing import Scale, Span

Document = Mapping[str, Any]
FAR = 3.0  # times as far as the cores do wings reach on a scale; the rest is an arrow


@dataclass(frozen=True)
class Gap:
    """A system less a reference: as a difference and, where that can be told, as a lift."""

    system: str
    row: Row
    difference: Span
    lift: Span | None

    @property
    def held(self) -> bool:
        """Whether something is claimed."""
        return self.difference.claim != "cannot_tell"

    @property
    def shown(self) -> Span:
        """The lift, if there is one."""
        return self.lift or self.difference

    def as_told(self, kind: str) -> Span:
        """The lift where it is told (``rel``), else the difference."""
        return self.shown if kind == "rel" else self.difference


def gaps(document: Document, reference: str) -> dict[Key, dict[str, Gap]]:
    """Every difference from the reference: by what it is about, then by system."""
    found: dict[Key, dict[str, Gap]] = {}
    for row in document.get("comparisons", []):
        turned = row["system"] == reference
        other = row["baseline"] if turned else row["system"]
        if (turned or row["baseline"] == reference) and known(row["difference"]) is not None:
            up = direction(document, row["measure"])
            found.setdefault(key_of(row), {})[str(other)] = gap(row, str(other), turned, up)
    return found


def gap(row: Row, system: str, turned: bool, up: int) -> Gap:
    """One comparison from the system's side; a lift is over its baseline, so it is not turned."""
    claim = str(row["claim"])
    if turned:
        claim = {"better": "worse", "worse": "better"}.get(claim, claim)
    clear = _clear(row, -up if turned else up)
    if row["verdict"] == "fail":  # whatever the numbers show
        claim, clear = "cannot_tell", ""
    difference = _span(row, "", "difference", turned, claim, clear)
    lift = None
    if not turned and known(row.get("lift")) is not None:
        lift = _span(row, "lift_", "lift", False, claim, clear)
    return Gap(system, row, difference, lift)


def _span(row: Row, of: str, value: str, turned: bool, claim: str, clear: str) -> Span:
    # what a decision reads holds for all candidates at once
    core = known_ends(row, f"{of}family_") or known_ends(row, of)
    wings, middle = known_ends(row, f"{of}bound_"), known(row[value])
    assert middle is not None
    if not turned:
        return Span(middle, core, wings, claim, clear)
    core, wings = ((-ends[1], -ends[0]) if ends else None for ends in (core, wings))
    return Span(-middle, core, wings, claim, clear)


def _clear(row: Row, up: int) -> str:
    """Which way it goes if the assumptions hold, for all candidates at once."""
    ends = known_ends(row, "family_")
    if ends is None or ends[0] * ends[1] <= 0:
        return ""
    return "better" if up * ends[0] > 0 else "worse"


def value_span(row: Row) -> Span:
    """The value of a row, which claims nothing."""
    value = known(row["value"])
    return Span(math.nan if value is None else value, known_ends(row), known_ends(row, "bound_"))


def scale_of(spans: Iterable[Span], *, zero: bool, percent: bool, far: float = FAR) -> Scale:
    """A scale that holds every core, and wings ``far`` times as far as these reach."""
    every = list(spans)
    cores = [x for s in every for x in (s.value, *(s.core or ())) if x == x]
    cores += [0.0] * zero
    low, high = min(cores, default=0.0), max(cores, default=1.0)
    room = far * (high - low) or abs(high) or 1.0
    ends = [min(max(end, low - room), high + room) for span in every for end in span.ends]
    return Scale.over([*cores, *ends], percent=percent)
