"""A result in a notebook: the leaderboard and the first figure of its page, without a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterrank.documents.decision import decide
from counterrank.report.html import name, rows_as_table, text
from counterrank.report.page import Shown
from counterrank.report.palette import asset, notebook_style
from counterrank.report.sections.appendix import ESTIMATES, known_columns
from counterrank.report.sections.decision_header import headline, next_steps
from counterrank.report.sections.leaderboard import SHOWN, unfolded_boards

WORST = ("fail", "caution", "untested")


def notebook(document: Mapping[str, Any]) -> str:
    """The decision, how much, and what does not pass."""
    decision = decide(document)
    shown = Shown.of(document, decision)
    head, body = headline(document, decision)
    parts = [f"<p><strong>{text(head)}</strong>{'. ' * bool(body)}{text(body)}</p>"]
    title, steps = next_steps(document, decision)
    parts.append(f"<p>{title}:</p><ul>{steps}</ul>" if steps else "")
    if shown.lead is not None:
        first, *others = unfolded_boards(shown.document, shown.lead, shown.reference)
        parts.append(asset("icons.svg") + first)
        summary = f"<summary>What else was asked for: {len(others)}</summary>"
        parts.append(f"<details>{summary}{''.join(others)}</details>" if others else "")
    elif document.get("kind") == "check":
        tables = document["tables"]["tables"]
        columns = known_columns(tables, {})
        parts.append(rows_as_table(tables, columns, caption="Tables", id="", sort=False))
    else:
        estimates = shown.document["estimates"]
        rows = estimates[:SHOWN]
        columns = known_columns(rows, ESTIMATES, strict=True) if rows else {}
        parts.append(rows_as_table(rows, columns, caption="Estimates", id="", sort=False))
        more = len(estimates) - len(rows)
        parts.append(f"<p>and {more:,} more rows.</p>" if more > 0 else "")
        parts += [figure.html() for figure in shown.drawn[:1]]
    found = [d for s in WORST for d in document.get("diagnostics", []) if d["state"] == s]
    lines = "".join(
        f"<li><strong>{text(d['state'])}: {name(d['name'])}</strong> ({name(d['subject'])})."
        f" {text(d['meaning'])}</li>"
        for d in found
    )
    all_pass = "<p>Nothing that could be told speaks against it.</p>"
    states = [d["state"] for d in found]
    counts = ", ".join(f"{states.count(s)} {s}" for s in WORST if s in states)
    closed = f"<details><summary>Diagnostics that do not pass: {counts}</summary><ul>{lines}</ul>"
    parts.append(f"{closed}</details>" if found else all_pass)
    return f'<div class="counterrank">{notebook_style()}{"".join(parts)}</div>'
