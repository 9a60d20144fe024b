"""What a decision reads of a document: one criterion that decides, others that guard.

Every candidate is held against the baseline by the intervals that hold for all candidates at once,
and for what the data cannot rule out, where these are told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from counterrank.core.errors import UsageError, unknown
from counterrank.core.format import decimals, interval_text, number
from counterrank.metrics import measure

Row = Mapping[str, Any]
Key = tuple[str | None, str | None, str | None, str | None]
Ends = tuple[float, float]  # of an interval


def key_of(row: Row) -> Key:
    """What a row is about, but for its system: measure, reward, estimator, segment."""
    return row["measure"], row["reward"], row["estimator"], row["segment"]


@dataclass(frozen=True)
class Criterion:
    """What a decision reads: one measure (of one reward) by one estimator, over the whole."""

    measure: str
    reward: str | None
    estimator: str

    def of(self, row: Row) -> bool:
        """Whether a row is one of these."""
        return key_of(row) == self.key

    @property
    def key(self) -> tuple[str, str | None, str, None]:
        """What a row of it is about, but for its system."""
        return self.measure, self.reward, self.estimator, None

    @property
    def words(self) -> tuple[str, str]:
        """What is measured, and by which estimator, if that is more than a mean."""
        return self.what, "" if self.estimator == "mean" else f"by {self.estimator}"

    @property
    def what(self) -> str:
        """What is measured."""
        return f"{self.reward}, {self.measure}" if self.reward else self.measure

    def __str__(self) -> str:
        what, how = self.words
        return f"{what} ({how})" if how else what


@dataclass(frozen=True)
class Terms:
    """What decides and the lift that it must reach; ``guards`` and how much each may lose."""

    lead: Criterion
    min_lift: float
    guards: tuple[tuple[Criterion, float], ...]


@dataclass(frozen=True)
class Requirement:
    """One candidate by one criterion: the ``ends`` that decide, and what they must reach.

    ``least`` is a share of the ``size`` of the baseline's value. Where less is better, ``up`` is -1
    and the other end must be as far below. ``lift`` are difference and ends as lifts, where there
    are any; ``row`` is the comparison.
    """

    criterion: Criterion
    role: str
    least: float
    up: int
    difference: float | None
    ends: Ends | None
    size: float
    lift: tuple[float, ...]
    row: Row

    @property
    def passed(self) -> bool:
        """Whether the end of the interval that could speak against it reaches what it must.

        That of the lift, where there is one, which is what is shown; and nothing that is asked to
        gain passes by not being above 0.
        """
        if self.ends is None:
            return False
        least_gain = min(self.up * end for end in self.ends)
        loses = least_gain < 0 if self.role == "guards" else least_gain <= 0
        if self.least >= 0 and loses:
            return False
        if self.lift:
            return min(self.up * end for end in self.lift[1:]) >= self.least
        return least_gain >= self.least * self.size

    @property
    def worse(self) -> bool:
        """Whether it is clearly worse than the baseline."""
        return self.ends is not None and max(self.up * end for end in self.ends) < 0

    @property
    def short(self) -> bool:
        """Whether not even the better end of the interval reaches what it must."""
        most = None if self.ends is None else max(self.up * end for end in self.ends)
        return most is not None and most < self.least * self.size

    def shown(self, places: int = 1) -> tuple[str, str]:
        """The difference and its interval: as lifts where there are such."""
        if self.difference is None or self.ends is None:
            return "unknown", ""
        if self.lift:
            change, low, high = (f"{x:+.{places}%}" for x in self.lift)
            return change, f"[{low}, {high}]"
        fine = decimals([self.row.get("se") or 0.0])
        ends = interval_text(*self.ends, fine, sign=True)
        return number(self.difference, fine, sign=True), ends

    @property
    def must(self) -> str:
        """What it must reach, in words."""
        if not self.least and self.role == "decides":
            return "above 0" if self.up > 0 else "below 0"
        of = "" if self.lift else f" of {self.size:.4g}"
        return f"{'at least' if self.up > 0 else 'at most'} {_percent(self.up * self.least)}{of}"

    def __str__(self) -> str:
        return f"{self.criterion} {' '.join(self.shown())}"


def _percent(share: float) -> str:
    """A share as it was said."""
    return f"{100 * share:+g}%"


@dataclass(frozen=True)
class Candidate:
    """A system held against a baseline: what decides first, then the guards."""

    system: str
    requirements: tuple[Requirement, ...]

    @property
    def lead(self) -> Requirement:
        """By what decides."""
        return self.requirements[0]

    @property
    def lost(self) -> list[Requirement]:
        """Guards that do not hold."""
        return [guard for guard in self.requirements[1:] if not guard.passed]

    @property
    def passed(self) -> bool:
        """Whether it may go on."""
        return all(one.passed for one in self.requirements)

    @property
    def ruled_out(self) -> bool:
        """Whether the data tell that it may not: what decides falls short, or a guard is worse."""
        return self.lead.short or self.lead.worse or any(guard.worse for guard in self.lost)


def leading(document: Row, *, decide_by: str = "", estimator: str = "") -> Criterion:
    """What a decision reads: as named, or else as the result says in its protocol."""
    rows = [r for r in document["estimates"] if r["segment"] is None]
    decides = dict(document["protocol"].get("decides") or {})
    if estimator:
        decides["estimator"] = _named(rows, ("estimator",), "estimator", estimator)
    if decide_by:
        name = _named(rows, ("measure", "reward"), "measure or reward", decide_by)
        own = [r for r in rows if r["estimator"] == decides.get("estimator")] or rows
        row = next((r for r in own if name in (r["measure"], r["reward"])), rows[0])
        decides |= {"measure": row["measure"], "reward": row["reward"]}
    what, how = str(decides.get("measure", "")), str(decides.get("estimator", ""))
    return Criterion(what, decides.get("reward"), how)


def _named(rows: Sequence[Row], keys: Sequence[str], what: str, word: str) -> str:
    """One of the labels that the rows have, whatever its case."""
    there = list(dict.fromkeys(str(r[key]) for r in rows for key in keys if r[key]))
    by_lower = {name.lower(): name for name in there}
    word = word if word.lower() in by_lower else measure.label(word)
    if word.lower() not in by_lower:
        raise unknown(f'The result has no {what} "{word}".', word, there)
    return by_lower[word.lower()]


def terms(
    document: Row,
    *,
    decide_by: str = "",
    estimator: str = "",
    min_lift: float | None = None,
    margin: float | None = None,
    guard: Mapping[str, float] | None = None,
) -> Terms:
    """What decides and what guards: as the result says, but for what is said here."""
    said = dict(document["protocol"].get("decides") or {})
    usual, lead = leading(document), leading(document, decide_by=decide_by, estimator=estimator)
    guards = {
        Criterion(g["measure"], g["reward"], lead.estimator): g["margin"]
        if margin is None
        else margin
        for g in said.get("guards", ())
    }
    if guards.pop(lead, None) is not None:  # what decided before guards in its place
        default = said.get("margin", 0.0) if margin is None else margin
        guards = {replace(usual, estimator=lead.estimator): default} | guards
    for name, share in (guard or {}).items():
        own = leading(document, decide_by=name, estimator=estimator)
        if own == lead:
            raise UsageError(f'"{name}" decides, so it cannot guard.')
        guards[own] = share
    least = said.get("min_lift", 0.0) if min_lift is None else min_lift
    return Terms(lead, float(least), tuple(guards.items()))


def candidates(document: Row, found: Terms, base: str) -> list[Candidate]:
    """Every system that was compared with the baseline by what decides."""
    rows = (r for r in document["comparisons"] if found.lead.of(r))
    names = [_other(r, base) for r in rows if base in (r["baseline"], r["system"])]
    return [requirements(document, found, name, base) for name in dict.fromkeys(names)]


def requirements(document: Row, found: Terms, system: str, base: str) -> Candidate:
    """One system against another, by what decides and by every guard."""
    asked = [(found.lead, "decides", found.min_lift)]
    asked += [(own, "guards", -margin) for own, margin in found.guards]
    made = []
    for own, role, least in asked:
        rows = (r for r in document["comparisons"] if own.of(r))
        row: Row = next((r for r in rows if {r["system"], r["baseline"]} == {system, base}), {})
        size = abs(_compared(row, base) or _value(document, own, base))
        change = _turned(row, base) if row else (None, None)
        up = direction(document, own.measure)
        made.append(Requirement(own, role, least, up, *change, size, _lift(row, base), row))
    return Candidate(system, tuple(made))


def _compared(row: Row, base: str) -> float | None:
    """The baseline's value over the units that were compared, where some were left out of them."""
    lift = known(row.get("lift")) if row.get("baseline") == base else None
    return row["difference"] / lift if lift else None


def direction(document: Row, measure: object) -> int:
    """1 where more of a measure is better, -1 where less is."""
    return -1 if measure in (document["protocol"].get("lower_is_better") or ()) else 1


def _turned(row: Row, base: str) -> tuple[float | None, Ends | None]:
    """Difference and ends of the interval that decides, the baseline subtracted."""
    if "family_low" not in row:
        raise UsageError(
            "The result has no intervals for all candidates at once.",
            found="An older version made it.",
            todo="Make it anew.",
        )
    d, ends = known(row["difference"]), decisive_interval(row)
    if row["baseline"] == base or d is None or ends is None:
        return d, ends
    return -d, (-ends[1], -ends[0])


def decisive_interval(row: Row, of: str = "") -> Ends | None:
    """The ends that decide, of a comparison's difference or of its ``lift_``.

    Allowing for what the data cannot rule out, where that is told; otherwise for all candidates. A
    lift without such ends has none.
    """
    return known_ends(row, f"{of}bound_" if known_ends(row, "bound_") else f"{of}family_")


def known_ends(row: Row, of: str = "") -> Ends | None:
    """Both ends of a row's interval of that name, where they are known."""
    low, high = known(row.get(f"{of}low")), known(row.get(f"{of}high"))
    return None if low is None or high is None else (low, high)


READINGS = {
    "better": "better", "worse": "worse", "cannot_tell": "not separated", "fail": "not relied on"
}  # fmt: skip


def reading(claim: str, verdict: str) -> str:
    """What a comparison shows, in words; a verdict of fail leaves nothing to read."""
    return READINGS["fail" if verdict == "fail" else claim]


def known(value: float | None) -> float | None:
    """A number, or nothing: documents hold null where results hold what is no number."""
    return None if value is None or value != value else value


def _lift(row: Row, base: str) -> tuple[float, ...]:
    """The lift with both ends that decide; of a pair turned round there is none."""
    lift, ends = known(row.get("lift")), decisive_interval(row, "lift_")
    return () if lift is None or ends is None or row["baseline"] != base else (lift, *ends)


def _value(document: Row, own: Criterion, system: str) -> float:
    """A system's value; the logged ranker has one of its own, whatever the estimator."""
    rows = [r for r in document["estimates"] if r["system"] == system and r["segment"] is None]
    same = [r for r in rows if (r["measure"], r["reward"]) == (own.measure, own.reward)]
    row = next((r for r in same if own.of(r)), same[0] if same else {})
    return known(row.get("value")) or 0.0


def _other(row: Row, base: str) -> str:
    return str(row["system"] if row["baseline"] == base else row["baseline"])


def failures(document: Row, systems: Sequence[str], estimator: str) -> list[Row]:
    """Diagnostics that fail and concern one of these systems by this estimator."""
    return [d for d in concerned(document, systems, estimator) if d["state"] == "fail"]


def concerned(document: Row, systems: Sequence[str], estimator: str) -> list[Row]:
    """Diagnostics that concern one of these systems by this estimator."""
    return [
        d
        for d in document.get("diagnostics", [])
        if (not d.get("systems") or set(d["systems"]) & set(systems))
        and (not d.get("estimators") or estimator in d["estimators"])
    ]
