"""HTML from data that nobody trusts: every text is escaped."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from counterrank.core.format import p_value, printable, shorten

PROSE = ("sentence", "meaning", "reason", "fault")  # columns of sentences, which are shown whole
DASH = "\u2013"  # where there is nothing
PRINTED = 60  # rows of a table on paper, as page.css has it
LONGEST = 80  # characters of a name that a table shows; its title has more of it
OPTION = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*")
LESS = re.compile(r"(?<![\w=-])-(?=[\d.])")
STATES = ("pass", "assumed", "untested", "caution", "fail")


def text(value: object) -> str:
    """Text as text: no tag, no quote, no invisible or turning character takes effect."""
    return escape(printable(str(value)), quote=True)


def prose(words: str) -> str:
    """Sentences, with a real minus; an option like --context is not broken at its hyphens."""
    return OPTION.sub(r'<code class="nb">\g<0></code>', text(LESS.sub("\u2212", words)))


def name(value: object, look: str = "") -> str:
    """A name from the data, shortened in the middle; hovering shows more."""
    whole, kind = str(value), f' class="{look}"' if look else ""
    if len(whole) <= LONGEST:
        return f"<bdi{kind}>{text(whole)}</bdi>"
    return f'<bdi{kind} title="{text(whole[:1000])}">{text(shorten(whole, LONGEST))}</bdi>'


def system(value: object) -> str:
    """A ranker's name, in a type of its own, as names are words otherwise."""
    return name(value, "sys")


def icon(state: str) -> str:
    """The shape of a state."""
    return f'<svg class="ic {state}" aria-hidden="true"><use href="#i-{state}"/></svg>'


def chip(state: str) -> str:
    """A state as shape and word."""
    return f'<span class="st chip {state}">{icon(state)}{state}</span>'


def rows_as_table(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str],
    *,
    caption: str,
    id: str,
    sort: bool = True,
) -> str:
    """A table; ``columns`` maps keys to headings. Sorting needs the page's script."""
    head = "".join(
        f'<th scope="col"{_side(rows, key)}'
        + (' aria-sort="none"><button type="button" class="so">' if sort else ">")
        + f"{text(title)}{'</button>' * sort}</th>"
        for key, title in columns.items()
    )
    body = "".join(
        f"<tr>{''.join(_cell(row.get(key), key) for key in columns)}</tr>" for row in rows
    )
    inner = f"<caption>{text(caption)}</caption><thead><tr>{head}</tr></thead>"
    inner += f"<tbody>{body}</tbody>"
    if not sort:
        return f"<table>{inner}</table>"
    some = f"Printed are the first {PRINTED} of {len(rows):,} rows."
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}">'
        f'<table id="{text(id)}" class="data">{inner}</table></div>'
        '<p><button type="button" class="csv noprint"'
        f' data-for="{text(id)}">Save as CSV</button></p>'
        + f'<p class="onprint">{some}</p>'
        * (len(rows) > PRINTED)
    )


def column_head(inner: str, look: str = "", *, sort: bool = False) -> str:
    """The head of a column of `cards`; one to sort by is a button."""
    kind, more = f' class="{look}"' if look else "", ' aria-sort="none"' if sort else ""
    inner = f'<button type="button" class="so">{inner}</button>' if sort else inner
    return f'<th role="columnheader"{kind} scope="col"{more}>{inner}</th>'


def cards(attributes: str, heads: Sequence[str], rows: str, caption: str = "") -> str:
    """A table whose rows are cards where there is no room beside each other."""
    told = f"<caption>{caption}</caption>" if caption else ""
    return (
        f'<table {attributes}>{told}<thead role="rowgroup"><tr role="row">{"".join(heads)}</tr>'
        f'</thead><tbody role="rowgroup">{rows}</tbody></table>'
    )


def _side(rows: Sequence[Mapping[str, Any]], key: str) -> str:
    """Headings of numbers stand where the numbers do."""
    known = [row[key] for row in rows if row.get(key) is not None]
    return ' class="r"' if known and isinstance(known[0], (int, float)) else ""


def _cell(value: object, key: str) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return '<td class="r" data-v="">\u2013</td>'
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        words = str(value).replace("_", " ") if key == "claim" else value
        return f"<td>{text(words) if key in PROSE else name(words)}</td>"
    shown = f"{value:.3g}"
    if isinstance(value, int) or 1e5 <= abs(value) < 1e6:
        shown = f"{value:,.0f}"
    elif value == 0 or 1e-4 <= abs(value) < 1e5:  # five significant digits, as people write them
        shown = f"{value:,.5g}"
    if key.startswith("lift"):
        shown = f"{value:+.1%}"
    elif key in ("p", "p_corrected"):
        shown = p_value(value)
    return f'<td class="r" data-v="{value!r}">{text(shown.replace("-", chr(0x2212)))}</td>'
