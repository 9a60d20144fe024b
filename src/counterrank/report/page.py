"""The page: what to do, how much, why believe it, for whom; then the appendix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from counterrank.core.file_writer import GENERATOR
from counterrank.documents.coincidence import with_joint_rows
from counterrank.documents.decision import Decision, decide
from counterrank.documents.requirements import Criterion, leading
from counterrank.report.charts import Figure
from counterrank.report.figures import figures
from counterrank.report.gaps import Gap, gaps
from counterrank.report.html import name, rows_as_table, text
from counterrank.report.palette import asset, page_style
from counterrank.report.sections.appendix import appendix, known_columns
from counterrank.report.sections.decision_header import (
    decision_header,
    headline,
    subject,
    units_of,
    verdict_line,
    worst_state,
)
from counterrank.report.sections.diagnostic_matrix import diagnostic_matrix
from counterrank.report.sections.leaderboard import boards, leaderboard
from counterrank.report.sections.segment_forest import paradox_notes, segment_forest
from counterrank.version import __version__

Document = Mapping[str, Any]

# Nothing may be fetched, whatever the data say.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:;"
    " base-uri 'none'; form-action 'none'"
)
CORE = "Solid core: the interval if the assumptions hold. Faint wings: allowing for what these data"
CORE += " cannot rule out. Both hold for all candidates at once."
BAR = "Bars: the interval, for all candidates at once."
CLAIM = "Coloured parts clear the line, blue for better and orange for worse; grey ones do not. A"
CLAIM += " claim needs all of the bar to clear it; p, corrected for all comparisons, makes none."
EVERYBODY = (
    "All together: this result tells no groups apart. To learn whether it holds for one, make it of"
    " that group's rows alone."
)
FIGURE_ROWS = 400  # rows of a figure's table
BOARDS = ("lifts", "values", "pairs")  # what the leaderboard and the matrix of pairs draw
WHY = ("tipping", "weights", "sweep", "effective")
WHOM = ("strata", "flip", "agreement")
ELSEWHERE = (*WHY, *WHOM, "truth")


@dataclass(frozen=True)
class Section:
    """A part of a page: how its address ends, its words in the list on top, what it shows."""

    id: str
    link: str
    title: str
    inner: str

    def html(self, own: str) -> str:
        """The part, or nothing if it shows nothing."""
        if not self.inner:
            return ""
        return f'<section id="{own}-{self.id}"><h2>{self.title}</h2>{self.inner}</section>'


def page(documents: Sequence[Document], *, title: str = "") -> str:
    """One HTML page of one or more results, which loads nothing from anywhere."""
    results = [(document, decide(document)) for document in documents]
    parts = [result_parts(n, *one) for n, one in enumerate(results, 1)]
    if len(results) == 1:
        return complete_page(title or headline(*results[0])[0], [parts[0][0]], parts[0][1])
    heading = title or f"{len(results)} results"
    return complete_page(heading, [_contents(results, heading), *(part for part, _ in parts)])


def _contents(results: Sequence[tuple[Document, Decision]], heading: str) -> str:
    """The decisions of several results, each a link to its own."""
    rows = "".join(
        f"<li>{verdict_line(document, one, f'#r{n}')}"
        f"<small>{', '.join(filter(None, (text(document['kind']), units_of(document))))}"
        "</small></li>"
        for n, (document, one) in enumerate(results, 1)
    )
    return f'<h1 class="all">{text(heading)}</h1><ul class="contents">{rows}</ul>'


def complete_page(heading: str, parts: Sequence[str], links: str = "") -> str:
    """The parts with head, style, script and foot."""
    icons = asset("icons.svg")
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            GENERATOR,
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(heading)} · Counterrank</title>",
            f"<style>{page_style()}</style></head><body>{icons}",
            '<a class="skip" href="#main">To the decision</a>',
            f'<header class="bar"><div><b>Counterrank</b><nav aria-label="On this page">{links}'
            '</nav><button type="button" id="theme">Dark or light</button></div></header>',
            f'<main id="main">{"".join(parts)}</main>',
            f"<footer>Made by counterrank {text(__version__)}. This page is complete in itself and"
            " loads nothing.</footer>",
            f"<script>{asset('page.js')}</script></body></html>",
        ]
    )


@dataclass(frozen=True)
class Shown:
    """One result as a page reads it: what decides, what others are held to, and who leads.

    ``lead`` is None where no systems are measured; ``gap`` is the difference that the decision
    speaks of, from ``against``.
    """

    document: Document
    decision: Decision
    lead: Criterion | None
    reference: str
    order: Sequence[str]
    gap: Gap | None
    against: str
    drawn: Sequence[Figure]

    @classmethod
    def of(cls, raw: Document, decision: Decision) -> Shown:
        """A document, with one row for estimators that coincide."""
        document = with_joint_rows(raw)
        reference = str(document["protocol"].get("baseline") or subject(document, decision))
        decides = document["estimates"] and document["protocol"].get("decides")
        lead = leading(document) if decides else None
        first = boards(document, lead, reference) if lead else []
        order = [decision.system] * bool(decision.system) + (first[0].order if first else [])
        others = [name for name in dict.fromkeys(order) if name != reference]
        gap, against = None, reference
        if lead and first:
            gap, against = leading_gap(document, lead, reference, others)
        return cls(document, decision, lead, reference, others, gap, against, figures(document))

    @property
    def believed(self) -> bool:
        """Whether nothing fails of what the decision reads."""
        state = self.gap.row["verdict"] if self.gap else worst_state(self.document, self.lead)
        return bool(state != "fail")

    def figures(self, own: str, *names: str) -> str:
        """The figures of those names, also where several are numbered."""
        return "".join(
            figure_html(own, f)
            for f in self.drawn
            if f.name not in BOARDS and {f.name, f.stem} & {*names}
        )


def result_parts(number: int, document: Document, decision: Decision) -> tuple[str, str]:
    """One result from its decision to its provenance, and the links to its parts."""
    own, shown = f"r{number}", Shown.of(document, decision)
    header = decision_header(shown.document, decision, shown.lead, shown.gap, shown.against)
    parts = [
        _much(shown, own), _why(shown, own), _whom(shown, own),
        Section("found", "What else it tells", "What another measure would have told you",
                shown.figures(own, "dcg-ndcg")),
        _truth(shown, own),
        Section("app", "Appendix", "Appendix",
                "".join(appendix(shown.document, own, shown.lead))),
    ]  # fmt: skip
    links = f'<a href="#{own}">What to do</a>' + "".join(
        f'<a href="#{own}-{s.id}">{s.link}</a>' for s in parts if s.inner
    )
    return f'<article id="{own}">{header}{"".join(s.html(own) for s in parts)}</article>', links


def leading_gap(
    document: Document, lead: Criterion, reference: str, order: Sequence[str]
) -> tuple[Gap | None, str]:
    """The difference that the decision speaks of, and what it is from.

    Where all are compared with all, the leader's difference from the next, which is no lift.
    """
    if document["protocol"].get("baseline"):
        own = gaps(document, reference).get(lead.key, {})
        return next((own[s] for s in order if s in own), None), reference
    for other in order:
        found = gaps(document, other).get(lead.key, {})
        if other != reference and reference in found:
            return replace(found[reference], lift=None), other
    return None, reference


def _much(shown: Shown, own: str) -> Section:
    """The leaderboard; where no systems are measured, the verb's own figures."""
    document = shown.document
    if shown.lead is not None:
        wings = any(row.get("bound_low") is not None for row in document["comparisons"])
        lede = f'<p class="lede">{CORE if wings else BAR} {CLAIM}</p>'
        lede = lede if document["comparisons"] else ""
        same = document.get("coincide")
        inner = leaderboard(document, own, shown.lead, shown.reference)
        inner += f'<p class="s">{text(same)}</p>' if same else ""
        return Section("much", "How much", "How much", lede + inner)
    if document["kind"] == "check":
        rows = document["tables"].get("tables", [])
        inner = rows_as_table(
            rows, known_columns(rows, {}), caption="What was read", id=f"{own}-checked"
        ) if rows else ""  # fmt: skip
        return Section("much", "Tables", "Tables", inner)
    names = {f.stem for f in shown.drawn} - set(ELSEWHERE)
    return Section("much", "What was found", "What was found", shown.figures(own, *names))


def _why(shown: Shown, own: str) -> Section:
    """What the numbers rest on, how near the claim is to turning, and weights."""
    title = "Why believe it" if shown.believed else "Why not believe it"
    document, reference = shown.document, shown.reference
    odd = {s for d in document["diagnostics"] if d["state"] != "pass" for s in d["systems"]}
    held = bool(document["protocol"].get("baseline"))  # else the reference is who leads
    columns = [*shown.order, *[reference] * (reference in odd)]
    columns = columns if held else [reference, *shown.order]
    inner = diagnostic_matrix(document, columns, shown.lead)
    return Section("why", title, title, inner + shown.figures(own, *WHY))


def _whom(shown: Shown, own: str) -> Section:
    """Segments, and answers that flip in strata of items."""
    document, inner = shown.document, ""
    if shown.lead is not None:
        inner = segment_forest(document, shown.lead, shown.reference, shown.order)
    inner += paradox_notes(document) + shown.figures(own, *WHOM)
    if shown.gap and not inner:
        inner = f"<p>{EVERYBODY}</p>"
    return Section("whom", "For whom", "For whom", inner)


def _truth(shown: Shown, own: str) -> Section:
    """What a simulation reveals."""
    revealed = shown.document["tables"].get("revealed")
    lead = f'<p class="big">{text(revealed)}</p>' if revealed else ""
    drawn = shown.figures(own, "truth")
    return Section("truth", "The truth", "The truth, which no estimate has seen",
                   lead + drawn if drawn else "")  # fmt: skip


def figure_html(own: str, figure: Figure) -> str:
    """A figure, how to read it, and its numbers in a table."""
    id_ = f"{own}-{figure.name}"
    rows = figure.rows[:FIGURE_ROWS]
    columns = known_columns(rows, {}) if rows else {}
    table = rows_as_table(rows, columns, caption=f"Numbers: {figure.title}", id=f"{id_}-rows")
    return (
        f'<figure id="{id_}"><figcaption><h3>{name(figure.title)}</h3><p>{text(figure.reading)}</p>'
        f"</figcaption>{figure.html()}<details class='in'><summary>The same as a table</summary>"
        f"<div>{table}</div></details></figure>"
    )


def figure_section(number: int, shown: Sequence[Figure]) -> str:
    """The figures of a study."""
    drawn = "".join(figure_html(f"r{number}", figure) for figure in shown)
    return f"<section><h2>Figures</h2>{drawn}</section>" if drawn else ""
