"""A history of results as a small static site: an index, trends, what changed, a page for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from counterrank.documents.decision import Decision, decide
from counterrank.documents.requirements import Criterion
from counterrank.report.drawing import (
    Scale,
    Span,
    as_percent,
    axis,
    day_words,
    ends_words,
    grid_style,
    mark,
    picture,
    put_text,
    said,
)
from counterrank.report.gaps import Gap, gaps, scale_of
from counterrank.report.html import DASH, cards, column_head, icon, name, prose, system, text
from counterrank.report.page import Shown, complete_page, page
from counterrank.report.sections.decision_header import MARKED, headline, units_of
from counterrank.report.sections.leaderboard import span_words

Document = Mapping[str, Any]
TALL = 132  # pixels of a trend
LEDE = (
    "What the decision of each result speaks of. Solid core: the interval if the assumptions hold."
    " Faint wings: allowing for what the data cannot rule out. Coloured parts clear the line."
)
DATA = ("clusters", "dates")  # of the protocol what the data say, not a choice
MOST = 6  # systems and measures whose trends are drawn
WORDS = {
    "test": "deserves the A/B test", "keep": "keep what you have", "open": "cannot tell",
    "distrust": "do not decide on this", "read": "for information",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A saved result: where it was found, the day it is of, and what it says."""

    label: str
    day: date
    document: Document
    shown: Shown
    file: str

    @property
    def decision(self) -> Decision:
        """What to do."""
        return self.shown.decision

    @property
    def gap(self) -> Gap | None:
        """What the decision speaks of."""
        return self.shown.gap

    @property
    def kind(self) -> str:
        """The verb."""
        return str(self.document["kind"])


def site(results: Sequence[tuple[str, date, Document]], *, title: str = "") -> dict[str, str]:
    """The text of every file by its name, of results by where they were found and of which day."""
    found = []
    for n, (label, day, document) in enumerate(sorted(results, key=lambda r: (r[1], r[0])), 1):
        file = f"{day.isoformat()}-{n:03d}.html"
        found.append(Entry(label, day, document, Shown.of(document, decide(document)), file))
    pages = {entry.file: page([entry.document]) for entry in found}
    return {"index.html": _index(found[::-1], title), **pages}


def _index(found: Sequence[Entry], title: str) -> str:
    """What holds now, what changed, all results, and trends."""
    last = found[0]
    head, body = headline(last.document, last.decision)
    heading = title or "Results"
    days = dict.fromkeys(day_words(entry.day) for entry in (found[-1], last))
    parts = [
        f'<div class="kick"><span>{text(heading)}</span><span>{len(found)} results,'
        f' {" to ".join(days)}</span></div><h1>Now: {text(head)}</h1><p class="big">'
        f'<a href="{last.file}">{_titled(last)}</a>. {prose(body)}</p>',
        _changes(found),
        f'<section id="list"><h2>Results</h2>{_table(found)}</section>',
    ]
    trends = _trends(found[::-1])
    parts.append(f'<section id="trend"><h2>Over time</h2>{trends}</section>' if trends else "")
    links = '<a href="#main">Now</a><a href="#list">Results</a>'
    links += '<a href="#trend">Over time</a>' if trends else ""
    return complete_page(heading, parts, links)


def _titled(entry: Entry) -> str:
    """A result by its day and name; not twice where the day is the name."""
    day = "" if entry.day.isoformat() in entry.label else f"{day_words(entry.day)}, "
    return f"{day}{name(entry.label)}"


def _alike(a: Entry, b: Entry) -> bool:
    """Whether two results answer the same question."""
    return a.kind == b.kind and a.shown.lead == b.shown.lead


def _changes(found: Sequence[Entry]) -> str:
    """What changed between the newest result that answers a question anew and the one before."""
    again = (
        (now, before)
        for n, now in enumerate(found)
        for before in found[n + 1 :]
        if _alike(now, before)
    )
    last, before = next(again, (found[0], found[0]))
    if last is before:
        return ""
    facts = {
        "Inputs": _inputs(before.document, last.document),
        "Protocol": _protocol(before.document["protocol"], last.document["protocol"]),
        "Version": _version(before.document, last.document),
        "Decision": _decision(before, last),
    }
    rows = "".join(f"<div><dt>{key}</dt><dd>{words}</dd></div>" for key, words in facts.items())
    return (
        f'<h2 class="next">What changed in {_titled(last)} since {_titled(before)}</h2>'
        f'<dl class="facts changes">{rows}</dl>'
    )


def _inputs(before: Document, now: Document) -> str:
    old, new = (
        {str(i["name"]): (i.get("sha256"), i.get("rows")) for i in d["provenance"]["inputs"]}
        for d in (before, now)
    )
    parts = [f"{name(k)} is new" for k in new if k not in old]
    parts += [f"{name(k)} is gone" for k in old if k not in new]
    parts += [
        f"{name(k)}: {said(new[k][1], 0)} rows, was {said(old[k][1], 0)}"
        for k in new if k in old and new[k] != old[k]
    ]  # fmt: skip
    days = [" to ".join(dict.fromkeys(d["protocol"].get("dates", ()))) for d in (before, now)]
    parts += [f"logged {days[1] or DASH}, was {days[0] or DASH}"] if days[0] != days[1] else []
    return "; ".join(parts) or "the same"


def _protocol(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    moved = [
        f"{text(str(key).replace('_', ' '))}: {name(now.get(key))}, was {name(before.get(key))}"
        for key in dict.fromkeys([*now, *before])
        if now.get(key) != before.get(key) and key not in DATA
    ]
    return "; ".join(moved[:6]) or "the same"


def _version(before: Document, now: Document) -> str:
    old, new = (d["provenance"].get("version") for d in (before, now))
    return "the same" if old == new else f"{text(new)}, was {text(old)}"


def _decision(before: Entry, last: Entry) -> str:
    same = before.decision.verdict == last.decision.verdict
    words = "the same" if same else f"was: {text(before.decision.head)}"
    if last.gap and before.gap and last.gap.lift and before.gap.lift:
        lifts = as_percent(last.gap.lift.value), as_percent(before.gap.lift.value)
        words += (
            f"; {system(last.gap.system)} {lifts[0]}, {system(before.gap.system)} was {lifts[1]}"
        )
    return words


def _table(found: Sequence[Entry]) -> str:
    """A row for each result, the newest first."""
    lifts = [entry.gap.lift for entry in found if entry.gap and entry.gap.lift]
    scale = scale_of(lifts, zero=True, percent=True)
    rows = "".join(_row(entry, scale) for entry in found)
    ticks = scale.ticks(5)
    style = grid_style(scale, ticks)
    heads = [
        column_head("Day", "d"), column_head("What"), column_head("Decision"),
        column_head(f'<span class="vh">Drawn</span>{axis(scale, ticks)}', "plot"),
        column_head("Lift or difference", "lf"),
    ]  # fmt: skip
    decisions = dict.fromkeys(entry.decision.verdict for entry in found)
    kinds = dict.fromkeys(entry.kind for entry in found)
    return (
        f'<p class="lede">{LEDE}</p>'
        '<div class="ctl noprint"><div><label class="l" for="search">Search</label>'
        '<input type="search" id="search"></div>'
        + _choice("Decision", {v: WORDS[v] for v in decisions})
        + _choice("Kind", {k: k for k in kinds})
        + f'</div><p id="count" class="s" aria-live="polite">{len(found)} results, newest first</p>'
        + cards(f'id="index" class="ix cards ax" role="table" style="{style}"', heads, rows)
    )


def _choice(label: str, options: Mapping[str, str]) -> str:
    values = "".join(f'<option value="{text(k)}">{text(v)}</option>' for k, v in options.items())
    return (
        f'<div><label class="l" for="narrow-{label}">{label}</label><select class="narrow"'
        f' id="narrow-{label}"><option value="">all</option>{values}</select></div>'
    )


def _row(entry: Entry, scale: Scale) -> str:
    head, _ = headline(entry.document, entry.decision)
    state = MARKED[entry.decision.verdict]
    drawn, told, many = "", DASH, ""
    if gap := entry.gap:
        lift, span = bool(gap.lift), gap.shown
        told = span_words(span, "rel" if lift else "abs", 3)
        told += f"<small>{text(entry.shown.lead)}, over {system(entry.shown.against)}</small>"
        drawn = picture(mark(span, scale, 13, 10), 26, entry.label[:60]) if lift else ""
        many = units_of(entry.document, gap.row["units"])
    return (
        f'<tr role="row" data-of="{entry.decision.verdict}|{text(entry.kind)}">'
        f'<th role="rowheader" class="d" scope="row">'
        f'<time datetime="{entry.day.isoformat()}">{day_words(entry.day)}</time></th>'
        f'<td role="cell"><a href="{entry.file}">{name(entry.label)}</a>'
        f"<small>{', '.join(filter(None, (text(entry.kind), many)))}</small></td>"
        f'<td role="cell"><span class="st {state}">{icon(state)}{WORDS[entry.decision.verdict]}'
        f"</span><small>{text(head)}</small></td>"
        f'<td role="cell" class="plot"><div>{drawn}</div></td>'
        f'<td role="cell" class="lf">{told}</td></tr>'
    )


def _trends(found: Sequence[Entry]) -> str:
    """Each system and measure over time: lifts by what decided, on one scale for a measure."""
    series: dict[tuple[str, str], list[tuple[date, Span]]] = {}
    for entry in found:
        if entry.shown.lead is None:
            continue
        own = gaps(entry.shown.document, entry.shown.reference)
        for (measure, reward, estimator, segment), several in own.items():
            if segment is None and estimator == entry.shown.lead.estimator:
                criterion = Criterion(str(measure), reward, str(estimator))
                for one, gap in several.items():
                    if gap.lift:
                        series.setdefault((str(criterion), one), []).append((entry.day, gap.lift))
    series = {key: points for key, points in series.items() if len(points) > 1}
    if not series:
        return ""
    measures = list(dict.fromkeys(what for what, _ in series))[:MOST]
    days = [day for points in series.values() for day, _ in points]
    rows = []
    for what in measures:
        own_ = {one: points for (w, one), points in series.items() if w == what}
        scale = scale_of(
            [span for points in own_.values() for _, span in points], zero=True, percent=True
        )
        drawn = "".join(
            f"<figure><h4>{system(one)}</h4>{_trend(what, one, points, scale, days)}</figure>"
            for one, points in list(own_.items())[:MOST]
        )
        rows.append(f'<h3 class="trend">{text(what)}</h3><div class="multiples">{drawn}</div>')
    body = "".join(
        f"<tr><td>{text(what)}</td><th scope='row'>{system(one)}</th><td>{day_words(day)}</td>"
        f"<td class='r'>{as_percent(s.value)}</td><td>{ends_words(s.core, as_percent)}"
        f"</td><td>{ends_words(s.wings, as_percent)}</td></tr>"
        for (what, one), points in series.items()
        for day, s in points
    )
    heads = "".join(
        f"<th scope='col'>{h}</th>"
        for h in ("Measure", "Ranker", "Day", "Lift", "If the assumptions hold", "Wide")
    )
    return (
        '<p class="lede">Lift over the baseline, one mark for each result, days to scale. One'
        f" vertical scale for each measure.</p>{''.join(rows)}"
        "<details class='in'><summary>The same as a table</summary><div class='scroll' tabindex='0'"
        " role='region' aria-label='Trends'><table><thead><tr>"
        f"{heads}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )


def _trend(
    what: str, one: str, points: Sequence[tuple[date, Span]], scale: Scale, days: Sequence[date]
) -> str:
    first, last = min(days), max(days)
    length = max((last - first).days, 1)

    def down(value: float) -> float:
        return 8 + (TALL - 30) * (1 - scale.share(value))

    drawn = []
    for tick in scale.ticks(4):
        look = "zero" if tick == 0 else "rule"
        y = down(tick)
        drawn.append(f'<line class="{look}" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        drawn.append(put_text("0", y - 3, scale.label(tick, sign=True), look="ha"))
    for n, (day, span) in enumerate(points):
        again = sum(day == other for other, _ in points[:n])  # beside those of the same day
        at = min(22 + 70 * (day - first).days / length + 6 * again, 97)
        drawn.append(f'<svg x="{at:.2f}%" overflow="visible">{_upright(span, down)}</svg>')
    drawn.append(put_text("16%", TALL - 4, day_words(first)))
    drawn.append(put_text("100%", TALL - 4, day_words(last), "end") if last != first else "")
    words = ", ".join(f"{day_words(day)} {as_percent(span.value)}" for day, span in points)
    return picture("".join(drawn), TALL, f"{what}, {one[:40]}: {words}")


def _upright(span: Span, down: Any) -> str:
    """The mark of an estimate, standing."""
    parts = []
    for ends, look, wide in ((span.wings, "w", 9), (span.core, "n", 10)):
        if ends:
            foot, top = map(down, ends)
            parts.append(
                f'<rect class="{look}" x="{-wide / 2}" width="{wide}" y="{top:.1f}"'
                f' height="{max(foot - top, 0):.1f}"/>'
            )
    y = down(span.value) - 1
    parts.append(f'<rect class="pt" x="-8" width="16" y="{y:.1f}" height="2"/>')
    return f'<g class="{span.look}">{"".join(parts)}</g>'
