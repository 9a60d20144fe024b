"""For whom: differences in every segment, one scale for all, beside each system's overall one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from counterrank.documents.requirements import Criterion
from counterrank.report.drawing import Scale, as_percent, axis, grid_style, mark, picture, said
from counterrank.report.gaps import Gap, gaps, scale_of
from counterrank.report.html import name, system, text

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
    shown = [several[s] for several in [*found.values(), whole] for s in columns if s in several]
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
    share = {s["name"]: s.get("share") for s in document.get("tables", {}).get("strata", [])}
    lines = [_line("Overall", "", whole, whole, columns, scale, "all")] if whole else []
    for label, several in found.items():
        part = share.get(label)
        many = f" <small>{part:.0%}</small>" if part is not None else ""
        lines.append(_line(str(label), many, several, whole, columns, scale, ""))
    return (
        f'<p class="lede">Difference from {system(reference)} in {text(lead.what)}. One scale for'
        " all; dashed is each ranker's overall difference.</p>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Differences by segment">'
        f'<table class="fo sticky" style="{grid_style(scale, ticks)}"><thead><tr>'
        f'<th scope="col">Segment</th>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


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
        f"</b> {text(p['sentence'])}</div>"
        for p in found[:5]
    )
