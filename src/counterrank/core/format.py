"""How numbers and names are written for people."""

from __future__ import annotations

import math
import re
import shutil
import textwrap
from collections.abc import Iterable
from typing import TextIO

from counterrank.core.errors import UsageError, brief
from counterrank.core.errors import printable as printable

DIGITS = "0123456789."
FILL = "\0"


def display_width(text: str) -> int:
    """Columns of a terminal that a text takes: two for a wide character, none for an accent."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def pad(text: str, width: int) -> str:
    """The text and spaces, together as wide as ``width``."""
    return text + " " * (width - display_width(text))


def shorten(name: str, width: int) -> str:
    """A name cut in the middle, as similar names often differ at the end, but inside no number."""
    name = printable(name)
    if display_width(name) <= width:
        return name
    tail = (width - 1) // 2
    head = _first(name, width - 1 - tail)
    end = _first(name[::-1], tail)[::-1]
    if (whole := f"{_whole(head, name)}…{_whole(end[::-1], name[::-1])[::-1]}") != "…":
        return whole
    return f"{head}…{end}"  # nothing but a number


def _first(text: str, width: int) -> str:
    """As much of its begin as fits."""
    while display_width(text := text[:width]) > width:
        text = text[:-1]
    return text


def _whole(begin: str, text: str) -> str:
    """A begin of the text without the number that it would cut."""
    rest = text[len(begin) :]
    cut = begin[-1:] in DIGITS and rest[:1] in DIGITS and begin[-1:] and rest
    return begin.rstrip(DIGITS) if cut else begin


def decimals(spreads: Iterable[float]) -> int:
    """Enough decimals to show two digits of the smallest standard error; noise is none."""
    known = [s for s in spreads if math.isfinite(s) and s > 0]
    known = [s for s in known if s > 1e-6 * max(known)]
    return min(max(1 - math.floor(math.log10(min(known))), 1), 9) if known else 4


def number(x: float, places: int, *, sign: bool = False) -> str:
    """A number with fixed decimals; nothing is minus zero."""
    if not math.isfinite(x):
        return "n/a"
    text = f"{x:+.{places}f}" if sign else f"{x:.{places}f}"
    return text.replace("-", "+" if sign else "") if float(text) == 0 else text


def interval_text(low: float, high: float, places: int, *, sign: bool = False) -> str:
    """Both ends in brackets, or a word where there are none."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return "[no interval]"
    return f"[{number(low, places, sign=sign)}, {number(high, places, sign=sign)}]"


def p_value(p: float) -> str:
    """Four decimals, or what it is below; never zero."""
    return "n/a" if math.isnan(p) else "<0.0001" if p < 0.0001 else f"{p:.4f}"


def list_names(names: list[str]) -> str:
    """Names in a sentence; many are counted."""
    shown = ", ".join(shorten(name, 30) for name in names[:6])
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6} more"


def in_a_sentence(names: list[str], most: int = 5) -> str:
    """Names with "and" before the last; many are counted."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def wrap_text(text: str, wide: int, indent: str = "") -> list[str]:
    """Lines that fit, the later ones indented."""
    text, wide = printable(text), max(wide, 40)
    if display_width(text) > len(text):  # a wide character counts for two while lines are made
        text = "".join(FILL * (display_width(c) - 1) + c for c in text)
        wide -= 1
    lines = textwrap.wrap(text, wide, subsequent_indent=indent)
    return [line.replace(FILL, "") for line in lines]


def terminal_text(text: str, stream: TextIO) -> str:
    """Text on lines as wide as the terminal it is shown on; as it is for files and programs."""
    if not stream.isatty():
        return text
    wide = max(shutil.get_terminal_size().columns, 40)
    return textwrap.fill(text, wide, break_long_words=False, break_on_hyphens=False)


UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def byte_count(text: str | int) -> int:
    """4GB, 512MB, 4GiB or a number of bytes, as bytes."""
    shape = r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([KMGT]?)(i?)B?\s*"
    found = re.fullmatch(shape, text, re.IGNORECASE) if isinstance(text, str) else None
    if not isinstance(text, bool) and isinstance(text, int) and 0 <= text < 1 << 63:
        return text
    if not found:
        raise UsageError(
            f"{brief(text)} is no amount of memory.", todo="Write it like 4GB or 512MB."
        )
    number, unit, binary = found.groups()
    letter = unit.upper()
    step = UNITS[letter] if not binary else 1024 ** list(UNITS).index(letter)
    return int(float(number) * step)


def byte_words(number: int) -> str:
    """Bytes in words, as in 1.5 GB."""
    for name, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= size:
            return f"{number / size:,.1f} {name}"
    return f"{number} bytes"
