"""What was wrong, what was found, what to do: the three parts of every message."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class CounterrankError(Exception):
    """A problem the user can mend. ``str()`` gives the whole message."""

    def __init__(self, wrong: str, *, found: str = "", todo: str = "") -> None:
        self.wrong, self.found, self.todo = wrong, found, todo
        super().__init__(" ".join(part for part in (wrong, found, todo) if part))


class InputError(CounterrankError):
    """A table cannot be used as it is."""


class UsageError(CounterrankError):
    """An option, a measure's label or a combination of them makes no sense."""


def merged(errors: Sequence[CounterrankError], *, rows: int | None = None) -> CounterrankError:
    """One message for the same fault in several parts of a table: counts added, first row first.

    Of different faults, the first by its text. ``rows`` is the number of rows of the whole table.
    """
    wrong = min(error.wrong for error in errors)
    alike = [error for error in errors if error.wrong == wrong]
    first = min(alike, key=lambda error: in_order(error.found.partition("(first: ")[2]))
    counts = [re.match(r"Found ([\d,]+)", error.found) for error in alike]
    count = sum(int(found[1].replace(",", "")) for found in counts if found)
    text = re.sub(r"^Found [\d,]+", f"Found {count:,}", first.found) if all(counts) else first.found
    if rows is not None:
        text = re.sub(r"^(Found [\d,]+ of )[\d,]+", rf"\g<1>{rows:,}", text)
    return type(first)(first.wrong, found=text, todo=first.todo)


def moved(error: CounterrankError, rows: int) -> CounterrankError:
    """The message about a part of a table that begins after ``rows`` rows."""
    text = re.sub(r"\(first: row (\d+)", lambda m: f"(first: row {int(m[1]) + rows}", error.found)
    return type(error)(error.wrong, found=text, todo=error.todo)


def unnumbered(error: CounterrankError) -> CounterrankError:
    """The message without the number of a row, where rows have no order."""
    text = re.sub(r"\(first: row \d+, ", "(first: ", error.found)
    return type(error)(error.wrong, found=text, todo=error.todo)


def in_order(first: str) -> tuple[int, int, str]:
    """What sorts texts like ``row 7, ...``, ``session -5, ...``, ``'u7'`` as their rows or ids."""
    number = re.fullmatch(r"(?:\w+ )?'?(-?\d+)'?", re.split("[,)]", first)[0])
    return (0, int(number[1]), first) if number else (1, 0, first)


def brief(value: object) -> str:
    """A value for a message: readable, and not too long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]}...{text[-15:]}"


def first_line(error: BaseException) -> str:
    """What another library said, in one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def nearest(word: str, known: Iterable[str]) -> str:
    """``Did you mean ...?`` for a misspelt word, or nothing."""
    by_lower = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f'Did you mean "{by_lower[close[0]]}"?' if close else ""


def one_of(option: str, given: str, allowed: Iterable[str]) -> str:
    """``given`` if it is allowed; otherwise a message that lists what is."""
    words = list(allowed)
    if given not in words:
        raise UsageError(
            f'{option} cannot be "{given}".',
            found=nearest(given, words),
            todo=f"It takes one of: {', '.join(words)}.",
        )
    return given
