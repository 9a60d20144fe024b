"""Columns under each other, and intervals drawn as bars of characters."""

from __future__ import annotations

import math
from collections.abc import Sequence

from counterrank.core.format import display_width, pad, printable, wrap_text

LEAST, MOST = 12, 32  # characters of a bar
LEFT, RIGHT, LINE, POINT, ZERO, TRUTH = "├", "┤", "─", "●", "┊", "◆"
PLAIN = str.maketrans({"├": "|", "┤": "|", "─": "-", "●": "o", "┊": ":", "◆": "*", "…": "~"})

Ends = tuple[float, float, float]  # low, value, high


def plain_signs(text: str, encoding: str | None) -> str:
    """The text in signs that the stream can write: a sign for a sign, so columns stay."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.translate(PLAIN)
    return text


def with_bars(lines: list[str], ends: Sequence[Ends | None], wide: int, *, zero: str) -> list[str]:
    """The last lines with a bar behind each, where there is room for bars; otherwise as they are.

    ``zero`` (yes, no) says whether the scale holds 0 and shows it.
    """
    text = lines[len(lines) - len(ends) :]
    room = wide - 2 - max(map(display_width, text), default=0)
    drawn = draw_bars(ends, min(room, MOST), marks=[0.0] * len(ends) if zero == "yes" else None)
    if room < LEAST or not any(drawn):
        return lines
    left = max(map(display_width, text))
    rows = [f"{pad(row, left)}  {bar}".rstrip() for row, bar in zip(text, drawn, strict=True)]
    return lines[: len(lines) - len(ends)] + rows


def draw_bars(
    ends: Sequence[Ends | None],
    width: int,
    *,
    marks: Sequence[float | None] | None = None,
    sign: str = ZERO,
) -> list[str]:
    """One bar for each interval, ``width`` wide, with ``sign`` at its mark; blank without ends."""
    at = marks or [None] * len(ends)
    shown = [e if e is not None and all(map(math.isfinite, e)) else None for e in ends]
    known = [x for e, m in zip(shown, at, strict=True) if e for x in (*e, m) if x is not None]
    if not known or width < 1:
        return [""] * len(ends)
    least, most = min(known), max(known)

    def place(x: float) -> int:
        return round((x - least) / (most - least) * (width - 1)) if most > least else 0

    out = []
    for e, mark in zip(shown, at, strict=True):
        line = [" "] * width
        if e is not None:
            low, value, high = map(place, e)
            line[low : high + 1] = [LINE] * (high + 1 - low)
            line[low], line[high] = LEFT, RIGHT
            line[value] = POINT
            if mark is not None and (sign != ZERO or line[place(mark)] in (" ", LINE)):
                line[place(mark)] = sign
        out.append("".join(line).rstrip())
    return out


def tabulate(rows: Sequence[Sequence[str]], wide: int, indent: str = "") -> list[str]:
    """Names to the left, numbers to the right; a name without room has a line of its own."""
    rows = [(printable(name), *cells) for name, *cells in rows]
    widths = [max(display_width(row[n]) for row in rows) for n in range(len(rows[0]))]
    room = wide - len(indent) - sum(w + 2 for w in widths[1:] if w)
    first = max(min(widths[0], room), min(10, widths[0]))
    lines = []
    for name, *cells in rows:
        numbers = "".join(f"  {x:>{w}}" for x, w in zip(cells, widths[1:], strict=True) if w)
        if display_width(name) > first:
            lines += [f"{indent}{line}" for line in wrap_text(name, wide - len(indent))]
            name = ""
        lines.append(f"{indent}{pad(name, first)}{numbers}".rstrip())
    return lines
