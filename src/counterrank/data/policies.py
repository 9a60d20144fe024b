"""What to do with users and rows that do not fit: one word per question."""

from __future__ import annotations

from dataclasses import dataclass

TIES = ("id", "id32", "file", "expected")


@dataclass(frozen=True)
class Policies:
    """The defaults never shrink the denominator.

    ``missing``: judged users without a list. ``no_relevant``: users with nothing to find.
    ``unjudged``: listed users without judgments. ``duplicates``: an item twice in a list.
    ``ties``: the order of equal scores.
    """

    missing: str = "zero"
    no_relevant: str = "zero"
    unjudged: str = "ignore"
    duplicates: str = "error"
    ties: str = "id"
