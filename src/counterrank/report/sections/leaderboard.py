"""How much: systems as rows, for each measure, estimator and segment; a selector shows one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterrank.core.format import decimals, p_value
from counterrank.documents.requirements import Criterion, Row, concerned, known
from counterrank.report.drawing import Scale, Span, as_percent, mark, picture, said, tick_labels
from counterrank.report.gaps import Gap, Key, gaps, key_of, scale_of, value_span
from counterrank.report.html import DASH, chip, name, system, text

Document = Mapping[str, Any]
SHOWN = 12  # rows that stand open where there are more
LIVE = "OnPolicy"  # the estimator of the logged ranker, which stands in every table
TITLES = ("Measure", "Reward", "Estimator", "Segment")
WHOLE = "all"


@dataclass(frozen=True)
class Board:
    """One selection: a row of estimates for each system, and differences where there are any."""

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
    for row in live:
        same = [k for k in own if k[:2] == (row["measure"], row["reward"]) and k[3] is None]
        for key in same or [key_of(row)]:
            own.setdefault(key, {})[str(row["system"])] = row
    compared = gaps(document, reference)
    lower = document["protocol"].get("lower_is_better") or ()
    found = [
        Board(key, rows, _with_rows(compared.get(key, {}), rows), reference,
              -1 if key[0] in lower else 1)
        for key, rows in own.items()
    ]  # fmt: skip
    first = (lead.measure, lead.reward, lead.estimator, None)
    return sorted(found, key=lambda board: board.key != first)


def _with_rows(several: Mapping[str, Gap], rows: Mapping[str, Row]) -> dict[str, Gap]:
    return {name: gap for name, gap in several.items() if name in rows}


def leaderboard(document: Document, own: str, lead: Criterion, reference: str) -> str:
    """The selector and every table; what the decision reads is shown, the script shows others."""
    found = boards(document, lead, reference)
    if not found:
        return ""
    spans = [g.lift for b in found if b.lifts for g in b.gaps.values() if g.lift]
    scale = scale_of(spans, zero=True, percent=True)
    tables = "".join(
        f'<div class="board" data-key="{text("|".join(_parts(b.key)))}"{" hidden" * (n > 0)}>'
        f"{_table(document, b, scale)}</div>"
        for n, b in enumerate(found)
    )
    switch = _units(own) if spans else ""
    return (
        f'<div class="ctl noprint">{_selector(found, own)}{switch}</div>'
        f'{tables}<p class="vh" aria-live="polite"></p>'
    )


def first_board(document: Document, lead: Criterion, reference: str) -> str:
    """The table that the decision reads, by itself."""
    board = boards(document, lead, reference)[0]
    spans = [gap.lift for gap in board.gaps.values() if gap.lift]
    scale = scale_of(spans, zero=True, percent=True)
    return f'<div class="board">{_table(document, board, scale)}</div>'


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


def _units(own: str) -> str:
    radio = (
        '<input type="radio" name="{own}-unit" id="{own}-{k}" value="{k}"{on}>'
        '<label for="{own}-{k}">{word}</label>'
    )
    both = radio.format(own=own, k="rel", on=" checked", word="%")
    both += radio.format(own=own, k="abs", on="", word="absolute")
    return f'<fieldset><legend>Differences in</legend><div class="seg">{both}</div></fieldset>'


def _table(document: Document, board: Board, lifts: Scale) -> str:
    """One selection as a table."""
    fine = decimals(known(row["se"]) or 0.0 for row in board.rows.values())
    values = not board.gaps
    spans = [value_span(row) for row in board.rows.values()]
    absolute = scale_of(
        spans if values else [g.difference for g in board.gaps.values()],
        zero=not values, percent=False,
    )  # fmt: skip
    scales = {"rel": lifts, "abs": absolute} if board.lifts else {"": absolute}
    rows = "".join(_row(document, board, one, scales, fine, n) for n, one in enumerate(board.order))
    heads = "".join(
        f'<div class="{kind}">{_axis(scale, "" if values else board.reference, values)}</div>'
        for kind, scale in scales.items()
    )
    more = len(board.rows) - SHOWN
    few = (
        f'<p class="noprint"><button type="button" class="all">All {len(board.rows)} rankers'
        "</button></p>"
        if more > 0
        else ""
    )
    said_by = "" if values else '<th role="columnheader" class="c-p" scope="col" aria-sort="none">'
    told = "" if values else (
        '<th role="columnheader" class="c-lift" scope="col">Difference, intervals</th>'
        f'{said_by}<button type="button" class="so">p</button></th>'
        '<th role="columnheader" class="c-ver" scope="col">Claim and verdict</th>'
    )  # fmt: skip
    return (
        f'<table class="lb cards ax{" few" * (more > 0)}" role="table" style="{_grids(scales)}">'
        f"<caption>{_caption(board)}</caption>"
        '<thead role="rowgroup"><tr role="row">'
        '<th role="columnheader" class="c-sys" scope="col" aria-sort="none">'
        '<button type="button" class="so">Ranker</button></th>'
        '<th role="columnheader" class="c-val" scope="col" aria-sort="none">'
        '<button type="button" class="so">Value</button></th>'
        '<th role="columnheader" class="plot c-plot" scope="col"><span class="vh">Drawn</span>'
        f'{heads}</th>{told}</tr></thead><tbody role="rowgroup">{rows}</tbody></table>{few}'
    )


def _caption(board: Board) -> str:
    measure, reward, estimator, segment = board.key
    how = "" if estimator in (None, "mean") else f", by {text(estimator)}"
    part = f", in {name(segment)}" if segment else ""
    units = {row["units"] for row in board.rows.values() if row["units"] is not None}
    many = f", {max(units):,} units" if units else ""
    what = f"{name(reward)}, {name(measure)}" if reward else name(measure)
    against = f", difference from {system(board.reference)}" if board.gaps else ""
    return f"{what}{how}{part}{against}{many}."


def _axis(scale: Scale, reference: str, values: bool) -> str:
    ticks = scale.ticks(5)
    top = 0 if values else 14
    line = "" if values else (
        f'<text class="b" x="{scale.x(0)}" y="11" text-anchor="middle">'
        f"{text(reference[:18])}</text>"
    )  # fmt: skip
    inner = line + tick_labels(scale, ticks, 12 + top, sign=not values)
    return f'<svg class="fig" width="100%" height="{16 + top}" aria-hidden="true">{inner}</svg>'


def _grids(scales: Mapping[str, Scale]) -> str:
    """The grid behind the cells, so that the line of the reference runs through all rows."""
    made = []
    for kind, scale in scales.items():
        ticks = sorted(scale.ticks(5), key=lambda tick: tick != 0)
        ink = ("ink" if tick == 0 else "rule" for tick in ticks)
        lines = ",".join(f"linear-gradient(var(--{c}),var(--{c}))" for c in ink)
        places = ",".join(f"{scale.x(tick)} 0" for tick in ticks)
        made.append(f"--g{kind}:{lines};--p{kind}:{places}")
    return ";".join(made)


def _row(
    document: Document, board: Board, one: str, scales: Mapping[str, Scale], fine: int, place: int
) -> str:
    """A system: its value, the mark, the difference in words, what is claimed and believed."""
    row, gap = board.rows[one], board.gaps.get(one)
    best = gap is not None and gap.difference.claim == "better" and place == 0
    folded = place >= SHOWN and one != board.reference
    look = " ".join(["best"] * best + ["more"] * folded)
    drawn = "".join(
        f'<div class="{kind}">{_mark(board, one, gap, row, kind, scale)}</div>'
        for kind, scale in scales.items()
    )
    ends = value_span(row)
    around = f"<small>{_range(ends.low, ends.high, fine)}</small>" if ends.low is not None else ""
    cells = "" if not board.gaps else _told(document, board, one, gap, row, scales, fine)
    return (
        f'<tr role="row"{f" class={chr(34)}{look}{chr(34)}" if look else ""}>'
        f'<th role="rowheader" class="c-sys" scope="row">{system(one)}</th>'
        f'<td role="cell" class="c-val" data-v="{row["value"]!r}"><b>{said(row["value"], fine)}</b>'
        f'{around}</td><td role="cell" class="plot c-plot">{drawn}</td>{cells}</tr>'
    )


def _mark(board: Board, one: str, gap: Gap | None, row: Row, kind: str, scale: Scale) -> str:
    if not board.gaps:
        span: Span = value_span(row)
    elif gap is None:
        dot = f'<circle class="ref" cx="{scale.x(0)}" cy="13" r="4.5"/>'
        return f'<svg class="fig" width="100%" height="26" aria-hidden="true">{dot}</svg>'
    else:
        span = gap.lift if kind == "rel" and gap.lift else gap.difference
    return picture(mark(span, scale, 13), 26, one[:60])


def _told(
    document: Document, board: Board, one: str, gap: Gap | None, row: Row,
    scales: Mapping[str, Scale], fine: int,
) -> str:  # fmt: skip
    if gap is None:
        live = "was live: measured" if row["estimator"] == LIVE else "the others are held to it"
        return (
            '<td role="cell" class="c-lift"><small>reference</small></td>'
            '<td role="cell" class="c-p" data-v=""></td>'
            f'<td role="cell" class="c-ver"><small>{live}</small></td>'
        )
    spans = "".join(
        f'<span class="{kind}">'
        f"{span_words(gap.lift if kind == 'rel' and gap.lift else gap.difference, kind, fine)}"
        "</span>"
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
        f"<small>{rests_on(document, one, gap)}</small></td>"
    )


def span_words(span: Span, kind: str, fine: int) -> str:
    """The difference and both intervals in words."""
    percent = kind == "rel"
    middle = as_percent(span.value) if percent else said(span.value, fine, sign=True)
    parts = [f"<b>{middle}</b>"]
    for low, high, shade in (
        (span.low, span.high, "d"),
        (span.wide_low, span.wide_high, "l"),
    ):
        if low is not None and high is not None:
            words = _range(low, high, fine, sign=True, percent=percent)
            parts.append(f'<small><i class="sw {shade}"></i>{words}</small>')
    return "".join(parts)


def _range(
    low: float | None, high: float | None, fine: int, *, sign: bool = False, percent: bool = False
) -> str:
    if percent:
        return f"{as_percent(low)} to {as_percent(high)}"
    return f"{said(low, fine, sign=sign)} to {said(high, fine, sign=sign)}"


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
