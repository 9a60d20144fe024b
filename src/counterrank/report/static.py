"""Parts of a page without any script, for notebooks: a table, warnings, a drawing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from counterrank.documents.document import plain
from counterrank.report import html, tables
from counterrank.report.figure import DATA, Figure
from counterrank.report.html import name, text, visible

Document = Mapping[str, Any]


def estimates_table(document: Document, *, most: int) -> str:
    """The estimates, the first ``most`` of them."""
    rows = document.get("estimates", [])
    if not rows:
        return ""
    shown = {key: title for key, title in tables.ESTIMATES.items() if key in rows[0]}
    more = f"<p>and {len(rows) - most:,} more rows.</p>" if len(rows) > most else ""
    return html.table(rows[:most], shown, caption="Estimates", id="", sort="no") + more


def loud(document: Document) -> str:
    """Diagnoses that do not pass."""
    found = [d for d in document.get("diagnoses", []) if d["verdict"] != "pass"]
    lines = "".join(
        f"<li><strong>{text(d['verdict'])}: {name(d['name'])}</strong>"
        f" ({name(d['subject'])}). {text(d['meaning'])}</li>"
        for d in found
    )
    return f"<ul>{lines}</ul>" if lines else "<p>Every diagnosis passes.</p>"


def draw_svg(figure: Figure, width: int) -> str:
    """The figure as SVG, with its title and how to read it; nothing in it can run or load."""
    import vl_convert

    spec = {
        **visible(figure.chart),
        "width": width,
        "datasets": {DATA: plain(visible(list(figure.rows)))},
    }
    svg = vl_convert.vegalite_to_svg(json.dumps(spec))
    return f"<p><strong>{name(figure.title)}</strong><br>{text(figure.reading)}</p>{svg}"
