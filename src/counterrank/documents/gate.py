"""The gate of a pipeline: may this candidate go on, by the numbers of a saved result?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from counterrank.core.errors import UsageError, nearest
from counterrank.core.format import printable
from counterrank.documents.decision import level_of, undecided
from counterrank.documents.requirements import Candidate, Row, Terms, candidates, failures, terms


@dataclass(frozen=True)
class Gate:
    """``failed`` are diagnostics that fail and concern what decides; it opens if all else passes.

    ``family`` is the number of candidates for which the intervals hold at once: all that the result
    compares, whether ``checked`` or not. ``estimand`` is what the numbers estimate; ``undecided``
    why they decide nothing.
    """

    terms: Terms
    baseline: str
    level: float
    family: int
    checked: tuple[Candidate, ...]
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
        over = f" for {self.family} candidates at once" if self.family > 1 else ""
        lines = [f"### Counterrank: the gate is {word}", ""]
        lines += [_md(self.estimand), ""] if self.estimand else []
        if self.undecided:
            return "\n".join([*lines, _md(self.undecided)]) + "\n"
        lines += [
            f"{_md(' '.join(filter(None, self.terms.lead.words)))} decides, against"
            f" {_md(self.baseline)}; {self.level:.0%} intervals{over}.",
            "",
            "| candidate | | by | change | interval | must be | |",
            "|---|---|---|---|---|---|---|",
        ]
        for c in self.checked:
            for one in c.requirements:
                change, ends = one.shown(2)
                lines.append(
                    f"| {_md(c.system)} | {one.role} | {_md(one.criterion.what)} | {change} |"
                    f" {ends.strip('[]').replace(', ', ' to ')} | {one.must} |"
                    f" {'passes' if one.passed else '**stops**'} |"
                )
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
    decide_by: str = "",
    estimator: str = "",
    baseline: str = "",
    systems: Sequence[str] = (),
    min_lift: float | None = None,
    margin: float | None = None,
    guard: Mapping[str, float] | None = None,
) -> Gate:
    """Hold every candidate to what decides and guards; what is not said, the result says."""
    told = str(document.get("estimand", ""))
    own = terms(
        document, decide_by=decide_by, estimator=estimator, min_lift=min_lift, margin=margin,
        guard=guard,
    )  # fmt: skip
    if undecided(document):
        base = str(document.get("protocol", {}).get("baseline") or "")
        return Gate(own, base, level_of(document), 0, (), (), told, undecided(document))
    base = baseline or _baseline(document)
    every = candidates(document, own, base)
    if not every:
        there = sorted({str(r["measure"]) for r in document["comparisons"]})
        bases = sorted({str(r["baseline"]) for r in document.get("comparisons", [])})
        raise UsageError(
            f'The result compares nothing with "{printable(base)}" by {printable(str(own.lead))}.',
            found=f"Measures: {', '.join(there) or 'none'}."
            f" Baselines: {', '.join(bases) or 'none'}.",
            todo="Name both as the result has them: --decide-by, --baseline.",
        )
    names = [c.system for c in every]
    for name in systems:
        if name not in names:
            raise UsageError(
                f'The result has no candidate "{printable(name)}".',
                found=nearest(name, names),
                todo=f"It has: {', '.join(map(printable, names))}.",
            )
    checked = tuple(c for c in every if not systems or c.system in systems)
    failed = failures(document, [base, *(c.system for c in checked)], own.lead.estimator)
    return Gate(own, base, level_of(document), len(every), checked, tuple(failed), told)


def _baseline(document: Row) -> str:
    base = document.get("protocol", {}).get("baseline")
    if not base:
        raise UsageError(
            "The result names no baseline.", todo="Say which system to hold: --baseline NAME."
        )
    return str(base)


def _count(failed: Sequence[Row]) -> str:
    return f"{len(failed)} diagnostic{'s fail' if len(failed) > 1 else ' fails'}"


def _md(value: object) -> str:
    """Text from data inside Markdown: no mark-up takes effect, no line ends."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+!|~&" else c for c in printable(str(value)))
