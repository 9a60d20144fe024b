"""The gate of a pipeline: may this candidate go on, by the numbers of a saved result?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from counterrank.core.errors import UsageError, unknown
from counterrank.core.format import shorten
from counterrank.diagnostics.diagnostic import gravest, verdict_of
from counterrank.documents.acceptance import Acceptance, today
from counterrank.documents.decision import level_of, undecided
from counterrank.documents.requirements import (
    Candidate,
    Row,
    Terms,
    candidates,
    concerned,
    decisive_interval,
    failures,
    known,
    terms,
)

KINDS = ("evaluate", "estimate", "strata", "funnel")
VERDICTS = ("pass", "caution", "fail")
LONGEST = 600  # characters of a name or a sentence in a summary


@dataclass(frozen=True)
class Gate:
    """``failed`` are diagnostics that fail and concern what decides; it opens if all else passes.

    ``family`` is the number of candidates for which the intervals hold at once: all that the result
    compares, whether ``checked`` or not. ``verdicts`` say how far each can be believed, and
    ``strict`` asks for pass. ``tips`` are the odds factors at which their claims turn (None: none),
    where the gate asks that they ``withstand`` one. ``accepted`` are diagnostics that do not count,
    ``expired`` those that count again. ``estimand`` is what the numbers estimate; ``undecided`` why
    they decide nothing; ``plain`` that they take assumptions to hold (``--bounds none``).
    """

    terms: Terms
    baseline: str
    level: float
    family: int
    checked: tuple[Candidate, ...]
    failed: tuple[Row, ...]
    estimand: str = ""
    undecided: str = ""
    verdicts: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False
    withstand: float | None = None
    tips: Mapping[str, float | None] = field(default_factory=dict)
    accepted: tuple[Acceptance, ...] = ()
    expired: tuple[Acceptance, ...] = ()
    plain: bool = False

    @property
    def passed(self) -> bool:
        """Whether every candidate may go on."""
        sure = self.verdict == "pass" or (self.verdict == "caution" and not self.strict)
        firm = all(map(self.withstands, self.tips))
        whole = not (self.failed or self.undecided) and sure and firm
        return whole and all(one.passed for one in self.checked)

    @property
    def verdict(self) -> str:
        """The gravest of all that were checked."""
        return max(self.verdicts.values(), key=VERDICTS.index, default="pass")

    def withstands(self, system: str) -> bool:
        """Whether its claim survives the odds factor that is asked for."""
        gamma = self.tips[system]
        return gamma is None or self.withstand is None or gamma > self.withstand

    def markdown(self) -> str:
        """A summary for a pull request."""
        over = f" for {self.family} candidates at once" if self.family > 1 else ""
        over += ", if the assumptions hold" if self.plain else ""
        lines = [f"### Counterrank: the gate is {self._word()}", ""]
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
            lines += self._asked(c.system)
        if len({c.passed for c in self.checked}) > 1:
            lines += ["", "Every candidate must pass; `--system NAME` asks it of one."]
        if self.failed:
            lines += ["", f"{_count(self.failed)}, so the numbers do not count:", ""]
            lines += [
                f"- **{_md(d['name'])}** ({_md(d['subject'])}): {_md(d['meaning'])}"
                for d in self.failed
            ]
        return "\n".join([*lines, *self._accepted()]) + "\n"

    def _repr_markdown_(self) -> str:
        """The same in a notebook."""
        return self.markdown()

    def _word(self) -> str:
        if not self.passed:
            return "closed"
        return "open" if self.verdict == "pass" else "open, with caution"

    def _asked(self, system: str) -> list[str]:
        """What else is asked of a candidate, as further lines of the table."""
        lines, name = [], _md(system)
        if self.strict or self.verdicts.get(system, "pass") != "pass":
            verdict = self.verdicts[system]
            stops = verdict == "fail" or (self.strict and verdict != "pass")
            least = "pass" if self.strict else "caution"
            lines.append(
                f"| {name} | verdict | diagnostics | {verdict} | | at least {least} |"
                f" {'**stops**' if stops else 'passes'} |"
            )
        if system in self.tips:
            gamma = self.tips[system]
            turns = "nothing turns it" if gamma is None else f"turns at {gamma:.2f}"
            lines.append(
                f"| {name} | withstands | confounding | {turns} | | above {self.withstand:g} |"
                f" {'passes' if self.withstands(system) else '**stops**'} |"
            )
        return lines

    def _accepted(self) -> list[str]:
        told = [
            f"- **{_md(a.id)}** is accepted until {a.until}: {_md(a.reason)}" for a in self.accepted
        ]
        told += [
            f"- **{_md(a.id)}** was accepted until {a.until} and counts again: {_md(a.reason)}"
            for a in self.expired
        ]
        return ["", *told] if told else []


def hold_gate(
    document: Row,
    *,
    decide_by: str = "",
    estimator: str = "",
    baseline: str = "",
    systems: Sequence[str] = (),
    min_lift: float | None = None,
    margin: float | None = None,
    guard: Mapping[str, float] | None = None,
    strict: bool = False,
    withstand: float | None = None,
    accept: Sequence[Acceptance] = (),
) -> Gate:
    """Hold every candidate to what decides and guards; what is not said, the result says."""
    if document["kind"] not in KINDS:
        raise UsageError(
            "The result compares no rankers.",
            found=f'It is of the kind "{document["kind"]}".',
            todo=f"Give one of: {', '.join(KINDS)}.",
        )
    told, day = str(document.get("estimand", "")), today() if accept else None
    accepted = tuple(a for a in accept if day is not None and a.holds(day))
    expired = tuple(a for a in accept if a not in accepted)
    left = _without(document, {a.id for a in accepted})
    own = terms(
        document, decide_by=decide_by, estimator=estimator, min_lift=min_lift, margin=margin,
        guard=guard,
    )  # fmt: skip
    silent = undecided(document) or _unfounded(document)
    if silent:
        base = str(document.get("protocol", {}).get("baseline") or "")
        return Gate(own, base, level_of(document), 0, (), (), told, silent)
    base = baseline or _baseline(document)
    every = candidates(document, own, base)
    if not every:
        there = sorted({str(r["measure"]) for r in document["comparisons"]})
        bases = sorted({str(r["baseline"]) for r in document.get("comparisons", [])})
        raise UsageError(
            f'The result compares nothing with "{base}" by {own.lead}.',
            found=f"Measures: {', '.join(there) or 'none'}."
            f" Baselines: {', '.join(bases) or 'none'}.",
            todo="Name both as the result has them: --decide-by, --baseline.",
        )
    names = [c.system for c in every]
    listed = dict.fromkeys(str(r["system"]) for r in document["estimates"] if own.lead.of(r))
    if alone := [name for name in listed if name not in (base, *names)]:
        raise UsageError(
            f'The result compares only {", ".join(names)} with "{base}".',
            found=f"Not compared with it: {', '.join(alone)}.",
            todo=f'Make it anew with --baseline "{base}", which holds all at once.',
        )
    for name in systems:
        if name not in names:
            raise unknown(f'The result has no candidate "{name}".', name, names)
    checked = tuple(c for c in every if not systems or c.system in systems)
    failed = failures(left, [base, *(c.system for c in checked)], own.lead.estimator)
    verdicts = {c.system: _verdict(document, left, c, base) for c in checked}
    tips = {} if withstand is None else {c.system: _tip(document, c, base) for c in checked}
    return Gate(
        own, base, level_of(document), len(every), checked, tuple(failed), told, "", verdicts,
        strict, withstand, tips, accepted, expired, document["protocol"].get("bounds") == "none",
    )  # fmt: skip


def _without(document: Row, ids: set[str]) -> Row:
    """The document without some diagnostics."""
    kept = [d for d in document.get("diagnostics", []) if (d.get("id") or d["name"]) not in ids]
    return {**document, "diagnostics": kept}


def _verdict(document: Row, left: Row, c: Candidate, base: str) -> str:
    """How far what decides can be believed: as the result says or, of what is ``left``, anew."""
    systems, by = [c.system, base], c.lead.criterion.estimator
    before, after = (concerned(d, systems, by) for d in (document, left))
    said = c.lead.row.get("verdict")
    if said and len(before) == len(after):
        return str(said)
    return verdict_of(gravest(d["state"] for d in after))


def _tip(document: Row, c: Candidate, base: str) -> float | None:
    """The odds factor at which a candidate's claim turns."""
    table = document.get("tables", {}).get("tipping")
    if not table:
        raise UsageError(
            "The result has no tipping points, so nothing says what it withstands.",
            found="They are told where chance had a part in what was shown: of a log with"
            " propensities or exposures, and of a funnel.",
            todo="Log propensities and make the result anew, or leave --withstand out.",
        )
    own = c.lead.criterion
    rows = [r for r in table if r["assumption"] == "confounding" and r["claim"] is not None]
    rows = [r for r in rows if (r["system"], r["baseline"]) == (c.system, base)]
    for r in rows:
        if (r["measure"], r["reward"], r["estimator"]) == (own.measure, own.reward, own.estimator):
            return known(r["gamma"])
    there = sorted({f"{r['measure']} by {r['estimator']}" for r in rows})
    raise UsageError(
        f'The result has no tipping point of "{c.system}" by {own}.',
        found=f"It has those of: {', '.join(there) or 'none'}.",
        todo="Decide by one of these: --decide-by, --estimator, --baseline.",
    )


def _unfounded(document: Row) -> str:
    """Why a document opens no gate, whatever its numbers say."""
    if not document.get("diagnostics"):
        return "The result has no diagnostics, so nothing says what its numbers rest on."
    rows = [*document["estimates"], *document["comparisons"]]
    told = any(d["state"] == "fail" for d in document["diagnostics"])
    if not told and any(row.get("verdict") == "fail" for row in rows):
        return "A number of the result fails, but no diagnostic says why: a part of it is missing."
    for row in document["comparisons"]:
        ends = decisive_interval(row) or (0.0, 0.0)
        open_claim = row.get("claim") == "cannot_tell" and row.get("verdict") != "fail"
        if open_claim and (ends[0] > 0 or ends[1] < 0):
            return "A comparison claims less than its interval does: a part of it is missing."
    return ""


def _baseline(document: Row) -> str:
    base = document.get("protocol", {}).get("baseline")
    if not base:
        raise UsageError(
            "The result names no baseline.", todo="Say which system to hold: --baseline NAME."
        )
    return str(base)


def _count(failed: Sequence[Row]) -> str:
    return f"{len(failed)} diagnostic{'s fail' if len(failed) > 1 else ' fails'}"


APART = "\u200b"  # a space of no width: what it stands in is no name or link to any reader
LABEL = (
    r"(?<=\w)@\d+(?![\w.\-])"  # nDCG@10 calls nobody: a name follows no letter, an address no dot
)


def _md(value: object) -> str:
    """Text from data inside Markdown: nothing in it takes effect, nobody is called, no line ends.

    An id of any length is cut to what a table can show. The cut-off of a label, nDCG@10, calls
    nobody.
    """
    text = shorten(str(value), LONGEST)
    text = "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+!|~&" else c for c in text)
    text = re.sub(rf"(?!{LABEL})([@#])(?=\w)", rf"\1{APART}", text)
    return re.sub(r"(?i)(www)\.|(\w):(?=//)", lambda m: f"{m[0]}{APART}", text)
