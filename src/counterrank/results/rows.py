"""Rows that every verb's result has: estimates, comparisons, and what their diagnostics concern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from counterrank.diagnostics.diagnostic import Diagnostic
from counterrank.stats.compare import Comparison
from counterrank.stats.units import Functions, Key


@dataclass(frozen=True)
class Row:
    """One value: of what, by what, how, and how sure; the same row in every verb.

    ``verdict`` is whether to believe it: pass, caution or fail. ``clusters`` is the number of
    clusters, such as users of sessions. What does not apply is empty, or not a number.
    """

    system: str
    measure: str
    reward: str | None
    estimator: str
    segment: str | None
    value: float
    se: float
    low: float
    high: float
    level: float
    units: int
    verdict: str
    clusters: int = 0

    method = Key.method


ROW = tuple(f.name for f in fields(Row) if f.name != "clusters")
COMPARISON = tuple(f.name for f in fields(Comparison))
DIAGNOSTIC = (
    "id", "name", "subject", "systems", "estimators", "value", "threshold", "state", "meaning",
)  # fmt: skip
NAN = float("nan")
COLUMNS = {"estimates": ROW, "comparisons": COMPARISON, "diagnostics": DIAGNOSTIC}


def as_row(own: object, **given: Any) -> Row:
    """A row of a verb's own table as one of the estimates; ``given`` says what it has not."""
    return Row(**_parts(own, given, ROW))


def as_comparison(own: object, **given: Any) -> Comparison:
    """The same for comparisons."""
    return Comparison(**_parts(own, {"claim": "cannot_tell", **given}, COMPARISON))


def _parts(own: object, given: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    none: dict[str, Any] = dict.fromkeys(
        ("system", "measure", "estimator", "correction", "family"), ""
    )
    none |= {"reward": None, "segment": None, "draws": None, "lift": None, "units": 0}
    return {
        name: given[name] if name in given else getattr(own, name, none.get(name, NAN))
        for name in names
    }


def with_concerns(diagnostics: Sequence[Diagnostic], functions: Functions) -> list[Diagnostic]:
    """Diagnostics with the systems and estimators that their subjects name."""
    estimators = {key.estimator for key in functions}
    systems = {key.system: (key.system, "") for key in functions}
    both = {f"{key.system}, {key.estimator}": (key.system, key.estimator) for key in functions}
    named = both | systems
    found = []
    for d in diagnostics:
        system, estimator = named.get(d.subject, ("", ""))
        several = () if system else tuple(d.subject.split(", "))
        some = (estimator,) if estimator else several if estimators.issuperset(several) else ()
        found.append(replace(d, systems=(system,) if system else (), estimators=some))
    return found


def concerning(key: Key) -> set[str]:
    """The subjects of diagnostics that concern a key: its system, alone and by this estimator."""
    return {key.system, f"{key.system}, {key.estimator}", "log", "funnel", "judgments"}
