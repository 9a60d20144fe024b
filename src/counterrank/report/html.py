"""HTML from data that nobody trusts: every text is escaped, every script is data only."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.util import find_spec
from typing import Any

from counterrank.core.format import p_value, printable, shorten
from counterrank.documents.document import plain

PROSE = ("sentence", "meaning", "reason")  # columns of sentences, which are shown whole
LONGEST = 80  # characters of a name that a table shows; its title has more of it


def text(value: object) -> str:
    """Text as text: no tag, no quote, no invisible or turning character takes effect."""
    return escape(printable(str(value)), quote=True)


def name(value: object) -> str:
    """A name from the data, shortened in the middle; hovering shows more."""
    whole = str(value)
    if len(whole) <= LONGEST:
        return f"<bdi>{text(whole)}</bdi>"
    return f'<bdi title="{text(whole[:1000])}">{text(shorten(whole, LONGEST))}</bdi>'


def visible(value: Any) -> Any:
    """The same rows with every text made printable and no longer than a chart can show."""
    if isinstance(value, Mapping):
        return {key: visible(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [visible(item) for item in value]
    return shorten(value, LONGEST) if isinstance(value, str) else value


def data(value: object) -> str:
    """JSON inside a script element: nothing in it can end the element."""
    raw = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        raw = raw.replace(sign, f"\\u{ord(sign):04x}")
    return raw


def table(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str],
    *,
    caption: str,
    id: str,
    sort: str = "yes",
) -> str:
    """A table; ``columns`` maps keys to headings. Sorting needs the page's script."""
    if sort == "no":
        plain_head = "".join(f'<th scope="col">{text(title)}</th>' for title in columns.values())
        return (
            f"<table><caption>{text(caption)}</caption><thead><tr>{plain_head}</tr></thead>"
            f"<tbody>{_body(rows, columns)}</tbody></table>"
        )
    head = "".join(
        f'<th scope="col" aria-sort="none" class="{_side(rows, key)}">'
        f'<button type="button">{text(title)}</button></th>'
        for key, title in columns.items()
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}">'
        f'<table id="{text(id)}" class="sortable"><caption>{text(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{_body(rows, columns)}</tbody></table></div>"
    )


def _body(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    cells = ("".join(_cell(row.get(key), key) for key in columns) for row in rows)
    return "".join(f"<tr>{row}</tr>" for row in cells)


def _side(rows: Sequence[Mapping[str, Any]], key: str) -> str:
    """Headings of numbers stand where the numbers do."""
    known = [row[key] for row in rows if row.get(key) is not None]
    return "number" if known and isinstance(known[0], (int, float)) else "words"


def _cell(value: object, key: str) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return '<td class="number" data-sort="">-</td>'
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
    return f'<td class="number" data-sort="{value!r}">{text(shown)}</td>'


def can_draw() -> bool:
    """Whether charts can be drawn: the extra ``report`` is installed."""
    return find_spec("altair") is not None and find_spec("vl_convert") is not None


@cache
def script() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script."""
    import vl_convert

    bundled: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundled.replace("</script", "<\\/script")
