"""Why believe it: what the numbers rest on, by assumption and system."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from counterrank.documents.requirements import Criterion, Row, known
from counterrank.report.drawing import Scale, as_percent, said
from counterrank.report.html import (
    DASH,
    STATES,
    cards,
    column_head,
    icon,
    name,
    prose,
    system,
    text,
)
from counterrank.report.sections.decision_header import read_by
from counterrank.report.sections.statements import (
    AT_LEAST,
    COUNTS,
    DECIMAL,
    GROUPS,
    NO_SIDE,
    STATEMENTS,
)

Document = Mapping[str, Any]
COLUMNS = 4  # systems beside each other: the leader, the next, those with a fault
MEANT = {
    "pass": "told by these data, nothing found",
    "assumed": "no data can tell all of it",
    "untested": "could be told, but was not",
    "caution": "found, and to be minded",
    "fail": "found, and nothing corrects it",
}
MOVES = re.compile(
    r" ?It moves this lift by ([+-][\d.]+)% to ([+-][\d.]+)%; ([\d.]+)% would be harmless\."
)


def diagnostic_matrix(document: Document, order: Sequence[str], lead: Criterion | None) -> str:
    """What does not pass, by group; then what does, closed."""
    found = read_by(document, lead)
    if not found:
        return ""
    failing = [s for d in found if d["state"] == "fail" for s in d["systems"]]
    named = {s for d in found for s in d["systems"]}
    columns = [s for s in dict.fromkeys([*order[:2], *failing, *order]) if s in named][:COLUMNS]
    by_kind: dict[str, list[Row]] = {}
    for d in found:
        if not d["systems"] or set(d["systems"]) & set(columns):
            by_kind.setdefault(str(d["id"]), []).append(d)
    groups = {title: [k for k in by_kind if k in kinds] for title, kinds in GROUPS.items()}
    rest = [k for k in by_kind if not any(k in kinds for kinds in GROUPS.values())]
    groups["Further"] = rest
    loud = {k for k, rows in by_kind.items() if gravest_state(rows) != "pass"}
    there = {d["state"] for rows in by_kind.values() for d in rows}
    legend = "".join(
        f'<li><span class="st {s}">{icon(s)}{s}</span> {MEANT[s]}</li>'
        for s in STATES
        if s in there
    )
    parts = [f'<ul class="legend states">{legend}</ul>']
    stretch = _stretches(by_kind, columns)
    parts.append(
        _matrix(by_kind, groups, loud, columns, stretch)
        if loud
        else "<p><b>Everything that could be told was told, and nothing was found.</b></p>"
    )
    quiet = by_kind.keys() - loud
    if quiet:
        table = _matrix(by_kind, groups, quiet, columns, stretch)
        parts.append(
            f"<details><summary>{len(quiet)} that pass{'es' * (len(quiet) == 1)}</summary>"
            f"<div>{table}</div></details>"
        )
    return "".join(parts)


def gravest_state(rows: Sequence[Row]) -> str:
    """The gravest state of several."""
    return max((str(d["state"]) for d in rows), key=STATES.index)


def _stretches(by_kind: Mapping[str, Sequence[Row]], columns: Sequence[str]) -> Scale | None:
    """One scale for how far each assumption moves the lift of the leader."""
    ends = [
        float(end)
        for rows in by_kind.values()
        for d in rows
        if d["systems"] == list(columns[:1]) and (found := MOVES.search(str(d["meaning"])))
        for end in (found[1], found[2])
    ]
    return Scale.over([*ends, -1.0, 1.0]) if ends else None


def _matrix(
    by_kind: Mapping[str, Sequence[Row]],
    groups: Mapping[str, Sequence[str]],
    shown: set[str],
    columns: Sequence[str],
    scale: Scale | None,
) -> str:
    drawn = any(MOVES.search(str(d["meaning"])) for k in shown for d in by_kind[k])
    scale = scale if drawn else None
    heads = [
        column_head("What must hold"),
        *(column_head(system(s), "x") for s in columns),
        *([] if columns else [column_head("State", "x")]),
        column_head("What was found, and what to do"),
        column_head("Value", "r"),
        column_head("Wanted", "r"),
    ]
    if scale and columns:
        heads.append(column_head(f"Moves the lift of {system(columns[0])} by, points", "plot"))
    body = []
    for title, kinds in groups.items():
        rows = sorted(
            (k for k in kinds if k in shown), key=lambda k: -STATES.index(gravest_state(by_kind[k]))
        )
        if rows:
            body.append(
                f'<tr role="row" class="g"><th role="rowheader" colspan="{len(heads)}"'
                f' scope="rowgroup">{title}</th></tr>'
            )
        body += [_line(by_kind[k], columns, scale) for k in rows]
    table = cards('class="mx cards" role="table"', heads, "".join(body))
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="What the numbers rest on">'
        f"{table}</div>"
    )


def _line(rows: Sequence[Row], columns: Sequence[str], scale: Scale | None) -> str:
    """One kind of diagnostic: a state for each system, and the words of the gravest."""
    cells = []
    for s in columns or [""]:
        mine = [d for d in rows if not d["systems"] or s in d["systems"]]
        label = f' data-l="{text(s[:24])}"' if s else ""
        state = gravest_state(mine) if mine else ""
        shape = f'{icon(state)}<span class="vh">{state}</span>' if state else "\u2013"
        cells.append(f'<td role="cell" class="x"{label}>{shape}</td>')
    worst = gravest_state(rows)
    first = next(d for d in rows if d["state"] == worst)
    leading = next((d for d in rows if columns and columns[0] in d["systems"]), first)
    shown = leading if leading["state"] == worst else first
    about = "" if len(columns) < 2 or not shown["systems"] else f"{name(shown['subject'])}: "
    words = MOVES.sub("", str(shown["meaning"]))
    value, wanted = known(shown["value"]), known(shown["threshold"])
    kind, called = str(first["id"]), name(first["name"])
    holds = f"{STATEMENTS[kind]}<small>{called}</small>" if kind in STATEMENTS else called
    return (
        f'<tr role="row"><th role="rowheader" scope="row">{holds}</th>'
        f"{''.join(cells)}"
        f'<td role="cell" data-l="Found" class="found">{about}{prose(words)}</td>'
        f'<td role="cell" class="r" data-l="Value">{_short(value, kind)}</td>'
        f'<td role="cell" class="r" data-l="Wanted">{_wanted(wanted, kind)}</td>'
        f"{_stretch(leading, scale)}</tr>"
    )


def _short(value: float | None, kind: str) -> str:
    """A number in the unit of its diagnostic: how many, a ratio, or a share."""
    if value is None or abs(value) == float("inf"):
        return DASH
    if kind in COUNTS or kind in DECIMAL:
        return said(value, 0 if kind in COUNTS else 2)
    return as_percent(value, sign=False)


def _wanted(value: float | None, kind: str) -> str:
    """The number to reach, or not to exceed."""
    side = "" if kind in NO_SIDE else "\u2265 " if kind in AT_LEAST else "\u2264 "
    told = _short(value, kind)
    return told if told == DASH or not value else side + told


def _stretch(d: Row, scale: Scale | None) -> str:
    """How far the assumption may move the lift; the line is nothing."""
    if scale is None:
        return ""
    found = MOVES.search(str(d["meaning"]))
    if not found:
        return '<td role="cell" class="plot none"></td>'
    low, high = float(found[1]), float(found[2])
    zero = scale.x(0)
    return (
        '<td role="cell" class="plot" data-l="Moves the lift by"><svg class="fig" width="100%"'
        f' height="34" role="img" aria-label="{text(found[1])} to {text(found[2])} points">'
        f'<rect class="w" x="{scale.x(low)}" width="{scale.between(low, high)}" y="4" height="8"/>'
        f'<line class="zero" x1="{zero}" x2="{zero}" y1="0" y2="17"/>'
        f'<text x="50%" y="29" text-anchor="middle">{said(low, 1)} to {said(high, 1, sign=True)}'
        "</text></svg></td>"
    )
