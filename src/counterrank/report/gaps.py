"""Differences from one system, as a page shows them: turned, signed and coloured by what holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from counterrank.documents.requirements import Row, known
from counterrank.report.drawing import Scale, Span

Document = Mapping[str, Any]
Key = tuple[str | None, str | None, str | None, str | None]
ENDS = ("low", "high", "bound_low", "bound_high")
KEYS = ("measure", "reward", "estimator", "segment")
FAR = 3.0  # times as far as the cores do wings reach on a scale; the rest is an arrow


def key_of(row: Row) -> Key:
    """What a row is about, but for its system."""
    measure, reward, estimator, segment = (row[key] for key in KEYS)
    return measure, reward, estimator, segment


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


def gaps(document: Document, reference: str) -> dict[Key, dict[str, Gap]]:
    """Every difference from the reference: by what it is about, then by system."""
    found: dict[Key, dict[str, Gap]] = {}
    lower = document.get("protocol", {}).get("lower_is_better") or ()
    for row in document.get("comparisons", []):
        turned = row["system"] == reference
        other = row["baseline"] if turned else row["system"]
        if (turned or row["baseline"] == reference) and known(row["difference"]) is not None:
            found.setdefault(key_of(row), {})[str(other)] = gap(row, str(other), turned, lower)
    return found


def gap(row: Row, system: str, turned: bool, lower: Iterable[str] = ()) -> Gap:
    """One comparison from the system's side; a lift is over its baseline, so it is not turned."""
    claim = str(row["claim"])
    if turned:
        claim = {"better": "worse", "worse": "better"}.get(claim, claim)
    up = -1 if row["measure"] in lower else 1
    clear = _clear(row, -up if turned else up)
    if row["verdict"] == "fail":  # whatever the numbers show
        claim, clear = "cannot_tell", ""
    difference = _span(row, "", "difference", turned, claim, clear)
    lift = None
    if not turned and known(row.get("lift")) is not None:
        lift = _span(row, "lift_", "lift", False, claim, clear)
    return Gap(system, row, difference, lift)


def _span(row: Row, of: str, value: str, turned: bool, claim: str, clear: str) -> Span:
    low, high, wide_low, wide_high = (known(row.get(f"{of}{end}")) for end in ENDS)
    both = known(row.get(f"{of}family_low")), known(row.get(f"{of}family_high"))
    if None not in both:  # what a decision reads: it holds for all candidates at once
        low, high = both
    middle = known(row[value])
    assert middle is not None
    if not turned:
        return Span(middle, low, high, wide_low, wide_high, claim, clear)
    ends = [None if end is None else -end for end in (high, low, wide_high, wide_low)]
    return Span(-middle, ends[0], ends[1], ends[2], ends[3], claim, clear)


def _clear(row: Row, up: int) -> str:
    """Which way it goes if the assumptions hold, for all candidates at once."""
    low, high = known(row.get("family_low")), known(row.get("family_high"))
    if low is None or high is None or low * high <= 0:
        return ""
    return "better" if up * low > 0 else "worse"


def value_span(row: Row) -> Span:
    """The value of a row, which claims nothing."""
    value = known(row["value"])
    low, high, wide_low, wide_high = (known(row.get(end)) for end in ENDS)
    return Span(math.nan if value is None else value, low, high, wide_low, wide_high)


def scale_of(spans: Iterable[Span], *, zero: bool, percent: bool, far: float = FAR) -> Scale:
    """A scale that holds every core, and wings ``far`` times as far as these reach."""
    every = list(spans)
    cores = [x for s in every for x in (s.value, s.low, s.high) if x is not None and x == x]
    cores += [0.0] * zero
    low, high = min(cores, default=0.0), max(cores, default=1.0)
    room = far * (high - low) or abs(high) or 1.0
    ends = [min(max(end, low - room), high + room) for span in every for end in span.ends]
    return Scale.over([*cores, *ends], percent=percent)
