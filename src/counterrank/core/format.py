"""How numbers and names are written for people."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable

from counterrank.core.errors import UsageError


def printable(text: str) -> str:
    """Text from data with control and direction characters made visible."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def shorten(name: str, width: int) -> str:
    """A name cut in the middle: similar names often differ at the end."""
    name = printable(name)
    if len(name) <= width:
        return name
    tail = (width - 1) // 2
    return f"{name[: width - 1 - tail]}…{name[len(name) - tail :]}"


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
    return textwrap.wrap(printable(text), max(wide, 40), subsequent_indent=indent)


UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def byte_count(text: str | int) -> int:
    """4GB, 512MB, 4GiB or a number of bytes, as bytes."""
    if isinstance(text, int):
        return text
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", text, re.IGNORECASE)
    if not found:
        raise UsageError(f'"{text}" is no amount of memory.', todo="Write it like 4GB or 512MB.")
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
