"""How much: systems as rows, for each measure, estimator and segment; a selector shows one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from counterrank.core.format import decimals, p_value
from counterrank.documents.requirements import (
    Criterion,
    Key,
    Row,
    concerned,
    direction,
    key_of,
    known,
)
from counterrank.report.drawing import (
    Say,
    Scale,
    Span,
    as_percent,
    ends_words,
    grid_style,
    mark,
    picture,
    said,
    tick_labels,
)
from counterrank.report.gaps import Gap, gaps, scale_of, value_span
from counterrank.report.html import DASH, cards, chip, column_head, name, system, text
from counterrank.report.sections.decision_header import LIVE, per_words, units_of

Document = Mapping[str, Any]
SHOWN = 12  # rows that stand open where there are more
TITLES = ("Measure", "Reward", "Estimator", "Segment")
WHOLE = "all"


@dataclass(frozen=True)
class Board:
    """One selection: a row of estimates for each system, and differences where there are any."""

    document: Document
    key: Key
    rows: Mapping[str, Row]
    gaps: Mapping[str, Gap]
    reference: str
    up: int

    @property
    def order(self) -> list[str]:
        """The best first: by difference, where systems were compared, or by value."""
        if self.gaps:
            ahead = {name: gap.difference.value for name, gap in self.gaps.items()}
            ahead[self.reference] = 0.0
            names = [name for name in self.rows if name in ahead]
            return sorted(names, key=lambda name: -self.up * ahead[name])
        return sorted(self.rows, key=lambda name: -self.up * (known(self.rows[name]["value"]) or 0))

    @property
    def fine(self) -> int:
        """Decimals of all its values."""
        return decimals(known(row["se"]) or 0.0 for row in self.rows.values())

    @property
    def lifts(self) -> bool:
        """Whether every difference can be told as a lift."""
        return bool(self.gaps) and all(gap.lift for gap in self.gaps.values())


def boards(document: Document, lead: Criterion, reference: str) -> list[Board]:
    """All selections, that of the decision first."""
    own: dict[Key, dict[str, Row]] = {}
    live = [row for row in document["estimates"] if row["estimator"] == LIVE]
    for row in document["estimates"]:
        if row["system"] is not None and row not in live:
            own.setdefault(key_of(row), {})[str(row["system"])] = row
    scales = document["protocol"].get("scales", ())  # estimators whose values are no earnings
    for row in live:
        what = (row["measure"], row["reward"])
        same = [k for k in own if k[:2] == what and k[3] is None and k[2] not in scales]
        for key in same or [key_of(row)]:
            own.setdefault(key, {})[str(row["system"])] = row
    compared = gaps(document, reference)
    found = []
    for key, rows in own.items():
        there = {name: gap for name, gap in compared.get(key, {}).items() if name in rows}
        found.append(Board(document, key, rows, there, reference, direction(document, key[0])))
    return sorted(found, key=lambda board: board.key != lead.key)


def leaderboard(document: Document, own: str, lead: Criterion, reference: str) -> str:
    """The selector and every table; what the decision reads is shown, the script shows others."""
    found = boards(document, lead, reference)
    if not found:
        return ""
    spans = {
        whole: [g.lift for b in found if b.lifts and (b.key[3] is None) == whole
                for g in b.gaps.values() if g.lift]
        for whole in (True, False)
    }  # fmt: skip
    scales = {whole: scale_of(own, zero=True, percent=True) for whole, own in spans.items()}
    tables = "".join(
        f'<div class="board" data-key="{text("|".join(_parts(b.key)))}"{" hidden" * (n > 0)}>'
        f"{_table(b, scales[b.key[3] is None])}</div>"
        for n, b in enumerate(found)
    )
    switch = _units(own, found[0].lifts) if any(spans.values()) else ""
    return (
        f'<div class="ctl noprint">{_selector(found, own)}{switch}</div>'
        f'{tables}<p class="vh" aria-live="polite"></p>'
    )


def unfolded_boards(document: Document, lead: Criterion, reference: str) -> list[str]:
    """The table that the decision reads, then those of other measures and rewards: no script."""
    every = boards(document, lead, reference)
    found = [board for board in every if board.key[2:] == every[0].key[2:]]
    spans = [[gap.lift for gap in board.gaps.values() if gap.lift] for board in found]
    return [
        f'<div class="board">{_table(b, scale_of(s, zero=True, percent=True), script=False)}</div>'
        for b, s in zip(found, spans, strict=True)
    ]


def _parts(key: Key) -> list[str]:
    return [WHOLE if part is None else str(part) for part in key]


def _selector(found: Sequence[Board], own: str) -> str:
    """A choice for each part of the key that has several values."""
    shown = []
    for n, title in enumerate(TITLES):
        values = list(dict.fromkeys(_parts(board.key)[n] for board in found))
        options = "".join(f'<option value="{text(v)}">{name_of(v, n)}</option>' for v in values)
        hidden = "" if len(values) > 1 else " hidden"
        shown.append(
            f'<div{hidden}><label class="l" for="{own}-pick{n}">{title}</label>'
            f'<select class="pick" id="{own}-pick{n}">{options}</select></div>'
        )
    return "".join(shown)


def name_of(value: str, part: int) -> str:
    """An option in words."""
    return ("All" if part == 3 else "all") if value == WHOLE else text(value[:60])


def _units(own: str, shown: bool) -> str:
    """What differences are told in, where the selection has lifts."""
    radio = (
        '<input type="radio" name="{own}-unit" id="{own}-{k}" value="{k}"{on}>'
        '<label for="{own}-{k}">{word}</label>'
    )
    both = radio.format(own=own, k="rel", on=" checked", word="%")
    both += radio.format(own=own, k="abs", on="", word="absolute")
    hidden = "" if shown else " hidden"
    both = f'<legend>Differences in</legend><div class="seg">{both}</div>'
    return f"<fieldset{hidden}>{both}</fieldset>"


def _table(board: Board, lifts: Scale, *, script: bool = True) -> str:
    """One selection as a table; with a ``script`` that sorts rows and unfolds more of them."""
    values = not board.gaps
    spans = [value_span(row) for row in board.rows.values()]
    absolute = scale_of(
        spans if values else [g.difference for g in board.gaps.values()],
        zero=not values, percent=False,
    )  # fmt: skip
    scales = {"rel": lifts, "abs": absolute} if board.lifts else {"": absolute}
    more = (len(board.rows) - SHOWN) * script
    rows = "".join(
        _row(board, one, scales, n, folded=more > 0 and n >= SHOWN)
        for n, one in enumerate(board.order)
    )
    axes = "".join(
        f'<div class="{kind}">{_axis(scale, "" if values else board.reference, values)}</div>'
        for kind, scale in scales.items()
    )
    heads = [
        column_head("Ranker", "c-sys", sort=script), column_head("Value", "c-val", sort=script),
        column_head(f'<span class="vh">Drawn</span>{axes}', "plot c-plot"),
    ]  # fmt: skip
    heads += [] if values else [
        column_head("Difference, intervals", "c-lift"), column_head("p", "c-p", sort=script),
        column_head("Claim and verdict", "c-ver"),
    ]  # fmt: skip
    few = (
        f'<p class="noprint"><button type="button" class="all">All {len(board.rows)} rankers'
        "</button></p>"
        if more > 0
        else ""
    )
    grids = ";".join(grid_style(scale, scale.ticks(5), kind) for kind, scale in scales.items())
    look = f'class="lb cards ax{" few" * (more > 0)}" role="table" style="{grids}"'
    return cards(look, heads, rows, _caption(board)) + few


def _caption(board: Board) -> str:
    measure, reward, estimator, segment = board.key
    rows = [gap.row for gap in board.gaps.values()] or list(board.rows.values())
    units = [row["units"] for row in rows if row["units"] is not None]
    parts = [
        (f"{name(reward)}, {name(measure)}" if reward else name(measure))
        + per_words(board.document, estimator),
        "" if estimator in (None, "mean") else f"by {text(estimator)}",
        f"in {name(segment)}" if segment else "",
        f"difference from {system(board.reference)}" if board.gaps else "",
        units_of(board.document, max(units)) if units else "",
    ]
    return f"{', '.join(filter(None, parts))}. Below each value its own interval."


def _axis(scale: Scale, reference: str, values: bool) -> str:
    ticks = scale.ticks(5)
    top = 0 if values else 14
    line = "" if values else (
        f'<text class="b" x="{scale.x(0)}" y="11" text-anchor="middle">'
        f"{text(reference[:18])}</text>"
    )  # fmt: skip
    return picture(line + tick_labels(scale, ticks, 12 + top, sign=not values), 16 + top)


def _row(board: Board, one: str, scales: Mapping[str, Scale], place: int, *, folded: bool) -> str:
    """A system: its value, the mark, the difference in words, what is claimed and believed."""
    row, gap, fine = board.rows[one], board.gaps.get(one), board.fine
    best = gap is not None and gap.difference.claim == "better" and place == 0
    look = " ".join(["best"] * best + ["more"] * (folded and one != board.reference))
    drawn = "".join(
        f'<div class="{kind}">{_mark(board, one, kind, scale)}</div>'
        for kind, scale in scales.items()
    )
    ends = value_span(row).core
    around = f"<small>{ends_words(ends, partial(said, places=fine))}</small>" if ends else ""
    cells = "" if not board.gaps else _told(board, one, scales)
    return (
        f'<tr role="row"{f" class={chr(34)}{look}{chr(34)}" if look else ""}>'
        f'<th role="rowheader" class="c-sys" scope="row">{system(one)}</th>'
        f'<td role="cell" class="c-val" data-v="{row["value"]!r}"><b>{said(row["value"], fine)}</b>'
        f'{around}</td><td role="cell" class="plot c-plot">{drawn}</td>{cells}</tr>'
    )


def _mark(board: Board, one: str, kind: str, scale: Scale) -> str:
    gap = board.gaps.get(one)
    if board.gaps and gap is None:
        return picture(f'<circle class="ref" cx="{scale.x(0)}" cy="13" r="4.5"/>', 26)
    span = gap.as_told(kind) if gap else value_span(board.rows[one])
    return picture(mark(span, scale, 13), 26, one[:60])


def _told(board: Board, one: str, scales: Mapping[str, Scale]) -> str:
    gap = board.gaps.get(one)
    if gap is None:
        measured = board.rows[one]["estimator"] == LIVE
        live = "was live: measured" if measured else "the others are held to it"
        return (
            '<td role="cell" class="c-lift"><small>reference</small></td>'
            '<td role="cell" class="c-p" data-v=""></td>'
            f'<td role="cell" class="c-ver"><small>{live}</small></td>'
        )
    spans = "".join(
        f'<span class="{kind}">{span_words(gap.as_told(kind), kind, board.fine)}</span>'
        for kind in scales
    )
    p = known(gap.row["p_corrected"])
    p = known(gap.row["p"]) if p is None else p
    claim = gap.difference.claim.replace("_", " ")
    claim = "not relied on" if gap.row["verdict"] == "fail" else claim
    return (
        f'<td role="cell" class="c-lift">{spans}</td>'
        f'<td role="cell" class="c-p" data-l="p" data-v="{"" if p is None else repr(p)}">'
        f"{DASH if p is None else p_value(p)}</td>"
        f'<td role="cell" class="c-ver">{chip(str(gap.row["verdict"]))} <b>{claim}</b>'
        f"<small>{rests_on(board.document, one, gap)}</small></td>"
    )


def span_words(span: Span, kind: str, fine: int) -> str:
    """The difference and both intervals in words."""
    say: Say = as_percent if kind == "rel" else partial(said, places=fine, sign=True)
    return f"<b>{say(span.value)}</b>" + "".join(
        f'<small><i class="sw {shade}"></i>{ends_words(ends, say)}</small>'
        for ends, shade in ((span.core, "d"), (span.wings, "l"))
        if ends
    )


def rests_on(document: Document, one: str, gap: Gap) -> str:
    """Why the claim is no more than that: what does not pass, gravest first."""
    estimator = str(gap.row["estimator"])
    own = concerned(document, [one], estimator)
    if gap.difference.claim == "cannot_tell" and gap.difference.clear:
        return f"{gap.difference.clear} if the assumptions hold"
    for state in ("fail", "caution", "untested") if gap.row["verdict"] != "pass" else ():
        names = list(dict.fromkeys(str(d["name"]) for d in own if d["state"] == state))
        if names:
            rest = f" and {len(names) - 2} more" if len(names) > 2 else ""
            return f"{state}: {text(', '.join(names[:2]))}{rest}"
    return ""
