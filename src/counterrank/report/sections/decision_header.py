"""What to do: the decision, what is estimated, of how many, both intervals, and the next steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any

from counterrank.core.format import decimals, list_names
from counterrank.documents.decision import Decision, level_of
from counterrank.documents.requirements import Criterion, Row, concerned, key_of, known
from counterrank.report.drawing import (
    Say,
    Scale,
    Span,
    as_percent,
    day_words,
    ends_words,
    grid_lines,
    mark,
    picture,
    put_text,
    said,
    short_text,
    side,
    tick_labels,
)
from counterrank.report.gaps import Gap, scale_of
from counterrank.report.html import STATES, chip, icon, prose, text
from counterrank.report.sections.words import WORDS

Document = Mapping[str, Any]
KINDS = {
    "evaluate": "Measures on judgments", "estimate": "Off-policy estimate",
    "funnel": "Funnel of clicks and conversions", "strata": "Strata of how feedback was collected",
    "exposure": "Position model", "check": "Check of tables",
    "assess power": "Power of measures", "assess robustness": "Robustness of measures",
    "assess agreement": "Agreement of measures", "assess online": "Offline against online",
    "assess accuracy": "Accuracy of estimators",
}  # fmt: skip
BELIEF = {
    "pass": "Everything that these data could tell of what this rests on was told, and nothing"
    " was found.",
    "caution": "Read it with care.",
    "fail": "A fault was found that nothing corrects. It says something about the data, nothing"
    " about the ranker.",
}
NAMED = (("fail", "Fails"), ("caution", "Look at"), ("untested", "Not told by these data"))
ELSEWHERE = (
    "Nothing was found that bears on this comparison; what was found elsewhere stands below."
)
ADVICE = {
    "test": "Run the A/B test with it: offline numbers send nobody live.",
    "keep": "Keep what is live: on these numbers no test is worth its traffic.",
    "open": "Do not choose by these numbers, for or against. They do not say that nothing differs.",
    "distrust": "Do not choose by these numbers, for or against.",
}
NEXT = {"test": "Before you run the test", "open": "What would tell", "keep": "Also"}
LOG = "What to log next time"
MARKED = {"test": "pass", "keep": "pass", "open": "untested", "distrust": "fail", "read": "pass"}
LIVE = "OnPolicy"  # the estimator of the logged ranker, which stands in every table
CURVE = "Save it by --out FILE.json, and estimates read it by --position-bias FILE.json."
BLOCK = 26  # height of the mark where it is shown at full size


def headline(document: Document, decision: Decision) -> tuple[str, str]:
    """The decision as a heading, and the sentence that goes on from it."""
    tables = document.get("tables", {})
    if document.get("kind") == "check":
        faults = [one["fault"] for one in tables.get("tables", []) if one.get("fault")]
        if faults:
            return f"{len(faults)} of {len(tables['tables'])} tables cannot be used", faults[0]
        loud = [d for s in ("fail", "caution") for d in document["diagnostics"] if d["state"] == s]
        return "These tables can be used", next((str(d["meaning"]) for d in loud), "")
    if document.get("kind") == "exposure":
        own = [row for row in tables.get("ranks", []) if not row.get("context")] or [{}]
        last, first = own[-1], own[0]
        if last.get("value") and first.get("value"):
            share = float(last["value"]) / float(first["value"])
            return f"Rank {last['rank']} is seen {share:.2f} times as often as rank 1", CURVE
        return "How likely each rank is seen", CURVE
    if decision.verdict == "open" and not decision.measure:  # a refusal, whose words go on
        return decision.head, decision.body[:1].upper() + decision.body[1:]
    return decision.head, decision.body


def decision_header(
    document: Document, decision: Decision, lead: Criterion | None, gap: Gap | None, against: str
) -> str:
    """The top of a result."""
    head, body = headline(document, decision)
    verdict = str(gap.row["verdict"]) if gap else worst_state(document, lead)
    figure = _hero(gap, against, level_of(document)) if gap and decision.system else ""
    first = body.partition(" ")[0]
    if first == "but" or (decision.verdict == "read" and first.isalpha() and first[1:].islower()):
        body = body[:1].upper() + body[1:]
    told = f"<p>{_estimated(document, lead)}</p>" * (document.get("kind") != "check")
    lasting = f'<p class="big">{prose(body)}</p>' if body else ""
    kind = KINDS.get(str(document.get("kind")), str(document.get("kind")))
    simulated = "<span>Simulated data: the truth is known and stands at the end</span>"
    truth = simulated if "truth" in document.get("tables", {}) else ""
    advice = ADVICE.get(decision.verdict, "")
    advice = f"<p><b>{advice}</b></p>" if advice else ""
    belief = BELIEF[verdict]
    if verdict == "pass" and worst_state(document, lead) != "pass":
        belief = ELSEWHERE
    elif verdict != "pass":
        belief += _named(_about(document, lead, gap))
    return (
        f'<div class="kick"><span>{text(kind)}</span>{truth}</div>'
        f'<div class="decision {decision.verdict}{" dec" if figure else ""}"><div>'
        f"<h1>{text(head)}</h1>{lasting}{advice}{told}"
        f"<p>{chip(verdict)} {belief}</p></div>{figure}</div>"
        f"{_facts(document, lead, gap, against)}{_steps(document, decision)}"
    )


def _estimated(document: Document, lead: Criterion | None) -> str:
    """What is estimated, and by which estimator that is not a plain mean."""
    told = f"What is estimated: {text(document.get('estimand', ''))}"
    how = WORDS.get(lead.estimator.partition("(")[0]) if lead else None
    return f"{told} {text(lead.estimator)} is {how}" if lead and how else told


def _about(document: Document, lead: Criterion | None, gap: Gap | None) -> list[Row]:
    """The diagnostics of the difference that the decision speaks of; without one, all it reads."""
    if gap is None or lead is None:
        return read_by(document, lead)
    pair = [str(gap.row["system"]), str(gap.row["baseline"])]
    return concerned(document, pair, lead.estimator)


def _named(found: Sequence[Row]) -> str:
    """What does not pass, by name, gravest first."""
    told = {words: [str(d["name"]) for d in found if d["state"] == state] for state, words in NAMED}
    return "".join(
        f" {words}: {text(list_names(list(dict.fromkeys(names))))}."
        for words, names in told.items()
        if names
    )


def worst_state(document: Document, lead: Criterion | None = None) -> str:
    """The gravest verdict of diagnostics that concern what decides: pass, caution or fail."""
    states = {str(d["state"]) for d in read_by(document, lead)}
    states |= {"fail" for t in document.get("tables", {}).get("tables", ()) if t.get("fault")}
    if "fail" in states:
        return "fail"
    return "caution" if states & {"caution", "untested"} else "pass"


def read_by(document: Document, lead: Criterion | None) -> list[Row]:
    """The diagnostics that concern what decides."""
    found = document.get("diagnostics", [])
    if lead is None or not lead.estimator:
        return list(found)
    return [d for d in found if not d["estimators"] or lead.estimator in d["estimators"]]


def next_steps(document: Document, decision: Decision) -> tuple[str, str]:
    """What to do next, as a title and the items of a list, if there are any."""
    tables = document.get("tables", {})
    ours = decision.verdict == "open"  # what would tell, in words of ours; others begin with names
    steps = [step[:1].upper() + step[1:] if ours else step for step in decision.steps]
    steps += [f"Mind the paradox: {p['sentence']}" for p in tables.get("paradoxes", ())[:2]]
    title = LOG if document.get("kind") == "check" else NEXT.get(decision.verdict, "To know more")
    steps = steps or [f"{step}." for step in tables.get("to_log", ())]
    return title, "".join(f"<li>{prose(step)}</li>" for step in steps)


def _steps(document: Document, decision: Decision) -> str:
    title, items = next_steps(document, decision)
    return f'<h2 class="next">{title}</h2><ul class="todo">{items}</ul>' if items else ""


def per_words(document: Document, estimator: str | None) -> str:
    """What earnings are per; shares are per nothing."""
    said_so = document["protocol"]
    per = "" if estimator in said_so.get("scales", ()) else said_so.get("per", "")
    return f" per {'view' if per == 'impression' else per}" if per else ""


def _values(document: Document, lead: Criterion, gap: Gap | None, against: str) -> str:
    """Both values of the difference that the decision speaks of."""
    read = (lead.estimator, LIVE)
    rows = {
        str(r["system"]): r
        for r in document["estimates"]
        if key_of(r)[:2] == lead.key[:2] and r["segment"] is None and r["estimator"] in read
    }
    if gap is None or not {gap.system, against} <= rows.keys():
        return ""
    fine = decimals(known(rows[one]["se"]) or 0.0 for one in (gap.system, against))
    new, old = (said(known(rows[one]["value"]), fine) for one in (gap.system, against))
    return f"{new} against {old}"


def _facts(document: Document, lead: Criterion | None, gap: Gap | None, against: str) -> str:
    """Of how many, when, by which estimator, and what of the assumptions."""
    said_so = document.get("protocol", {})
    facts: list[tuple[str, str]] = []
    unit = _unit(document)
    if units := units_of(document, gap.row["units"] if gap else None):
        facts.append((f"{unit.capitalize()}s", units.partition(" ")[0]))
    clusters, cluster = said_so.get("clusters"), str(said_so.get("cluster", ""))
    if clusters and cluster and cluster != unit:
        facts.append((f"{cluster.capitalize()}s", f"{clusters:,}"))
    if days := [day_words(date.fromisoformat(day)) for day in said_so.get("dates", ())]:
        facts.append(("Logged", " to ".join(dict.fromkeys(days))))
    if lead and lead.measure:
        what = lead.what[:60] + per_words(document, lead.estimator)
        both = _values(document, lead, gap, against)
        facts.append((f"Decides: {what}", both) if both else ("Decides", what))
    if lead and lead.estimator not in ("", "mean"):
        facts.append(("Estimator", lead.estimator))
    inputs = document.get("provenance", {}).get("inputs", [])
    if len(facts) < 2 and inputs:
        facts.append(("Rows read", f"{sum(int(i.get('rows') or 0) for i in inputs):,}"))
    states = [str(d["state"]) for d in read_by(document, lead)]
    counts = ", ".join(f"{states.count(s)} {s}" for s in STATES if s in states)
    if counts:
        facts.append((f"{len(states)} diagnostic{'s' * (len(states) > 1)}", counts))
    rows = "".join(f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in facts)
    return f'<dl class="facts">{rows}</dl>' if rows else ""


def _hero(gap: Gap, against: str, level: float) -> str:
    """The mark at full size: the page's legend."""
    span, percent = gap.shown, gap.lift is not None
    close = scale_of([span], zero=True, percent=percent, far=20)
    room = 0.14 * (close.high - close.low)
    scale = Scale(close.low - room, close.high + room, percent=percent)
    words: Say = as_percent if percent else partial(said, places=3, sign=True)
    key, label = "", f"{gap.system} against {against}: {words(span.value)}."
    for ends, part, meant in (
        (span.core, "n", f"if the assumptions hold ({level:.0%}, all candidates)"),
        (span.wings, "w", "allowing for what these data cannot rule out"),
    ):
        if ends:
            both = ends_words(ends, words)
            label += f" {both}."
            key += (
                '<li><svg class="fig" width="26" height="10" aria-hidden="true"><g'
                f' class="{span.look}"><rect class="{part}" x=".5" y=".5" width="25" height="9"/>'
                f"</g></svg><span><b>{both}</b> {meant}</span></li>"
            )
    drawn = picture(_drawn(span, scale, against, words), 112, label)
    return f'<figure class="hero">{drawn}<ul class="key">{key}</ul></figure>'


def _drawn(span: Span, scale: Scale, against: str, words: Say) -> str:
    ticks = scale.ticks(5)
    at_zero, at_value = scale.share(0), scale.share(span.value)
    far = abs(at_value - at_zero) > 0.25
    sides = ("end", "start") if at_value < at_zero else ("start", "end")
    parts = [
        grid_lines(scale, ticks, 22, 88),
        mark(span, scale, 42, BLOCK - 6),
        short_text(scale.x(0), 13, against, 16, "b", "middle" if far else sides[1]),
        f'<g transform="translate({6 if sides[0] == "start" else -6})">'
        + put_text(scale.x(span.value), 13, words(span.value), sides[0], "b big")
        + "</g>",
        tick_labels(scale, ticks, 106, sign=True),
    ]
    for end, place in zip(span.core or (), ("end", "start"), strict=False):
        parts.append(put_text(scale.x(end), 67, words(end), place, "ha"))
    for end in span.wings or ():
        parts.append(put_text(scale.x(end), 84, words(end), side(scale.share(end)), "ha"))
    return "".join(parts)


def verdict_line(document: Row, decision: Decision, link: str) -> str:
    """The decision of a result in a list of several."""
    head, _ = headline(document, decision)
    state = MARKED[decision.verdict]
    return f'<span class="st {state}">{icon(state)}<a href="{link}">{text(head)}</a></span>'


def _unit(document: Document) -> str:
    """What there are many of: users, or sessions."""
    own = {"exposure": "session"}.get(str(document.get("kind")), "")
    return str(document.get("protocol", {}).get("unit", own))


def units_of(document: Document, many: int | None = None) -> str:
    """Of how many units a result is: ``many``, or those of its largest estimate."""
    if many is None:
        all_ = (r["units"] for r in document.get("estimates", []))
        many = max((n for n in all_ if n is not None), default=None)
    unit = _unit(document)
    return f"{many:,} {text(unit)}s" if many and unit else ""


def subject(document: Document, decision: Decision) -> str:
    """The system that a page speaks of most."""
    if decision.system:
        return decision.system
    return next((str(r["system"]) for r in document.get("estimates", []) if r["system"]), "")
