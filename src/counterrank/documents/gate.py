"""The gate of a pipeline: may this candidate go on, by the numbers of a saved result?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from counterrank.core.errors import UsageError, nearest
from counterrank.core.format import printable
from counterrank.documents.decision import (
    Criterion,
    Row,
    leading,
    level_of,
    sign,
    undecided,
    value_of,
    with_numbers,
)


@dataclass(frozen=True)
class CandidateCheck:
    """One candidate: its lift over the baseline, with both ends, against what was asked."""

    system: str
    lift: float
    low: float
    high: float
    passed: bool


@dataclass(frozen=True)
class Gate:
    """``failed`` are the diagnostics that fail; the gate opens if there are none and all pass.

    ``estimand`` is what the numbers estimate; ``undecided`` why they decide nothing.
    """

    measure: str
    baseline: str
    least: float
    level: float
    checked: tuple[CandidateCheck, ...]
    failed: tuple[Row, ...]
    estimand: str = ""
    undecided: str = ""

    @property
    def passed(self) -> bool:
        """Whether every candidate may go on."""
        return not (self.failed or self.undecided) and all(one.passed for one in self.checked)

    def markdown(self) -> str:
        """A summary for a pull request."""
        word = "open" if self.passed else "closed"
        lines = [f"### Counterrank: the gate is {word}", ""]
        lines += [_md(self.estimand), ""] if self.estimand else []
        if self.undecided:
            return "\n".join([*lines, _md(self.undecided)]) + "\n"
        lines += [
            f"{_md(self.measure)} against {_md(self.baseline)}: the lower end of the"
            f" {self.level:.0%} interval of the lift must reach {self.least:+.2%}.",
            "",
            "| candidate | lift | interval | |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| {_md(c.system)} | {_share(c.lift)} | {_share(c.low)} to {_share(c.high)} |"
            f" {'passes' if c.passed else '**stops**'} |"
            for c in self.checked
        ]
        if self.failed:
            lines += ["", f"{_count(self.failed)}, so the numbers do not count:", ""]
            lines += [
                f"- **{_md(d['name'])}** ({_md(d['subject'])}): {_md(d['meaning'])}"
                for d in self.failed
            ]
        return "\n".join(lines) + "\n"


def gated(
    document: Row,
    *,
    measure: str = "",
    estimator: str = "",
    baseline: str = "",
    systems: Sequence[str] = (),
    least: float = 0.0,
) -> Gate:
    """Hold every candidate's lift against ``least``: its lower end must reach it."""
    told = str(document.get("estimand", ""))
    if undecided(document):
        base = str(document.get("protocol", {}).get("baseline") or "")
        return Gate("", base, least, level_of(document), (), (), told, undecided(document))
    document = with_numbers(document)
    label = leading(document, measure=measure, estimator=estimator)
    base = baseline or _baseline(document)
    rows = [r for r in document["comparisons"] if label.of(r) and _pair(r, base)]
    if not rows:
        there = sorted({str(r["measure"]) for r in document["comparisons"]})
        bases = sorted({str(r["baseline"]) for r in document.get("comparisons", [])})
        raise UsageError(
            f'The result compares nothing with "{printable(base)}" by {printable(str(label))}.',
            found=f"Measures: {', '.join(there) or 'none'}."
            f" Baselines: {', '.join(bases) or 'none'}.",
            todo="Name both as the result has them: --measure, --baseline.",
        )
    names = [_other(r, base) for r in rows]
    for name in systems:
        if name not in names:
            raise UsageError(
                f'The result has no candidate "{printable(name)}".',
                found=nearest(name, names),
                todo=f"It has: {', '.join(map(printable, names))}.",
            )
    wanted = [r for r in rows if not systems or _other(r, base) in systems]
    value = value_of(document, label, base)
    checked = tuple(_checked(document, r, base, value, least, label) for r in wanted)
    failed = tuple(d for d in document.get("diagnostics", []) if d["state"] == "fail")
    return Gate(
        " ".join(filter(None, label.words)), base, least, level_of(document), checked, failed, told
    )


def _checked(
    document: Row, row: Row, base: str, value: float | None, least: float, label: Criterion
) -> CandidateCheck:
    """The lift the result has; where it has none, the difference over the baseline's value."""
    if row["baseline"] == base and row["lift"] is not None and math.isfinite(row["lift_low"]):
        lift, low, high = row["lift"], row["lift_low"], row["lift_high"]
    else:
        if not value:
            raise UsageError(
                f'The baseline "{printable(base)}" has no value to measure a lift by.',
                todo="Use a result in which the baseline has a value other than 0.",
            )
        turn = 1 if row["baseline"] == base else -1
        ends = sorted(turn * row[key] / abs(value) for key in ("low", "high"))
        lift, low, high = turn * row["difference"] / abs(value), ends[0], ends[1]
    reached = low >= least if sign(document, label) > 0 else high <= -least
    return CandidateCheck(_other(row, base), float(lift), float(low), float(high), bool(reached))


def _baseline(document: Row) -> str:
    base = document.get("protocol", {}).get("baseline")
    if not base:
        raise UsageError(
            "The result names no baseline.", todo="Say which system to hold: --baseline NAME."
        )
    return str(base)


def _share(x: float) -> str:
    return f"{x:+.2%}" if math.isfinite(x) else "n/a"


def _pair(row: Row, base: str) -> bool:
    return base in (row["baseline"], row["system"])


def _other(row: Row, base: str) -> str:
    return str(row["system"] if row["baseline"] == base else row["baseline"])


def _count(failed: Sequence[Row]) -> str:
    return f"{len(failed)} diagnostic{'s fail' if len(failed) > 1 else ' fails'}"


def _md(value: object) -> str:
    """Text from data inside Markdown: no mark-up takes effect, no line ends."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+!|~&" else c for c in printable(str(value)))
