"""What was wrong, what was found, what to do: the three parts of every message."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 2000  # characters of a part of a message


def printable(text: str) -> str:
    """Text from data with control and direction characters made visible."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def bounded(text: str) -> str:
    """Text for a message: whatever it holds of data, it is neither endless nor a command."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST - 200]} ... ({len(text):,} characters) ... {text[-150:]}"
    return printable(text)


class CounterrankError(Exception):
    """A problem the user can mend. ``str()`` gives the whole message."""

    def __init__(self, wrong: str, *, found: str = "", todo: str = "") -> None:
        parts = [bounded(part) for part in (wrong, found, todo)]
        self.wrong, self.found, self.todo = parts
        super().__init__(" ".join(part for part in parts if part))


class InputError(CounterrankError):
    """A table cannot be used as it is."""


class UsageError(CounterrankError):
    """An option, a measure's label or a combination of them makes no sense."""


def unknown(wrong: str, word: str, known: Iterable[str], there: str = "It has") -> UsageError:
    """The error that a word is none of those that are known: the nearest of them, and all."""
    names = list(known)
    todo = f"{there}: {', '.join(names) or 'none'}."
    return UsageError(wrong, found=nearest(word, names), todo=todo)


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
