"""The decision a result speaks for: one sentence, its verdict, and what it rests on.

It reads the JSON document alone, so a saved result says the same as a fresh one; the gate holds
candidates to the same requirements, so that both agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from counterrank.core.format import interval_text, list_names, number, shorten
from counterrank.documents.online_test import in_one_sentence, size_of_test, what_would_tell
from counterrank.documents.requirements import (
    Candidate,
    Criterion,
    Requirement,
    Row,
    Terms,
    candidates,
    direction,
    failures,
    known,
    known_ends,
    requirements,
    terms,
)

LONG = 110  # characters of a heading


@dataclass(frozen=True)
class Decision:
    """``verdict`` is test, keep, open or distrust; ``system`` is the one the sentence is about.

    Offline data send nothing live: ``test`` is a candidate that deserves the A/B test. ``steps`` is
    the part of the sentence that says what to do next, each step by itself.
    """

    verdict: str
    sentence: str
    grounds: str
    system: str = ""
    measure: str = ""
    baseline: str = ""
    steps: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """What the sentence says before its first number, as a heading."""
        head, colon, _ = self.sentence.partition(": ")
        head = head if colon and ". " not in head else self.sentence.partition(". ")[0].rstrip(".")
        return head if len(head) <= LONG else head.partition(" (")[0].partition(", ")[0]

    @property
    def body(self) -> str:
        """The rest of the sentence, but for the steps."""
        rest = self.sentence[len(self.head) :].replace(in_one_sentence(self.steps), "")
        for step in self.steps:
            rest = rest.replace(step, "")
        return " ".join(rest.lstrip(":., ").split())


def decide(
    document: Row, *, decide_by: str = "", estimator: str = "", baseline: str = ""
) -> Decision:
    """What to do, by a measure or reward and an estimator (default: what the result says)."""
    sentences = document.get("tables", {}).get("recommendation")
    if sentences:
        return Decision("read", " ".join(sentences), grounds(document))
    if undecided(document):
        return Decision("open", undecided(document), grounds(document))
    found = terms(document, decide_by=decide_by, estimator=estimator)
    base = baseline or document["protocol"].get("baseline") or ""
    return _against(document, found, base) if base else _among(document, found)


def undecided(document: Row) -> str:
    """Why nothing may be decided on this result, whatever its numbers; nothing if it may."""
    return str(document.get("protocol", {}).get("undecided") or "")


def grounds(document: Row) -> str:
    """How many diagnostics are in which state."""
    states = [d["state"] for d in document.get("diagnostics", [])]
    parts = [f"{states.count(word)} {word}" for word in ("pass", "caution", "fail")]
    parts += [f"{states.count(w)} {w}" for w in ("untested", "assumed") if w in states]
    return f"Diagnostics: {', '.join(parts)}." if states else "No diagnostic was made."


def level_of(document: Row) -> float:
    """The level of its intervals."""
    return float(document["protocol"].get("level", 0.95))


def _against(document: Row, found: Terms, base: str) -> Decision:
    """Candidates against a baseline."""
    label, name = found.lead, shorten(base, 40)
    rest = f"{grounds(document)} By {label}, {level_of(document):.0%} confidence."
    own = candidates(document, found, base)
    if not own:
        sentence = f"Nothing was compared with {name} by {label}."
        return Decision("open", sentence, rest, "", str(label), base)
    failed = {c.system: failures(document, (c.system, base), label.estimator) for c in own}
    trusted = _best_first(c for c in own if not failed[c.system])
    if not trusted:
        best = _best_first(own)[0]
        return Decision(
            "distrust", _distrusted(failed[best.system][0]), rest, best.system, str(label), base
        )
    passing = [c for c in trusted if c.passed]
    steps: list[str] = []
    if passing:
        best, verdict = passing[0], "test"
        sentence = f"{shorten(best.system, 40)} deserves the A/B test: {best.lead} against {name}"
        sentence += f", picked from {len(own)}." if len(own) > 1 else "."
        also = _guards(best), _others(best, passing[1:]), size_of_test(document, best.lead)
        sentence += _corrected(best) + "".join(also)
        steps = [step.strip() for step in also if step]
    elif all(c.ruled_out for c in trusted):
        best, verdict = _nearest(trusted), "keep"
        sentence = _kept(trusted, best, name)
    else:
        best, verdict = _nearest([c for c in trusted if not c.ruled_out]), "open"
        steps = what_would_tell(document, best.lost[0] if best.lead.passed else best.lead)
        sentence = _untold(document, trusted, best, name) + in_one_sentence(steps)
    for c in own:
        if failed[c.system]:
            d = failed[c.system][0]
            sentence += f" {shorten(c.system, 40)} does not count: {d['name']} fails."
    return Decision(verdict, sentence, rest, best.system, str(label), base, tuple(steps))


def _best_first(several: Iterable[Candidate]) -> list[Candidate]:
    return sorted(several, key=lambda c: -c.lead.up * (c.lead.difference or 0.0))


def _nearest(several: Sequence[Candidate]) -> Candidate:
    """The best that only guards hold back or, without such, the best."""
    return next((c for c in several if c.lead.passed), several[0])


def _kept(several: Sequence[Candidate], best: Candidate, base: str) -> str:
    """Why the baseline stays: the data tell that no candidate is better."""
    lead, system = best.lead, shorten(best.system, 40)
    if lead.passed:
        lost = next(guard for guard in best.lost if guard.worse)
        return (
            f"Keep {base}: {system} does not deserve the A/B test. It is better by {lead}, but"
            f" {lost.criterion.what} is worse: {' '.join(lost.shown())}."
        )
    why = "every candidate is worse"
    if not all(c.lead.worse for c in several):
        why = f"none can be {lead.must}" if lead.short else "none is better without a loss"
    nearest = f"The nearest, {system}: {lead}." if len(several) > 1 else f"{system}: {lead}."
    return f"Keep {base}: no candidate deserves the A/B test, as {why}. {nearest}"


def _untold(document: Row, several: Sequence[Candidate], best: Candidate, base: str) -> str:
    """What these data cannot tell of the nearest candidate, and what would."""
    lead, system = best.lead, shorten(best.system, 40)
    data = "This log" if document.get("kind") == "estimate" else "These data"
    if lead.passed:
        lost = best.lost[0]
        return (
            f"{data} cannot tell whether {system} deserves the A/B test: it is better by {lead},"
            f" but {lost.criterion.what} may be worse by more than {-100 * lost.least:g}%:"
            f" {' '.join(lost.shown())}."
        )
    than = f"is {lead.must} against {base}" if lead.least else f"is better than {base}"
    sentence = f"{data} cannot tell whether {system} {than}: {lead}."
    rises = lead.up * (lead.difference or 0) > 0 and not lead.least
    if rises and _clear(lead.row, "family_"):
        ends = known_ends(lead.row, "lift_family_") if lead.lift else None
        told = f", [{ends[0]:+.1%}, {ends[1]:+.1%}]" if ends else ""
        told += f" with {len(several)} candidates counted" if told and len(several) > 1 else ""
        sentence += f" If the assumptions hold it is better{told}; what they rest on may undo that."
    elif rises and _clear(lead.row, ""):
        whole = f" once all {len(several)} candidates are counted" if len(several) > 1 else ""
        sentence += f" That may be chance{whole}."
    else:
        sentence += _seen(lead)
    return sentence


def _clear(row: Row, kind: str) -> bool:
    """Whether an interval of a comparison has one sign."""
    ends = known_ends(row, kind)
    return ends is not None and ends[0] * ends[1] > 0


def _seen(lead: Requirement) -> str:
    """How large a change would have shown, as a share of the baseline's value."""
    if not lead.lift or not lead.row.get("detectable"):
        return ""
    share = abs(lead.row["detectable"] / lead.size)
    return f" These data show only changes of about {share:.0%} or more."


def _corrected(best: Candidate) -> str:
    """What remains of the winner's difference once it is known that it was picked."""
    lead = best.lead
    d, ends = known(lead.row.get("selected_difference")), known_ends(lead.row, "selected_")
    if d is None or ends is None:
        return ""
    lift = tuple(x / lead.size for x in (d, *ends)) if lead.lift else ()
    shown = replace(lead, difference=d, ends=ends, lift=lift).shown()
    return f" Corrected for the pick: {' '.join(shown)}."


def _guards(best: Candidate) -> str:
    """How every guard holds."""
    told = [f"{g.criterion.what} {' '.join(g.shown())}, {g.must}" for g in best.requirements[1:]]
    return f" Guards hold: {'; '.join(told)}." if told else ""


def _others(best: Candidate, also: Sequence[Candidate]) -> str:
    """Who else passes, and who is too close to the best to tell apart."""
    if not also:
        return ""
    names = list_names([c.system for c in also])
    text = f" {names} also deserve{'s' * (len(also) == 1)} it."
    low, high = best.lead.ends or (0.0, 0.0)
    near = [c.system for c in also if low <= (c.lead.difference or 0.0) <= high]
    if near:
        text += f" {list_names([best.system, *near])} are close, and were not compared with each"
        text += " other."
    return text


def _distrusted(d: Row) -> str:
    worst = f"{d['name']} of {shorten(str(d['subject']), 40)}"
    return f"Do not decide on these numbers: {worst} fails. {d['meaning']}"


# without a baseline


def order_by_pairs(pairs: Iterable[tuple[str, str, float | None]], up: int = 1) -> list[str]:
    """Systems from best to worst by all their paired differences (system, other, difference).

    A system's own mean may be over other units than another's; pairs are over units of both.
    """
    total: dict[str, float] = {}
    for system, other, difference in pairs:
        ahead = up * (known(difference) or 0.0)
        total[other] = total.get(other, 0.0) - ahead
        total[system] = total.get(system, 0.0) + ahead
    return sorted(total, key=lambda name: -total[name])


def _among(document: Row, found: Terms) -> Decision:
    """All systems among each other: who beats all others, or who is not separated."""
    label = found.lead
    rest = f"{grounds(document)} By {label}, {level_of(document):.0%} confidence."
    rows = [r for r in document["comparisons"] if label.of(r)]
    up = direction(document, label.measure)
    order = order_by_pairs(((r["system"], r["baseline"], r["difference"]) for r in rows), up)
    if not order:
        return Decision("read", _alone(document, label), rest, "", str(label))
    failed = failures(document, order, label.estimator)
    if failed:
        return Decision("distrust", _distrusted(failed[0]), rest, order[0], str(label))
    beats = {(r["system"], r["baseline"]) for r in rows if r["claim"] == "better"}
    beats |= {(r["baseline"], r["system"]) for r in rows if r["claim"] == "worse"}
    unbeaten = [name for name in order if not any((o, name) in beats for o in order)]
    if not unbeaten:
        sentence = f"No system is unbeaten by {label}: {_circle(order, beats)}."
        return Decision("open", sentence, rest, "", str(label))
    first = unbeaten[0]
    name, others = shorten(first, 40), [o for o in order if o != first]
    level = [o for o in others if (first, o) not in beats]
    if level:
        verb = "is" if len(level) == 1 else "are"
        sentence = f"{name} leads by {label}, but {list_names(level)} {verb} not separated from it."
        return Decision("open", sentence, rest, first, str(label))
    held = [requirements(document, found, first, o) for o in others]
    lost = [(c, o) for c, o in zip(held, others, strict=True) if not c.passed]
    lead = held[0].lead
    ahead = number(abs(lead.difference or 0.0), 4)
    sentence = f"{name} is the best by {label}: {ahead} ahead of {shorten(others[0], 40)}, the"
    sentence += " next, beyond chance."
    if not lost:
        return Decision("test", f"{sentence} It deserves the A/B test.", rest, first, str(label))
    c, other = lost[0]
    one = next(r for r in c.requirements if not r.passed)
    sentence += f" But {one} against {shorten(other, 40)} must be {one.must}."
    return Decision("open", sentence, rest, first, str(label))


def _alone(document: Row, label: Criterion) -> str:
    """What can be said where nothing was compared."""
    own = [r for r in document["estimates"] if label.of(r)]
    if len(own) != 1:
        return f"{document.get('kind', 'result')}: nothing was compared."
    shown = f"{number(own[0]['value'], 4)} {interval_text(own[0]['low'], own[0]['high'], 4)}"
    name = shorten(str(own[0]["system"]), 40)
    return f"{name} reaches {shown} by {label}; there is nothing to compare it with."


def _circle(order: Sequence[str], beats: set[tuple[str, str]]) -> str:
    """Systems of which each beats the next, and the last the first."""
    path = [order[0]]
    while (above := next(o for o in order if (o, path[-1]) in beats)) not in path:
        path.append(above)
    ring = [*path[path.index(above) :], above][::-1]
    return " beats ".join(shorten(name, 30) for name in ring)
