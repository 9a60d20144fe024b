"""Amounts of memory in words and in bytes."""

from __future__ import annotations

import re

from counterrank.core.errors import UsageError

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
