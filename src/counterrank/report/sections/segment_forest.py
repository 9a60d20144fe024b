"""For whom: differences in every segment, one scale for all, beside each system's overall one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from counterrank.core.format import p_value
from counterrank.documents.requirements import Criterion, known
from counterrank.report.drawing import Scale, as_percent, axis, grid_style, mark, picture, said
from counterrank.report.gaps import Gap, gaps, scale_of
from counterrank.report.html import name, system, text
from counterrank.report.sections.words import WORDS

Document = Mapping[str, Any]
MOST = 4  # systems beside each other


def segment_forest(
    document: Document, lead: Criterion, reference: str, order: Sequence[str]
) -> str:
    """Segments as rows, systems as columns; nothing where a result has no segments."""
    every = gaps(document, reference)
    found = {
        key[3]: several
        for key, several in every.items()
        if key[:2] == (lead.measure, lead.reward) and key[3] is not None
    }
    if not found:
        return ""
    whole = every.get(lead.key, {})
    flips = document.get("tables", {}).get("paradoxes", [])
    odd = [str(p[side]) for p in flips for side in ("behind", "ahead")]
    names = dict.fromkeys([*odd, *order])
    columns = [s for s in names if any(s in several for several in found.values())][:MOST]
    # all feedback together, then what decides, then each segment
    methods = {m: every.get((*lead.key[:2], m, None), {}) for m in ("holdout", lead.estimator)}
    rows = {**{m: own for m, own in methods.items() if own}, **found}
    shown = [several[s] for several in rows.values() for s in columns if s in several]
    lifts = all(gap.lift for gap in shown)
    scale = scale_of(
        [gap.shown if lifts else gap.difference for gap in shown], zero=True, percent=lifts
    )
    ticks = scale.ticks(3)
    heads = "".join(
        f'<th class="plot" scope="col">{system(s)}{axis(scale, ticks)}</th>'
        '<th class="n" scope="col"><span class="vh">Difference</span></th>'
        for s in columns
    )
    parts = {s["name"]: s for s in document.get("tables", {}).get("strata", [])}
    lines = [
        _line(str(label), _told(label, parts), several, whole, columns, scale,
              "" if label in found else "all")
        for label, several in rows.items()
    ]  # fmt: skip
    return (
        f'<p class="lede">Difference from {system(reference)} in {text(lead.what)}. One scale for'
        f" all; dashed is each ranker's difference {text(lead.words[1] or 'overall')}.</p>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Differences by segment">'
        f'<table class="fo sticky" style="{grid_style(scale, ticks)}"><thead><tr>'
        f'<th scope="col">Segment</th>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _told(label: str | None, parts: Mapping[str, Mapping[str, Any]]) -> str:
    """What a method is, or what is in a stratum of items."""
    part, told = parts.get(str(label)), WORDS.get(str(label), "")
    if part is not None:
        told = f"{part['share']:.0%} of the feedback, {part['items']:,} items"
        if known(part["low"]) is not None:
            told += f", propensity {part['low']:.2g} to {part['high']:.2g}"
    return f"<small>{told}</small>" if told else ""


def _line(
    label: str, many: str, several: Mapping[str, Gap], whole: Mapping[str, Gap],
    columns: Sequence[str], scale: Scale, look: str,
) -> str:  # fmt: skip
    cells = []
    for s in columns:
        gap = several.get(s)
        if gap is None:
            cells.append('<td class="plot"></td><td class="n">\u2013</td>')
            continue
        span = gap.shown if scale.percent else gap.difference
        words = as_percent(span.value) if scale.percent else said(span.value, 3, sign=True)
        near = ""
        if s in whole:
            all_ = whole[s].shown if scale.percent else whole[s].difference
            at = scale.x(all_.value)
            near = f'<line class="near" x1="{at}" x2="{at}" y1="0" y2="26"/>'
        drawn = picture(near + mark(span, scale, 13, 8), 26, f"{s[:40]}, {label[:40]}: {words}")
        look_ = "" if gap.held else " mut"
        cells.append(f'<td class="plot"><div>{drawn}</div></td><td class="n{look_}">{words}</td>')
    kind = f' class="{look}"' if look else ""
    return f'<tr{kind}><th scope="row">{name(label)}{many}</th>{"".join(cells)}</tr>'


def paradox_notes(document: Document) -> str:
    """Answers that flip inside strata of items: each in a sentence."""
    found = document.get("tables", {}).get("paradoxes", [])
    return "".join(
        f'<div class="note caution"><b>Paradox, {system(p["ahead"])} and {system(p["behind"])}.'
        f"</b> {text(p['sentence'])} p {p_value(p['p_corrected'])}, corrected for all pairs."
        "</div>"
        for p in found[:5]
    )
